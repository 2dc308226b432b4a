// Operands against rows: one Binder per instruction matches what was written with the form's positions,
// optional ones from the left, and converts constants to the type of their position.
#include "ptx/checks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/fragment.h"
#include "isa/geometry.h"
#include "ptx/constants.h"
#include "ptx/declarations.h"
#include "ptx/operand_agreement.h"

namespace raddle::ptx {
namespace {

using isa::OperandKind;
using isa::TypeClass;
using Kind = Operand::Kind;

bool is_integral(TypeClass c) {
  return c == TypeClass::bits || c == TypeClass::unsigned_ || c == TypeClass::signed_ ||
         c == TypeClass::packed_integer;
}
bool is_floating(TypeClass c) { return c == TypeClass::float_ || c == TypeClass::packed_float; }

/// The demand on a register, in words: "a 32-bit integer or .b32 register".
std::string wanted_register(Type want, bool wider) {
  const TypeClass c = isa::type_class(want);
  const unsigned bits = isa::bit_size(want);
  const std::string_view size_note = wider ? " (or wider)" : "";
  if (want == Type::pred) return "a .pred register";
  if (is_floating(c)) return fmt::format("a .{} or .b{} register{}", isa::type_name(want), bits, size_note);
  if (c == TypeClass::bits) return fmt::format("a {}-bit register{}", bits, size_note);
  return fmt::format("a {}-bit integer or .b{} register{}", bits, bits, size_note);
}

/// One instruction's operands on the way from the text into the function.
class Binder {
 public:
  Binder(Parser& parser, const OpcodePlan& plan, Instruction& instruction)
      : parser_(parser), plan_(plan), instruction_(instruction) {}

  bool run();

 private:
  bool count_fits(unsigned groups, unsigned optional);
  unsigned spare_in_brackets() const;
  bool take(std::size_t slot, const RawOperand& raw);
  bool bind(const OperandPlan& slot, const RawOperand& raw, Operand& out);
  bool bind_value(const OperandPlan& slot, Type type, const RawOperand& raw, Operand& out);
  bool bind_register(const OperandPlan& slot, Type type, const RawOperand& raw);
  bool bind_special(Type type, const RawOperand& raw);
  bool bind_symbol(Type type, const RawOperand& raw, Operand& out);
  bool bind_vector(const OperandPlan& slot, const RawOperand& raw, Operand& out);
  bool bind_address(const RawOperand& raw, Operand& out);
  bool bind_handle(const OperandPlan& slot, const RawOperand& raw, Operand& out);
  bool bind_opaque(const RawOperand& raw, const Variable& variable, bool is_sampler);
  bool bind_geometric(const OperandPlan& slot, const RawOperand& raw, Operand& out);
  bool check_marks(const OperandPlan& slot, const RawOperand& raw);
  bool check_space(const RawOperand& raw, const Variable& variable);
  bool check_parameter(const RawOperand& raw, const Variable& variable);
  bool bind_label(const OperandPlan& slot, const RawOperand& raw, Operand& out);
  bool wrong(const RawOperand& raw, std::string_view wanted, std::string_view found);
  std::string form() const { return plan_.opcode->form->text; }

