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

Place place_of(const isa::Row& row) {
  const isa::RowText& text = *row.text;
  Effects e = text.effects;
  if (text.status != isa::Status::done || text.numerics != isa::Numerics::exact) return Place::count;
  if (has_operand(row, OperandKind::label) || has_operand(row, OperandKind::call) ||
      has_operand(row, OperandKind::vector_list))
    return Place::count;
  if (text.scope == isa::Scope::cta) return has(e, Effects::sync) ? Place::cta : Place::count;
  if (text.scope == isa::Scope::warp)
    return !row.operands.empty() && row.operands.back().name == "membermask" ? Place::warp : Place::count;
  if (text.scope != isa::Scope::lane || has(e, Effects::control) || has(e, Effects::sync) ||
      has(e, Effects::layout) || has(e, Effects::stack))
    return Place::count;
  if (has(e, Effects::reads) || has(e, Effects::writes))
    return has_operand(row, OperandKind::address) ? Place::memory : Place::count;
  if (has_operand(row, OperandKind::address)) return Place::count;
  if (has(e, Effects::orders)) return row.operands.empty() ? Place::lane : Place::count;
  return has_destination(row) ? Place::lane : Place::count;
}

/// An opcode whose memory results could hold a NaN of open payload, or whose operands no register of the pool
/// holds.
bool fits_pool(const isa::Opcode& opcode) {
  bool is_atomic = opcode.is(Effects::reads) && opcode.is(Effects::writes);
  for (const isa::OperandSpec& spec : opcode.row->operands) {
    if (spec.kind != OperandKind::value) continue;
    Type type = opcode.operand_type(spec);
    if (type == Type::none || isa::bit_size(type) > 64) return false;
    auto cls = isa::type_class(type);
    if (is_atomic && (cls == TypeClass::float_ || cls == TypeClass::packed_float)) return false;
  }
  return true;
}

using Opcodes = std::vector<const isa::Opcode*>;

/// By place, by row: opcodes to draw from. Rows are drawn with equal chance, whatever their number of
/// spellings.
const std::array<std::vector<Opcodes>, std::size_t(Place::count)>& catalogue() {
  static const auto all = [] {
    std::array<std::vector<Opcodes>, std::size_t(Place::count)> places;
    for (const isa::Row& row : isa::rows()) {
      Place place = place_of(row);
      if (place == Place::count) continue;
      Opcodes opcodes;
      for (const std::string& text : isa::all_spellings(row, kSpellings)) {
        auto opcode = isa::resolve(text);
        if (!opcode.ok() || (*opcode)->row != &row || !fits_pool(**opcode) || !excluded(row.id, text).empty())
          continue;
        opcodes.push_back(*opcode);
      }
      if (!opcodes.empty()) places[std::size_t(place)].push_back(std::move(opcodes));
    }
    return places;
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
  bool literal = type != Type::pred && !spec.may_be_wider && !spec.packed && elements == 1 &&
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
  const auto& rows = catalogue()[std::size_t(place)];
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

}  // namespace raddle::diff
