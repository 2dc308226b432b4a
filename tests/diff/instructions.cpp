// Operands for random instructions that the catalogue has.
#include "diff/instructions.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "diff/catalogue.h"
#include "diff/exclusions.h"
#include "isa/harness/kernel_writer.h"

namespace raddle::diff {
namespace {

using isa::Effects;
using isa::Mod;
using isa::ModKind;
using isa::OperandKind;
using isa::Type;
using isa::TypeClass;

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

/// Makes the NaNs of one number one NaN.
std::string one_nan_of_number(Type type, const std::string& reg) {
  const unsigned bits = isa::bit_size(type);
  return fmt::format("setp.nan.{0} %q0, {1}, {1}; selp.b{2} {1}, {3:#x}, {1}, %q0;",
                     type_name(type == Type::tf32 ? Type::f32 : type), reg, bits,
                     testing::low_bits(bits - 1));
}

/// Replaces the NaNs of a result by one NaN, in a packed result element by element. Narrow formats come from
/// conversions only, and a conversion has one NaN.
std::string one_nan(Type type, const std::string& reg) {
  const Type element = isa::element_type(type);
  const unsigned bits = isa::bit_size(element);
  if (!isa::is_float(element) || bits <= 8) return {};
  if (element == type) return one_nan_of_number(type, reg);
  RADDLE_ASSERT(isa::element_count(type) == 2 && bits <= 32,
                "a packed type that needs more scratch registers");
  const std::string low = bits == 16 ? "%n0" : "%t0", high = bits == 16 ? "%n1" : "%t1";
  return fmt::format("mov.b{0} {{{1}, {2}}}, {3}; {4} {5} mov.b{0} {3}, {{{1}, {2}}};", 2 * bits, low, high,
                     reg, one_nan_of_number(element, low), one_nan_of_number(element, high));
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
    if (opcode.is(Effects::reads)) continue;  // bits that memory held
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
  if (spec.names_members) return members_;
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
  unsigned size = std::max(1u, isa::byte_size(opcode.type())) * opcode.vector_length();
  unsigned offset = random_.below(kSlotBytes / size) * size;
  if (reads_constants(opcode.row->id, opcode.text)) return fmt::format("[%readonly+{}]", offset);
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
      base =
          std::array{"%global", "%generic_shared", "%generic_local"}[random_.below(size > 16           ? 1
                                                                                   : is_atomic(opcode) ? 2
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

/// A float atomic may leave a NaN in memory, whose payload is as open as that of a register: one NaN for all.
void InstructionSource::one_nan_in_memory(const isa::Opcode& opcode, const std::string& address, Text& text) {
  const Type type = opcode.type();
  const char* scratch = type == Type::f64 ? "%sum64" : type == Type::f32 ? "%sum32" : "%n0";
  if (isa::bit_size(type) == 32 && type != Type::f32) scratch = "%t0";
  const Mod space = opcode.get(ModKind::space);
  const std::string access =
      fmt::format("{}{}.b{}", space == Mod::none ? "" : ".", isa::mod_name(space), isa::bit_size(type));
  for (unsigned i = 0; i < opcode.vector_length(); ++i) {
    std::string at = address;
    at.insert(at.size() - 1, fmt::format("+{}", i * isa::byte_size(type)));
    text.after.push_back(
        fmt::format("ld{0} {1}, {2}; {3} st{0} {2}, {1};", access, scratch, at, one_nan(type, scratch)));
  }
}

std::string InstructionSource::operand(const isa::Opcode& opcode, const isa::OperandSpec& spec, Text& text) {
  if (spec.kind == OperandKind::address) {
    std::string at = address(opcode, text);
    if (is_atomic(opcode) && is_fractional(opcode.type())) one_nan_in_memory(opcode, at, text);
    return at;
  }
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

}  // namespace raddle::diff
