// Operands as written: names, constants, vectors, addresses. Nothing here knows the instruction; checks.cpp
// does.
#include "ptx/operands.h"

#include "ptx/declarations.h"
#include "ptx/expressions.h"

namespace raddle::ptx {
namespace {

constexpr std::size_t kMaxVectorElements = 1024;

/// `.x` ... `.w` (or `.r` `.g` `.b` `.a`) behind a vector; -1 if there is none.
int accept_component(Parser& parser) {
  const Token& token = parser.in.token();
  if (token.kind != TokenKind::directive || token.text.size() != 1) return -1;
  const std::size_t xyzw = std::string_view("xyzw").find(token.text[0]);
  const std::size_t rgba = std::string_view("rgba").find(token.text[0]);
  if (xyzw == std::string_view::npos && rgba == std::string_view::npos) return -1;
  parser.in.advance();
  return static_cast<int>(xyzw != std::string_view::npos ? xyzw : rgba);
}

/// `+ 4`, `- 4`, `[2]` behind a variable, `+ 4` behind a register of an address.
bool parse_offset(Parser& parser, std::int64_t& offset) {
  const bool plus = parser.in.token().is('+');
  if (!plus && !parser.in.token().is('-')) return true;
  if (plus) parser.in.advance();
  std::uint64_t value = 0;
  if (!parse_integer(parser, "an offset in bytes", value)) return false;
  offset += static_cast<std::int64_t>(value);
  return true;
}

bool parse_variable_offset(Parser& parser, const Variable& variable, std::int64_t& offset) {
  const std::uint64_t element = static_cast<std::uint64_t>(isa::byte_size(variable.type)) * variable.vector;
  if (parser.in.accept('[')) {
    std::uint64_t index = 0;
    if (!parse_integer(parser, "a constant array index", index) ||
        !parser.in.expect(']', "after an array index"))
      return false;
    offset += static_cast<std::int64_t>(index * element);
  }
  return parse_offset(parser, offset);
}

/// The whole vector register stands for its components.
void spread_vector(Parser& parser, const Binding& binding, RawOperand& raw) {
  raw.operand.kind = Operand::Kind::vector;
  raw.operand.index = static_cast<std::uint32_t>(parser.elements.size());
  raw.operand.count = binding.count;
  for (std::uint32_t i = 0; i < binding.count; ++i) {
    RawOperand element;
    element.operand.kind = Operand::Kind::reg;
    element.operand.index = binding.index + i;
    element.operand.type = parser.function().registers[element.operand.index].type;
    element.at = raw.at;
    element.text = raw.text;
    parser.elements.push_back(element);
  }
}

bool finish_special(Parser& parser, const Binding& binding, RawOperand& raw) {
  raw.operand.kind = Operand::Kind::special;
  raw.operand.index = binding.index;
  raw.operand.component = binding.count;
  raw.operand.type = isa::kSpecialRegisters[binding.index].type;
  if (binding.count != Binding::kPickComponent) return true;
  const int component = accept_component(parser);
  if (component < 0) return parser.in.error(raw.at, "'{}' needs a component: .x, .y, .z or .w", raw.text);
  raw.operand.component = static_cast<std::uint8_t>(component);
  return true;
}

void set_register(Parser& parser, RegisterId reg, RawOperand& raw) {
  raw.operand.kind = Operand::Kind::reg;
  raw.operand.index = reg;
  raw.operand.type = parser.function().registers[reg].type;
}

bool parse_name(Parser& parser, RawOperand& raw) {
  const Token name = parser.in.token();
  parser.in.advance();
  raw.text = name.text;
  if (name.text == "_") {
    raw.operand.kind = Operand::Kind::sink;
    return true;
  }
  const Binding binding = look_up(parser, name, raw.name);
  switch (binding.kind) {
    case Binding::Kind::reg:
      set_register(parser, binding.index, raw);
      return true;
    case Binding::Kind::vector_register: {
      const int component = accept_component(parser);
      if (component < 0) return spread_vector(parser, binding, raw), true;
      if (component >= binding.count)
        return parser.in.error(name.at, "'{}' has only {} components", name.text, binding.count);
      set_register(parser, binding.index + static_cast<unsigned>(component), raw);
      return true;
    }
    case Binding::Kind::variable:
      raw.operand.kind = Operand::Kind::variable;
      raw.operand.index = binding.index;
      return parse_variable_offset(parser, parser.module.variables[binding.index], raw.operand.value);
    case Binding::Kind::function:
      raw.operand.kind = Operand::Kind::function;
      raw.operand.index = binding.index;
      return true;
    case Binding::Kind::special:
      return finish_special(parser, binding, raw);
    case Binding::Kind::prototype:
    case Binding::Kind::branch_list:
    case Binding::Kind::call_targets:
    case Binding::Kind::warp_size:
    case Binding::Kind::none:
      return true;  // a label perhaps; the row decides
  }
  return true;
}

bool parse_vector(Parser& parser, RawOperand& raw) {
  const std::size_t first = parser.elements.size();
  parser.in.advance();
  do {
    if (parser.elements.size() - first >= kMaxVectorElements)
      return parser.in.error(raw.at, "more than {} elements in a vector", kMaxVectorElements);
    if (parser.in.token().is('{') || parser.in.token().is('['))
      return parser.in.expected("a register or a constant inside '{ }'");
    if (!parse_operand(parser, parser.elements)) return false;
  } while (parser.in.accept(','));
  if (!parser.in.expect('}', "after the elements of a vector")) return false;
  raw.operand.kind = Operand::Kind::vector;
  raw.operand.index = static_cast<std::uint32_t>(first);
  raw.operand.count = static_cast<std::uint16_t>(parser.elements.size() - first);
  return true;
}

/// `reg + 4`, `variable + 4` or `4` between brackets.
bool parse_base(Parser& parser, RawOperand& raw) {
  Operand& o = raw.operand;
  if (parser.in.token().kind != TokenKind::identifier || starts_constant(parser)) {
    std::uint64_t value = 0;
    if (!parse_integer(parser, "an address", value)) return false;
    o.base = Operand::Base::absolute;
    o.value = static_cast<std::int64_t>(value);
    return true;
  }
  RawOperand base;
  base.at = parser.in.token().at;
  if (!parse_name(parser, base)) return false;
  if (base.operand.kind == Operand::Kind::reg) {
    o.base = Operand::Base::reg;
    o.index = base.operand.index;
    return parse_offset(parser, o.value);
  }
  if (base.operand.kind == Operand::Kind::variable) {
    o.base = Operand::Base::variable;
    o.index = base.operand.index;
    o.value = base.operand.value;
    return true;
  }
  if (base.operand.kind == Operand::Kind::none)
    return parser.in.error(base.at, "'{}' is not declared", base.text);
  return parser.in.error(base.at, "expected a register, a variable or a constant as address, found '{}'",
                         base.text);
}

bool parse_address(Parser& parser, RawOperand& raw) {
  parser.in.advance();
  raw.operand.kind = Operand::Kind::address;
  if (!parse_base(parser, raw)) return false;
  raw.open = parser.in.token().is(',');
  return raw.open || parser.in.expect(']', "after an address");
}

bool parse_negated(Parser& parser, RawOperand& raw) {
  parser.in.advance();
  if (parser.in.token().kind != TokenKind::identifier || starts_constant(parser)) {
    if (!parse_constant(parser, raw.constant)) return false;
    raw.constant = make_integer(!is_true(raw.constant), false);
    raw.operand.kind = Operand::Kind::immediate;
    return true;
  }
  raw.operand.negated = true;
  return parse_name(parser, raw);
}

/// Passes the '-' of `-name`; stays where it starts a constant.
bool accept_minus(Parser& parser) {
  if (!parser.in.token().is('-')) return false;
  const Cursor::Mark start = parser.in.mark();
  parser.in.advance();
  if (parser.in.token().kind == TokenKind::identifier && !starts_constant(parser)) return true;
  parser.in.rewind(start);
  return false;
}

/// `.b3`, `.h10` behind a register.
void accept_selector(Parser& parser, RawOperand& raw) {
  const Token& token = parser.in.token();
  if (raw.operand.kind != Operand::Kind::reg || token.kind != TokenKind::directive) return;
  raw.operand.selector = isa::selector_from_text(token.text);
  if (raw.operand.selector != 0) parser.in.advance();
}

bool parse_plain(Parser& parser, RawOperand& raw) {
  const Token& token = parser.in.token();
  if (token.is('{')) return parse_vector(parser, raw);
  if (token.is('[')) return parse_address(parser, raw);
  if (token.is('!')) return parse_negated(parser, raw);
  raw.operand.minus = accept_minus(parser);
  if (starts_constant(parser)) {
    raw.operand.kind = Operand::Kind::immediate;
    return parse_constant(parser, raw.constant);
  }
  if (token.kind == TokenKind::identifier) return parse_name(parser, raw);
  return parser.in.expected("an operand");
}

}  // namespace

bool parse_operand(Parser& parser, std::vector<RawOperand>& out) {
  RawOperand raw;
  raw.at = parser.in.token().at;
  const char* begin = parser.in.token().text.data();
  if (!parse_plain(parser, raw)) return false;
  accept_selector(parser, raw);
  raw.text = parser.in.text_since(begin);
  out.push_back(raw);
  return true;
}

namespace {
/// `, x, {y, z}]` behind the address that the brackets start with.
bool parse_bracketed(Parser& parser) {
  while (parser.in.accept(',')) {
    if (!parse_operand(parser, parser.operands)) return false;
    parser.operands.back().bracketed = true;
  }
  return parser.in.expect(']', "after the operands in brackets");
}
}  // namespace

bool parse_operands(Parser& parser) {
  parser.operands.clear();
  parser.elements.clear();
  if (parser.in.token().is(';')) return true;
  for (bool joined = false;;) {
    if (!parse_operand(parser, parser.operands)) return false;
    parser.operands.back().joined = joined;
    if (parser.operands.back().open && !parse_bracketed(parser)) return false;
    joined = parser.in.token().is('|');
    if (!joined && !parser.in.token().is(',')) return true;
    parser.in.advance();
  }
}

}  // namespace raddle::ptx