  Parser& parser_;
  const OpcodePlan& plan_;
  Instruction& instruction_;
  std::uint32_t operand_index_ = 0;  // in Function::operands, of the slot being bound
  bool split_ = false;               // mov: an operand was written as a vector; only one may be
};

std::string kind_name(const RawOperand& raw) {
  switch (raw.operand.kind) {
    case Kind::none:
      return "an undeclared name";
    case Kind::immediate:
      return "a constant";
    case Kind::special:
      return "a special register";
    case Kind::variable:
      return "a variable's address";
    case Kind::function:
      return "a function";
    case Kind::address:
      return "a memory operand";
    case Kind::vector:
      return "a vector";
    case Kind::sink:
      return "the sink '_'";
    default:
      return "a register";
  }
}

bool Binder::wrong(const RawOperand& raw, std::string_view wanted, std::string_view found) {
  return parser_.in.error(raw.at, "'{}' of '{}' must be {}, not {}; the form is: {}", raw.text, plan_.text,
                          wanted, found, form());
}

bool Binder::count_fits(unsigned groups, unsigned optional) {
  const unsigned least = plan_.required_groups;
  if (groups >= least && groups <= least + optional) return true;
  const std::string wanted =
      optional == 0 ? fmt::format("{}", least) : fmt::format("{} to {}", least, least + optional);
  return parser_.in.error({instruction_.line, instruction_.column},
                          "'{}' takes {} operand{}, not {}; the form is: {}", plan_.text, wanted,
                          wanted == "1" ? "" : "s", groups, form());
}

/// Optional operands that the brackets must hold.
unsigned Binder::spare_in_brackets() const {
  const auto inside = std::ranges::count_if(parser_.operands, &RawOperand::bracketed);
  const auto required = std::ranges::count_if(
      plan_.operands, [](const OperandPlan& slot) { return slot.bracketed && !slot.optional; });
  return static_cast<unsigned>(std::max<std::ptrdiff_t>(inside - required, 0));
}

bool Binder::run() {
  const auto& raws = parser_.operands;
  Function& function = parser_.function();
  unsigned groups = 0, optional = 0;
  for (const RawOperand& raw : raws) groups += !raw.joined;
  for (const OperandPlan& slot : plan_.operands) optional += slot.optional && !slot.joined;
  if (!count_fits(groups, optional)) return false;
  unsigned spare = groups - plan_.required_groups, spare_inside = spare_in_brackets();
  instruction_.operands = static_cast<std::uint32_t>(function.operands.size());
  instruction_.operand_count = static_cast<std::uint8_t>(plan_.operands.size());
  function.operands.resize(function.operands.size() + plan_.operands.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < plan_.operands.size(); ++i) {
    const OperandPlan& slot = plan_.operands[i];
    const bool joins = next < raws.size() && raws[next].joined;
    if (slot.joined && !joins) {
      if (slot.optional) continue;
      return parser_.in.error({instruction_.line, instruction_.column},
                              "'{}' needs two destinations, 'a|b'; the form is: {}", plan_.text, form());
    }
    if (!slot.joined && joins) break;
    if (!slot.joined && slot.optional) {
      if (spare == 0 || (slot.bracketed && spare_inside == 0)) continue;
      --spare;
    }
    if (next < raws.size() && raws[next].bracketed != slot.bracketed)
      return parser_.in.error(raws[next].at, "'{}' of '{}' is {} the brackets; the form is: {}",
                              raws[next].text, plan_.text, slot.bracketed ? "outside" : "inside", form());
    if (!take(i, raws[next++])) return false;
  }
  if (next == raws.size()) return operands_agree(parser_, plan_, instruction_);
  return parser_.in.error(raws[next].at, "'|{}' is not part of '{}'; the form is: {}", raws[next].text,
                          plan_.text, form());
}

bool Binder::take(std::size_t slot, const RawOperand& raw) {
  operand_index_ = instruction_.operands + static_cast<std::uint32_t>(slot);
  Operand out = raw.operand;
  if (!bind(plan_.operands[slot], raw, out)) return false;
  parser_.function().operands[operand_index_] = out;
  return true;
}

bool Binder::bind(const OperandPlan& slot, const RawOperand& raw, Operand& out) {
  switch (slot.spec->kind) {
    case OperandKind::address:
      if (raw.operand.kind != Kind::address) return wrong(raw, "an address in brackets", kind_name(raw));
      return bind_address(raw, out);
    case OperandKind::label:
      return bind_label(slot, raw, out);
    case OperandKind::handle:
    case OperandKind::sampler:
      return bind_handle(slot, raw, out);
    case OperandKind::vector_list:
      if (raw.operand.kind != Kind::vector) return wrong(raw, "a vector '{a, b, ...}'", kind_name(raw));
      return bind_vector(slot, raw, out);
    case OperandKind::call:
    case OperandKind::value:
      break;
  }
  const bool is_fragment = slot.spec->may_be_fragment && raw.operand.kind == Kind::vector;
  if (is_fragment || slot.spec->geometric != isa::GeometricKind::none) return bind_geometric(slot, raw, out);
  if (raw.operand.kind == Kind::vector) {
    if (raw.operand.count != 1 || slot.elements > 1 || !slot.spec->vector) return bind_vector(slot, raw, out);
    const RawOperand& element = parser_.elements[raw.operand.index];  // Triton writes `ld.b32 {%r1}, [%rd1]`
    out = element.operand;
    return bind_value(slot, slot.type, element, out);
  }
  if (slot.elements > 1)
    return wrong(raw, fmt::format("a vector of {} elements", slot.elements), kind_name(raw));
  return bind_value(slot, slot.type, raw, out);
}

/// Selectors, minus signs and powers of two: the row's rules beside the type.
bool Binder::check_marks(const OperandPlan& slot, const RawOperand& raw) {
  if (raw.operand.selector != 0 && !isa::selector_fits(slot.spec->selector, raw.operand.selector))
    return wrong(raw, "an operand without that selector", fmt::format("'{}'", raw.text));
  if (raw.operand.minus && !slot.spec->may_be_minus)
    return wrong(raw, "an operand without '-'", "a negated register");
  if (slot.spec->may_be_predicate && raw.operand.type == Type::pred) return true;
  const std::uint64_t value = raw.constant.bits;
  if (slot.spec->is_sign &&
      (raw.operand.kind != Kind::immediate || (value != 1 && value != ~std::uint64_t{0})))
    return wrong(raw, "the constant 1 or -1", fmt::format("'{}'", raw.text));
  if (!slot.spec->is_constant && !slot.spec->power_of_two) return true;
  const bool is_right_power = !slot.spec->power_of_two || std::has_single_bit(value);
  const char* what = slot.spec->power_of_two ? "a constant power of two" : "a constant";
  if (slot.spec->is_constant) {
    const auto [least, greatest] = std::pair(slot.spec->least, slot.spec->greatest);
    if (raw.operand.kind == Kind::immediate && value >= least && value <= greatest && is_right_power)
      return true;
    const std::string range = least == greatest ? fmt::format("the constant {}", least)
                                                : fmt::format("{} from {} to {}", what, least, greatest);
    return wrong(raw, range, fmt::format("'{}'", raw.text));
  }
  constexpr std::uint64_t kMost = 1u << 23;
  if (raw.operand.kind == Kind::immediate && is_right_power && value <= kMost) return true;
  return wrong(raw, "a constant power of two up to 2^23", fmt::format("'{}'", raw.text));
}

bool Binder::bind_value(const OperandPlan& slot, Type type, const RawOperand& raw, Operand& out) {
  if (!check_marks(slot, raw)) return false;
  if (slot.spec->may_be_predicate && raw.operand.kind == Kind::reg && raw.operand.type == Type::pred)
    type = Type::pred;
  if (type != Type::none) out.type = type;
  if (raw.operand.negated &&
      (type != Type::pred || slot.spec->is_destination || raw.operand.kind != Kind::reg))
    return wrong(raw, "an operand without '!'", "a negated one");
  if (slot.spec->is_destination && raw.operand.kind != Kind::reg && raw.operand.kind != Kind::sink &&
      raw.operand.kind != Kind::none)
    return wrong(raw, "a register", kind_name(raw));
  switch (raw.operand.kind) {
    case Kind::reg:
      return bind_register(slot, type, raw);
    case Kind::sink:
      return (slot.spec->is_destination && !slot.spec->is_updated) || wrong(raw, "a value", kind_name(raw));
    case Kind::special:
      return bind_special(type, raw);
    case Kind::variable:
    case Kind::function:
      return bind_symbol(type, raw, out);
    case Kind::immediate: {
      std::uint64_t bits = 0;
      if (const Problem problem = convert_constant(raw.constant, type, bits))
        return parser_.in.error(raw.at, "'{}' is {}; the form is: {}", raw.text, problem, form());
      out.value = static_cast<std::int64_t>(bits);
      return true;
    }
    case Kind::none:
      return parser_.in.error(raw.at, "'{}' is not declared", raw.text);
    default:
      return wrong(raw, "a register or a constant", kind_name(raw));
  }
}

bool Binder::bind_register(const OperandPlan& slot, Type type, const RawOperand& raw) {
  const Type have = raw.operand.type;
  if (register_fits(have, type, slot.spec->may_be_wider)) return true;
  return wrong(raw, wanted_register(type, slot.spec->may_be_wider),
               fmt::format("a .{} register", isa::type_name(have)));
}

/// A special register may be read at its size or a smaller one (old code reads %tid as .u16).
bool Binder::bind_special(Type type, const RawOperand& raw) {
  const Type have = raw.operand.type;
  if (type == Type::none) return true;
  if ((have == Type::pred) == (type == Type::pred) &&
      is_integral(isa::type_class(type)) == is_integral(isa::type_class(have)) &&
      isa::bit_size(have) >= isa::bit_size(type))
    return true;
  return wrong(raw, fmt::format("a .{} operand", isa::type_name(type)),
               fmt::format("a .{} special register", isa::type_name(have)));
}

bool Binder::bind_symbol(Type type, const RawOperand& raw, Operand& out) {
  const unsigned bits = isa::bit_size(type);
  if (type == Type::none) out.type = parser_.module.address_size == 32 ? Type::u32 : Type::u64;
  if (type == Type::none || (is_integral(isa::type_class(type)) && (bits == 32 || bits == 64))) return true;
  return wrong(raw, fmt::format("a .{} operand", isa::type_name(type)), kind_name(raw));
}

bool Binder::bind_vector(const OperandPlan& slot, const RawOperand& raw, Operand& out) {
  const bool list = slot.spec->kind == OperandKind::vector_list;
  Type type = slot.type;
  if (slot.spec->packed && !slot.spec->vector) {
    const unsigned bits = isa::bit_size(slot.type);
    if (isa::type_class(slot.type) != TypeClass::bits || raw.operand.count < 2 ||
        bits % raw.operand.count != 0)
      return wrong(raw, fmt::format("a .{} operand", isa::type_name(slot.type)), "a vector");
    if (std::exchange(split_, true))
      return wrong(raw, "one register, as the other operand is a vector", "a vector");
    type = isa::bits_type(bits / raw.operand.count);
  } else if (!list && slot.type != Type::none && (slot.elements < 2 || raw.operand.count != slot.elements)) {
    const std::string wanted =
        slot.elements < 2 ? "one value" : fmt::format("a vector of {} elements", slot.elements);
    return wrong(raw, wanted, fmt::format("a vector of {}", raw.operand.count));
  }
  auto& pool = parser_.function().elements;
  out.index = static_cast<std::uint32_t>(pool.size());
  out.type = type;
  for (std::uint32_t i = 0; i < raw.operand.count; ++i) {
    const RawOperand& element = parser_.elements[raw.operand.index + i];
    Operand value = element.operand;
    if (element.operand.kind == Kind::vector)
      return wrong(element, "a register or a constant", kind_name(element));
    if (!bind_value(slot, type, element, value)) return false;
    pool.push_back(value);
  }
  return true;
}

bool Binder::bind_address(const RawOperand& raw, Operand& out) {
  if (out.base == Operand::Base::variable) return check_space(raw, parser_.module.variables[out.index]);
  if (out.base != Operand::Base::reg) return true;
  const Type type = parser_.function().registers[out.index].type;
  const unsigned bits = isa::bit_size(type);
  if (is_integral(isa::type_class(type)) && (bits == 32 || bits == 64)) return true;
  return wrong(raw, "an address in a 32-bit or 64-bit integer register",
               fmt::format("one in a .{} register", isa::type_name(type)));
}

/// The handle of `[a]`, `[a, ...]` or `[a, s, ...]`: a 64-bit register's number, not an address, or the name
/// of a .texref, .surfref or .samplerref.
bool Binder::bind_handle(const OperandPlan& slot, const RawOperand& raw, Operand& out) {
  const bool is_sampler = slot.spec->kind == OperandKind::sampler;
  const Operand& o = raw.operand;
  const bool bare = is_sampler || (o.kind == Kind::address && o.value == 0);
  const bool named = is_sampler ? o.kind == Kind::variable : o.base == Operand::Base::variable;
  const bool in_register = is_sampler ? o.kind == Kind::reg : o.base == Operand::Base::reg;
  if (bare && named && o.value == 0 &&
      isa::type_class(parser_.module.variables[o.index].type) == isa::TypeClass::opaque) {
    if (!bind_opaque(raw, parser_.module.variables[o.index], is_sampler)) return false;
    out = Operand{};
    out.kind = Kind::variable;
  } else if (bare && in_register &&
             register_fits(parser_.function().registers[o.index].type, Type::b64, false)) {
    out = Operand{};
    out.kind = Kind::reg;
  } else {
    return wrong(raw,
                 is_sampler ? "the handle of a sampler in a 64-bit register, or a .samplerref"
                            : "the handle of a texture or surface in a 64-bit register, in brackets",
                 kind_name(raw));
  }
  out.index = o.index;
  out.type = Type::b64;
  return true;
}

/// The names of .texref, .surfref and .samplerref variables stand for handles: tex, tld4 and txq read
/// textures, su... surfaces, and txq also asks of samplers.
bool Binder::bind_opaque(const RawOperand& raw, const Variable& variable, bool is_sampler) {
  const std::string_view mnemonic = plan_.opcode->row->mnemonic;
  const bool asks_sampler = mnemonic == "txq" && variable.type == Type::samplerref;
  const Type wanted = is_sampler                   ? Type::samplerref
                      : mnemonic.starts_with("su") ? Type::surfref
                                                   : Type::texref;
  if (variable.type == wanted || asks_sampler) return true;
  return wrong(raw,
               is_sampler ? "the handle of a sampler in a 64-bit register, or a .samplerref"
                          : fmt::format("the handle of a texture or surface in a 64-bit register, or a .{}, "
                                        "in brackets",
                                        isa::type_name(wanted)),
               fmt::format("a .{}", isa::type_name(variable.type)));
}

/// A vector as long as the geometry wants; of textures and surfaces, a scalar for one, and four elements may
/// stand for three. A layer and a sample before coordinates are .u32.
bool Binder::bind_geometric(const OperandPlan& slot, const RawOperand& raw, Operand& out) {
  const bool scalar = raw.operand.kind != Kind::vector;
  const bool in_place_of_description = slot.spec->may_be_fragment;
  const unsigned count = scalar ? 1 : raw.operand.count;
  const unsigned wanted = in_place_of_description ? isa::kWarpgroupARegisters : slot.elements;
  const Type type = in_place_of_description ? Type::b32 : slot.type;
  const bool exact = in_place_of_description || slot.spec->geometric == isa::GeometricKind::block ||
                     slot.spec->geometric == isa::GeometricKind::im2col ||
                     slot.spec->geometric == isa::GeometricKind::fragment;
  if (exact && (scalar || count != wanted))
    return wrong(raw, fmt::format("a vector '{{a, ...}}' of {} element{}", wanted, wanted == 1 ? "" : "s"),
                 scalar ? kind_name(raw) : fmt::format("one of {}", count));
  if (count != wanted && !(wanted == 3 && count == 4))
    return wrong(raw,
                 wanted == 1 ? "one value" : fmt::format("a vector of {} elements", wanted == 3 ? 4 : wanted),
                 fmt::format("{} of them", count));
  const unsigned indices = slot.spec->geometric == isa::GeometricKind::coordinates
                               ? isa::index_count(isa::geometry_of(*plan_.opcode))
                               : 0;
  auto& pool = parser_.function().elements;
  out = Operand{};
  out.kind = Kind::vector;
  out.type = type;
  out.index = static_cast<std::uint32_t>(pool.size());
  out.count = static_cast<std::uint16_t>(wanted);
  for (unsigned i = 0; i < wanted; ++i) {
    const RawOperand& element = scalar ? raw : parser_.elements[raw.operand.index + i];
    Operand value = element.operand;
    if (!bind_value(slot, i < indices ? Type::u32 : type, element, value)) return false;
    pool.push_back(value);
  }
  return true;
}

bool Binder::check_space(const RawOperand& raw, const Variable& variable) {
  if (plan_.opcode->names_several_spaces()) return true;  // each of its operands has its own
  const Space space = space_of(plan_.opcode->get(isa::ModKind::space));
  if (space == Space::param && space == variable.space) return check_parameter(raw, variable);
  if (space == Space::generic || space == variable.space) return true;
  return parser_.in.error(raw.at, "'{}' accesses .{} memory, but '{}' is a .{} variable", plan_.text,
                          isa::mod_name(plan_.opcode->get(isa::ModKind::space)), variable.name,
                          space_name(variable.space));
}

/// A kernel's parameters (.param::entry) are one block that every thread reads; those of calls (.param::func)
/// are each thread's own.
bool Binder::check_parameter(const RawOperand& raw, const Variable& variable) {
  if (variable.is_parameter && plan_.opcode->is(isa::Effects::writes))
    return parser_.in.error(raw.at, "'{}' writes to the input parameter '{}'", plan_.text, variable.name);
  const auto offset = static_cast<std::uint64_t>(raw.operand.value);
  if (variable.size != 0 && offset >= variable.size)
    return parser_.in.error(raw.at, "'{}{:+}' is outside the {} bytes of '{}'", variable.name,
                            raw.operand.value, variable.size, variable.name);
  const bool of_entry = variable.is_parameter && parser_.function().is_entry;
  const isa::Mod named = plan_.opcode->get(isa::ModKind::space);
  if (named == (of_entry ? isa::Mod::param_func : isa::Mod::param_entry))
    return parser_.in.error(raw.at, "'{}' accesses .{} memory, but '{}' is {}", plan_.text,
                            isa::mod_name(named), variable.name,
                            of_entry ? "a parameter of the kernel" : "no parameter of a kernel");
  return true;
}

bool Binder::bind_label(const OperandPlan&, const RawOperand& raw, Operand& out) {
  if (raw.name == NameTable::kNoName || raw.operand.negated) return wrong(raw, "a label", kind_name(raw));
  out = Operand{};
  out.kind = Kind::label;
  // Beside a value that selects, a label names a list of targets (brx.idx).
  const bool list = plan_.operands.size() > 1;
  const auto instruction = static_cast<std::uint32_t>(parser_.function().instructions.size());
  parser_.current->pending.push_back({list ? PendingName::Use::branch_list : PendingName::Use::label_operand,
                                      raw.name, raw.at, list ? instruction : operand_index_, 0});
  return true;
}

}  // namespace

bool register_fits(Type have, Type want, bool wider) {
  if (want == Type::none || have == want) return true;
  const TypeClass h = isa::type_class(have), w = isa::type_class(want);
  if (h == TypeClass::predicate || w == TypeClass::predicate) return false;
  const unsigned have_bits = isa::bit_size(have), want_bits = isa::bit_size(want);
  if (have_bits < want_bits || (have_bits > want_bits && !wider)) return false;
  if (w == TypeClass::bits || h == TypeClass::bits) return true;
  return is_integral(h) && is_integral(w);
}

bool bind_operands(Parser& parser, const OpcodePlan& plan, Instruction& instruction) {
  return Binder(parser, plan, instruction).run();
}

bool parse_guard(Parser& parser, RegisterId& guard, bool& negated) {
  parser.in.advance();
  negated = parser.in.accept('!');
  Token name;
  if (!parser.in.expect_identifier("a predicate register after '@'", name)) return false;
  NameId id = 0;
  const Binding binding = look_up(parser, name, id);
  if (binding.kind == Binding::Kind::none) return parser.in.error(name.at, "'{}' is not declared", name.text);
  if (binding.kind != Binding::Kind::reg || parser.function().registers[binding.index].type != Type::pred)
    return parser.in.error(name.at, "the guard '{}' must be a .pred register", name.text);
  guard = binding.index;
  return true;
}

}  // namespace raddle::ptx
