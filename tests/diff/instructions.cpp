// Operands for random instructions. Reads rows through isa::rows() and isa::all_spellings().
#include "diff/instructions.h"

#include <algorithm>
#include <array>

#include "diff/exclusions.h"
#include "isa/enumerate.h"
#include "isa/harness/kernel_writer.h"

namespace raddle::diff {
namespace {

using isa::Effects;
using isa::Mod;
using isa::ModKind;
using isa::OperandKind;
using isa::Type;
using isa::TypeClass;

constexpr std::size_t kSpellings = 150;  ///< per row; above, a sample that has every modifier

bool has_operand(const isa::Row& row, OperandKind kind) {
  return std::any_of(row.operands.begin(), row.operands.end(), [&](const auto& o) { return o.kind == kind; });
}

bool has_destination(const isa::Row& row) {
  return std::any_of(row.operands.begin(), row.operands.end(),
                     [](const auto& o) { return o.is_destination; });
}

/// Where a row's instructions go, or why they go nowhere.
struct Suits {
  Place place = Place::count;
  std::string_view why;  ///< empty if there is a place
};

/// Rows that only touch memory or have no effect that a program could see need an address of their own.
Suits place_by_effects(const isa::Row& row) {
  const Effects e = row.text->effects;
  const bool addressed = has_operand(row, OperandKind::address);
  if (has(e, Effects::reads) || has(e, Effects::writes)) {
    if (addressed) return {Place::memory, {}};
    return {Place::count, "touches memory that no operand names"};
  }
  if (addressed) return {Place::count, "computes from an address, which differs between engines"};
  if (has(e, Effects::orders)) {
    if (row.operands.empty()) return {Place::lane, {}};
    return {Place::count, "orders memory by operands"};
  }
  if (has_destination(row)) return {Place::lane, {}};
  return {Place::count, "has no result"};
}

Suits place_of(const isa::Row& row) {
  const isa::RowText& text = *row.text;
  const Effects e = text.effects;
  if (text.status != isa::Status::done) return {Place::count, "not done"};
  if (text.numerics != isa::Numerics::exact) return {Place::count, "results are approximate"};
  if (has_operand(row, OperandKind::label) || has_operand(row, OperandKind::call) ||
      has_operand(row, OperandKind::vector_list))
    return {Place::count, "jumps or calls: the generator writes them itself"};
  if (text.scope == isa::Scope::cta) {
    if (has(e, Effects::sync)) return {Place::cta, {}};
    return {Place::count, "works on the whole block"};
  }
  if (text.scope == isa::Scope::warp) {
    if (!row.operands.empty() && row.operands.back().name == "membermask") return {Place::warp, {}};
    return {Place::count, "asks which lanes are together, which is open to the engine"};
  }
  if (text.scope != isa::Scope::lane) return {Place::count, "works on more than a block"};
  if (has(e, Effects::control)) return {Place::count, "jumps or calls: the generator writes them itself"};
  if (has(e, Effects::sync)) return {Place::count, "waits for other threads"};
  if (has(e, Effects::layout) || has(e, Effects::stack))
    return {Place::count, "depends on the engine's layout of stacks"};
  return place_by_effects(row);
}

/// Why no statement is made of an opcode; empty if one is.
std::string_view why_unfit(const isa::Opcode& opcode) {
  bool is_atomic = opcode.is(Effects::reads) && opcode.is(Effects::writes);
  for (const isa::OperandSpec& spec : opcode.row->operands) {
    if (spec.kind != OperandKind::value) continue;
    Type type = opcode.operand_type(spec);
    if (type == Type::none || isa::bit_size(type) > 128)
      return "has operands that no register of the pool holds";
    auto cls = isa::type_class(type);
    if (is_atomic && (cls == TypeClass::float_ || cls == TypeClass::packed_float))
      return "could leave a NaN of open payload in memory: see accumulate()";
  }
  return {};
}

using Opcodes = std::vector<const isa::Opcode*>;

/// By place, by row: opcodes to draw from. Rows are drawn with equal chance, whatever their number of
/// spellings.
struct Catalogue {
  std::array<std::vector<Opcodes>, std::size_t(Place::count)> places;
  Opcodes sums;  ///< float atomics whose result does not depend on order where all values are exact
  std::vector<Skip> skipped;
};

/// Atomics on one cell of shared memory that all threads may use in any order.
bool is_sum(const isa::Opcode& opcode) {
  if (!opcode.is(Effects::reads) || !opcode.is(Effects::writes) || opcode.vector_length() != 1) return false;
  const Mod operation = opcode.get(ModKind::operation), space = opcode.get(ModKind::space);
  return (operation == Mod::add || operation == Mod::min || operation == Mod::max) &&
         (space == Mod::shared || space == Mod::shared_cta) && !opcode.has(Mod::l2_cache_hint) &&
         (opcode.type() == Type::f32 || opcode.type() == Type::f64);
}

void add_row(Catalogue& all, const isa::Row& row) {
  const Suits suits = place_of(row);
  if (suits.place == Place::count) {
    all.skipped.push_back({std::string(row.id), 0, suits.why});
    return;
  }
  Opcodes opcodes;
  std::vector<Skip> skipped;
  for (const std::string& text : isa::all_spellings(row, kSpellings)) {
    auto opcode = isa::resolve(text);
    if (!opcode.ok() || (*opcode)->row != &row) continue;  // another row's, with which it shares a spelling
    if (is_sum(**opcode)) all.sums.push_back(*opcode);
    std::string_view why = why_unfit(**opcode);
    if (why.empty()) why = excluded(row.id, text);
    if (why.empty()) {
      opcodes.push_back(*opcode);
      continue;
    }
    auto same = std::find_if(skipped.begin(), skipped.end(), [&](const Skip& s) { return s.reason == why; });
    if (same == skipped.end()) same = skipped.insert(same, {std::string(row.id), 0, why});
    ++same->spellings;
  }
  all.skipped.insert(all.skipped.end(), skipped.begin(), skipped.end());
  if (!opcodes.empty()) all.places[std::size_t(suits.place)].push_back(std::move(opcodes));
}

const Catalogue& catalogue() {
  static const Catalogue all = [] {
    Catalogue made;
    for (const isa::Row& row : isa::rows()) add_row(made, row);
    return made;
  }();
  return all;
}

bool is_fractional(Type type) {
  auto cls = isa::type_class(type);
  return cls == TypeClass::float_ || cls == TypeClass::packed_float;
}

/// PTX's rule for operand types: same size, and a float only in a register of its type or an untyped one.
bool compatible(Type operand, Type reg, bool wider) {
  if (operand == Type::pred || reg == Type::pred) return operand == reg;
  unsigned wanted = std::max(16u, isa::bit_size(operand)), have = isa::bit_size(reg);
  // Registers of 128 bits are for moves and memory only: no narrower value is read from or put into one.
  if (have == 128) return wanted == 128;
  if (is_fractional(operand))
    return have == wanted && (reg == operand || isa::type_class(reg) == TypeClass::bits);
  if (wider ? have < wanted : have != wanted) return false;
  if (isa::is_float(reg)) return !wider && isa::type_class(operand) == TypeClass::bits;
  return true;
}

/// Replaces NaNs of a result by one NaN.
std::string one_nan(Type type, const std::string& reg) {
  switch (type) {
    case Type::f32:
      return fmt::format("setp.nan.f32 %q0, {0}, {0}; selp.f32 {0}, 0f7FFFFFFF, {0}, %q0;", reg);
    case Type::tf32:
      return fmt::format("setp.nan.f32 %q0, {0}, {0}; selp.b32 {0}, 0x7fffffff, {0}, %q0;", reg);
    case Type::f64:
      return fmt::format("setp.nan.f64 %q0, {0}, {0}; selp.f64 {0}, 0d7FFFFFFFFFFFFFFF, {0}, %q0;", reg);
    case Type::f16:
    case Type::bf16:
      return fmt::format("setp.nan.{1} %q0, {0}, {0}; selp.b16 {0}, 0x7fff, {0}, %q0;", reg, type_name(type));
    case Type::f16x2:
    case Type::bf16x2:
      return fmt::format(
          "setp.nan.{1} %q0|%q1, {0}, {0}; mov.b32 {{%n0, %n1}}, {0}; selp.b16 %n0, 0x7fff, %n0, %q0; "
          "selp.b16 %n1, 0x7fff, %n1, %q1; mov.b32 {0}, {{%n0, %n1}};",
          reg, type_name(type));
    default:
      return {};
  }
}

}  // namespace

std::string InstructionSource::pick(Type type, bool wider, const std::vector<std::string>& taken) {
  std::vector<const std::string*> fit;
  for (const Register& r : register_pool())
    if (compatible(type, r.type, wider) && std::find(taken.begin(), taken.end(), r.name) == taken.end())
      fit.push_back(&r.name);
  return fit.empty() ? std::string{} : *fit[random_.below(static_cast<unsigned>(fit.size()))];
}

std::string InstructionSource::source_register(Type type) { return pick(type, false, {}); }

std::string InstructionSource::predicate() {
  return (random_.chance(40) ? "!" : "") + pick(Type::pred, false, {});
}

std::string InstructionSource::packed(Type type, bool is_destination, Text& text) {
  unsigned bits = isa::bit_size(type), count = bits == 64 && random_.chance(40) ? 4 : 2;
  std::string list;
  for (unsigned i = 0; i < count; ++i) {
    std::string reg = pick(isa::bits_type(bits / count), false, text.taken);
    if (is_destination) text.taken.push_back(reg);
    list += (i ? ", " : "") + reg;
  }
  return "{" + list + "}";
}

std::string InstructionSource::destination(const isa::Opcode& opcode, const isa::OperandSpec& spec, Type type,
                                           Text& text) {
  unsigned elements = spec.vector ? opcode.vector_length() : 1;
  std::string list;
  for (unsigned i = 0; i < elements; ++i) {
    // A tf32 result sits in a b32 register: the opcode's first type says what the bits mean.
    Type meaning = opcode.type_count && opcode.type() == Type::tf32 ? Type::tf32 : type;
    std::string reg = pick(meaning, spec.may_be_wider, text.taken);
    if (reg.empty()) return {};
    text.taken.push_back(reg);
    list += (i ? ", " : "") + reg;
    if (opcode.is(Effects::reads)) continue;
    if (std::string fix = one_nan(meaning, reg); !fix.empty()) text.after.push_back(fix);
  }
  return elements > 1 ? "{" + list + "}" : list;
}

/// The lane operand of a shuffle: in a warp with missing lanes it must name one that exists.
std::string InstructionSource::lane_in_warp(const isa::Opcode& opcode, const isa::OperandSpec& spec,
                                            Text& text) {
  if (spec.name == "c") return "0";
  if (!opcode.has(Mod::idx)) return fmt::format("{}", random_.below(32));
  text.before.push_back(
      fmt::format("popc.b32 %t0, %members; rem.u32 %t0, {}, %t0;", pick(Type::u32, false, {})));
  return "%t0";
}

std::string InstructionSource::source(const isa::Opcode& opcode, const isa::OperandSpec& spec, Type type,
                                      Text& text) {
  if (spec.name == "membermask") return "%members";
  if (testing::is_immediate_only(spec)) return fmt::format("{}", random_.below(256));
  if (opcode.row->text->scope == isa::Scope::cta && spec.name == "a")
    return fmt::format("{}", random_.below(16));
  bool moves_lanes = opcode.get(ModKind::shuffle) != Mod::none && opcode.row->text->scope == isa::Scope::warp;
  if (moves_lanes && thread_count(block_) % 32 && (spec.name == "b" || spec.name == "c"))
    return lane_in_warp(opcode, spec, text);
  unsigned elements = spec.vector ? opcode.vector_length() : 1;
  bool literal = type != Type::pred && isa::bit_size(type) <= 64 && !spec.may_be_wider && !spec.packed &&
                 elements == 1 &&
                 (isa::is_integer(type) || isa::type_class(type) == TypeClass::bits || type == Type::f32 ||
                  type == Type::f64);
  if (literal && random_.chance(15))
    return testing::immediate_text(testing::random_operand(random_, type, isa::bit_size(type)), type);
  std::string list;
  for (unsigned i = 0; i < elements; ++i) {
    std::string reg = pick(type, spec.may_be_wider, {});
    if (reg.empty()) return {};
    list += (i ? ", " : "") + reg;
  }
  return elements > 1 ? "{" + list + "}" : list;
}

/// Somewhere in the thread's own 64 bytes, aligned to the access; now and then at an offset that depends on
/// data.
std::string InstructionSource::address(const isa::Opcode& opcode, Text& text) {
  unsigned size = isa::byte_size(opcode.type()) * opcode.vector_length();
  unsigned offset = random_.below(kSlotBytes / size) * size;
  bool is_atomic = opcode.is(Effects::reads) && opcode.is(Effects::writes);
  std::string base;
  switch (opcode.get(ModKind::space)) {
    case Mod::global:
      base = "%global";
      break;
    case Mod::shared:
    case Mod::shared_cta:
    case Mod::shared_cluster:
      base = "%shared";
      break;
    case Mod::local:
      base = "%local";
      break;
    case Mod::const_:
      base = "%const";
      break;
    case Mod::param:
    case Mod::param_entry:
      return fmt::format("[block+{}]", offset);
    default:
      // 32-byte accesses exist in global memory only, atomics nowhere in local memory.
      base = std::array{"%global", "%generic_shared", "%generic_local"}[random_.below(size > 16   ? 1
                                                                                      : is_atomic ? 2
                                                                                                  : 3)];
  }
  if (random_.chance(60)) return fmt::format("[{}+{}]", base, offset);
  text.before.push_back(fmt::format("and.b32 %t1, {}, {};", pick(Type::b32, false, {}), kSlotBytes - size));
  if (base == "%shared") {
    text.before.push_back("add.u32 %at32, %shared, %t1;");
    return "[%at32]";
  }
  text.before.push_back(fmt::format("cvt.u64.u32 %at64, %t1; add.u64 %at64, %at64, {};", base));
  return "[%at64]";
}

std::string InstructionSource::operand(const isa::Opcode& opcode, const isa::OperandSpec& spec, Text& text) {
  if (spec.kind == OperandKind::address) return address(opcode, text);
  Type type = opcode.operand_type(spec);
  bool pack = spec.packed && isa::type_class(type) == TypeClass::bits && isa::bit_size(type) >= 32 &&
              random_.chance(40) && text.operands.find('{') == std::string::npos;  // never both: mov
  if (pack) return packed(type, spec.is_destination, text);
  return spec.is_destination ? destination(opcode, spec, type, text) : source(opcode, spec, type, text);
}

bool InstructionSource::write(const isa::Opcode& opcode, std::vector<std::string>& lines) {
  auto forms = testing::matching_forms(opcode);
  const isa::Form& form = *forms[random_.below(static_cast<unsigned>(forms.size()))];
  Text text;
  for (const isa::OperandSlot& slot : form.operands) {
    const isa::OperandSpec& spec = *testing::find_operand(*opcode.row, slot.name);
    bool is_policy = spec.name == "policy";
    if (is_policy && slot.optional && !opcode.has(Mod::l2_cache_hint)) continue;
    // A thread count needs barriers with that many threads: only without one do all threads take part.
    bool is_count = opcode.row->text->scope == isa::Scope::cta && spec.name == "b";
    if (slot.optional && !is_policy && (is_count || random_.chance(50))) continue;
    std::string one = operand(opcode, spec, text);
    if (one.empty()) return false;
    // A part of the destination needs the optional operand that the rest comes from: its file has that.
    bool merges = spec.is_destination && spec.selector == isa::SelectorKind::part;
    if (one.starts_with('%') && !merges) {
      std::string mark = testing::random_mark(random_, spec);
      bool minus = mark.starts_with('-');
      one = (minus ? "-" : "") + one + mark.substr(minus);
    }
    (text.operands += text.operands.empty() ? " " : slot.joined ? "|" : ", ") += one;
  }
  bool carries = opcode.row->text->scope == isa::Scope::lane && opcode.is(Effects::state);
  bool together = opcode.row->text->scope != isa::Scope::lane;
  // The carry flag is defined only after an instruction that writes it.
  if (carries)
    text.before.push_back(
        fmt::format("add.cc.u32 %t0, {}, {};", pick(Type::u32, false, {}), pick(Type::u32, false, {})));
  lines = text.before;
  std::string guard = !together && random_.chance(20) ? "@" + predicate() + " " : "";
  lines.push_back(guard + opcode.text + text.operands + ";");
  if (carries) lines.push_back(fmt::format("addc.u32 {}, 0, 0;", pick(Type::u32, false, text.taken)));
  lines.insert(lines.end(), text.after.begin(), text.after.end());
  return true;
}

std::vector<std::string> InstructionSource::statement(Place place) {
  const auto& rows = catalogue().places[std::size_t(place)];
  std::vector<std::string> lines;
  for (;;) {
    const Opcodes& opcodes = rows[random_.below(static_cast<unsigned>(rows.size()))];
    const isa::Opcode& opcode = *opcodes[random_.below(static_cast<unsigned>(opcodes.size()))];
    bool partial = thread_count(block_) % 32 != 0;
    // Towards lanes that do not exist, only `up` and `idx` can be kept inside the warp.
    Mod shuffle = opcode.get(ModKind::shuffle);
    if (partial && place == Place::warp && (shuffle == Mod::down || shuffle == Mod::bfly)) continue;
    if (write(opcode, lines)) return lines;
  }
}

/// All threads add to (or take the least or greatest of) one cell between barriers. Small integers are exact
/// in every float type, and so is their sum: the order does not matter.
std::vector<std::string> InstructionSource::accumulate() {
  const Opcodes& sums = catalogue().sums;
  const isa::Opcode& opcode = *sums[random_.below(static_cast<unsigned>(sums.size()))];
  const bool wide = opcode.type() == Type::f64;
  const std::string type(isa::type_name(opcode.type())), value = wide ? "%sum64" : "%sum32";
  const char* cell = wide ? "sums" : "sums+8";  // one each: thread 0 may be gone and the cell keep its value
  const bool result = has_destination(*opcode.row);
  return {fmt::format("setp.eq.u32 %q0, %thread, 0; @%q0 st.shared.b{} [{}], 0;\nbar.sync 0;", wide ? 64 : 32,
                      cell),
          fmt::format("and.b32 %t0, {}, 255; sub.s32 %t0, %t0, 100; cvt.rn.{}.s32 {}, %t0;",
                      pick(Type::b32, false, {}), type, value),
          fmt::format("{}{} {}[{}], {};", random_.chance(20) ? "@" + predicate() + " " : "", opcode.text,
                      result ? (wide ? "%old64, " : "%old32, ") : "", cell, value),
          "bar.sync 0;",
          fmt::format("ld.shared.{} {}, [{}];\nbar.sync 0;", type, pick(opcode.type(), false, {}), cell)};
}

const std::vector<Skip>& skipped_opcodes() { return catalogue().skipped; }

}  // namespace raddle::diff
