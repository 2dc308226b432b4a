// Declarations of variables and registers, at module level, in functions and as formal parameters.
#include "ptx/declarations.h"

#include <array>
#include <bit>

#include "ptx/expressions.h"

namespace raddle::ptx {
namespace {

struct SpaceName {
  std::string_view name;
  Space space;
};
constexpr std::array kSpaces = {SpaceName{"reg", Space::reg},       SpaceName{"global", Space::global},
                                SpaceName{"shared", Space::shared}, SpaceName{"local", Space::local},
                                SpaceName{"const", Space::const_},  SpaceName{"param", Space::param},
                                SpaceName{"tex", Space::tex}};

const SpaceName* find_space(std::string_view name) {
  for (const SpaceName& s : kSpaces)
    if (s.name == name) return &s;
  return nullptr;
}

constexpr std::uint64_t kMaxAlign = 1u << 16;

bool parse_align(Parser& parser, std::uint32_t& align) {
  const Position at = parser.in.token().at;
  std::uint64_t value = 0;
  if (!parse_count(parser, "an alignment in bytes", kMaxAlign, value)) return false;
  if (!std::has_single_bit(value))
    return parser.in.error(at, "an alignment must be a power of two, not {}", value);
  align = static_cast<std::uint32_t>(value);
  return true;
}

/// `.attribute(.managed, .unified(1, 2))`; the directive is passed.
bool parse_attributes(Parser& parser, bool& managed) {
  if (!parser.in.expect('(', "after '.attribute'")) return false;
  for (unsigned depth = 1; depth > 0; parser.in.advance()) {
    const Token& token = parser.in.token();
    if (token.is('(')) ++depth;
    if (token.is(')')) --depth;
    if (token.is_directive("managed")) managed = true;
    if (token.is(';') || token.is('{') || parser.in.at_end())
      return parser.in.expected("')' to close '.attribute'");
  }
  return true;
}

/// `.ptr .global .align 8`; `.ptr` is passed.
bool parse_pointer(Parser& parser) {
  if (parser.in.token().kind == TokenKind::directive && find_space(parser.in.token().text))
    parser.in.advance();
  std::uint32_t ignored = 0;  // of what it points to
  return !parser.in.accept_directive("align") || parse_align(parser, ignored);
}

bool element_bytes_fit(std::uint64_t size, std::uint64_t count) {
  return count == 0 || size <= kMaxVariableBytes / count;
}

}  // namespace

bool is_state_space(std::string_view name) { return find_space(name) != nullptr; }

std::uint32_t place(std::uint64_t size, std::uint32_t align, std::uint32_t& bytes) {
  const std::uint64_t offset =
      (static_cast<std::uint64_t>(bytes) + align - 1) & ~static_cast<std::uint64_t>(align - 1);
  constexpr std::uint64_t kMost = 0xffffffffu;
  bytes = static_cast<std::uint32_t>(std::min(offset + size, kMost));
  return static_cast<std::uint32_t>(std::min(offset, kMost));
}

bool parse_qualifiers(Parser& parser, Qualifiers& q) {
  while (parser.in.token().kind == TokenKind::directive) {
    const Token token = parser.in.token();
    parser.in.advance();
    if (token.text == "align") {
      if (!parse_align(parser, q.align)) return false;
    } else if (token.text == "attribute") {
      if (!parse_attributes(parser, q.managed)) return false;
    } else if (token.text == "ptr") {
      q.is_pointer = true;
      if (!parse_pointer(parser)) return false;
    } else if (token.text == "v2" || token.text == "v4" || token.text == "v8") {
      q.vector = static_cast<unsigned>(token.text[1] - '0');
    } else if (const SpaceName* space = find_space(token.text)) {
      if (q.space != Space::generic)
        return parser.in.error(token.at, "a second state space '.{}' in one declaration", token.text);
      q.space = space->space;
    } else if (const Type type = isa::type_from_name(token.text); type != Type::none) {
      if (q.type != Type::none)
        return parser.in.error(token.at, "a second type '.{}' in one declaration", token.text);
      q.type = type;
    } else {
      return parser.in.error(token.at, "'.{}' is neither a type nor a qualifier of a declaration",
                             token.text);
    }
  }
  if (q.type == Type::none) return parser.in.expected("a type such as .b32 in the declaration");
  if (q.type == Type::pred && q.space != Space::reg)
    return parser.in.expected("another type than .pred outside .reg");
  return true;
}

bool parse_dimensions(Parser& parser, Variable& v) {
  v.size = static_cast<std::uint64_t>(isa::byte_size(v.type)) * v.vector;
  while (parser.in.accept('[')) {
    std::uint64_t count = 0;
    const Position at = parser.in.token().at;
    if (!parser.in.token().is(']') && !parse_count(parser, "an array size", kMaxVariableBytes, count))
      return false;
    if (!parser.in.expect(']', "after an array size")) return false;
    if (count == 0 && !v.dimensions.empty())
      return parser.in.error(at, "only the first dimension of an array may be left open");
    if (!element_bytes_fit(v.size, count))
      return parser.in.error(at, "the array is larger than {} bytes", kMaxVariableBytes);
    if (v.dimensions.size() >= kMaxNesting) return parser.in.error(at, "too many array dimensions");
    v.dimensions.push_back(count);
    v.size *= count;
  }
  return true;
}

namespace {

Variable make_variable(const Qualifiers& q, const Token& name) {
  Variable v;
  v.name = name.text;
  v.space = q.space;
  v.linkage = q.linkage;
  v.type = q.type;
  v.vector = q.vector;
  v.align = q.align ? q.align : std::max(1u, isa::byte_size(q.type) * q.vector);
  v.managed = q.managed;
  v.is_pointer = q.is_pointer;
  v.line = name.at.line;
  if (v.space == Space::tex) {  // PTX ISA: "equivalent to .texref in the .global state space"
    v.space = Space::global;
    v.type = Type::texref;
  }
  return v;
}

/// Offsets in the frame the variable's space has (module.h).
void place_variable(Parser& parser, Variable& v) {
  if (v.space == Space::const_) {
    auto bytes = static_cast<std::uint32_t>(parser.const_bytes);
    if (v.linkage != Linkage::extern_) v.offset = place(v.size, v.align, bytes);
    parser.const_bytes = bytes;
  }
  if (!parser.in_function()) return;
  FunctionState& f = *parser.current;
  if (v.space == Space::local) v.offset = place(v.size, v.align, f.function.local_bytes);
  if (v.space == Space::param) v.offset = place(v.size, v.align, f.call_slot_bytes);
  if (v.space == Space::shared && v.linkage != Linkage::extern_)
    v.offset = place(v.size, v.align, f.shared_bytes);
}

/// A module-scope name declared again: fine when one of the two is only `.extern`.
VariableId redeclare(Parser& parser, Variable v, const Token& name, Binding before) {
  if (before.kind == Binding::Kind::variable) {
    Variable& old = parser.module.variables[before.index];
    const bool same = old.space == v.space && old.type == v.type;
    if (same && v.linkage == Linkage::extern_) return before.index;
    if (same && old.linkage == Linkage::extern_) {
      place_variable(parser, v);
      old = std::move(v);
      return before.index;
    }
    parser.in.error(name.at, "'{}' is already declared in line {}", name.text, old.line);
    return kNone;
  }
  parser.in.error(name.at, "'{}' is already the name of a function", name.text);
  return kNone;
}

VariableId add_variable(Parser& parser, Variable v, const Token& name) {
  const NameId id = parser.names.intern(name.text);
  const auto index = static_cast<VariableId>(parser.module.variables.size());
  if (!parser.scopes.bind(id, {Binding::Kind::variable, 0, 0, index})) {
    const Binding before = parser.scopes.symbol(id);
    if (!parser.in_function()) return redeclare(parser, std::move(v), name, before);
    parser.in.error(name.at, "'{}' is already declared in this scope", name.text);
    return kNone;
  }
  place_variable(parser, v);
  if (parser.in_function()) {
    v.function = parser.current->id;
    v.name = unique_name(parser, id);
    parser.function().variables.push_back(index);
  }
  parser.module.variables.push_back(std::move(v));
  return index;
}

/// `%r<100>`; the '<' is passed.
bool declare_range(Parser& parser, const Qualifiers& q, const Token& name) {
  Constant number;
  const Position at = parser.in.token().at;
  if (!parse_term(parser, number) || !parser.in.expect('>', "after a number of registers")) return false;
  const std::uint64_t count = number.bits;
  if (number.is_float() || count > kMaxRegisters)
    return parser.in.error(at, "a number of registers is between 0 and {}", kMaxRegisters);
  const NameId prefix = parser.names.intern(name.text);
  const auto index = static_cast<std::uint32_t>(parser.current->ranges.size());
  if (!parser.scopes.bind_range(prefix, index))
    return parser.in.error(name.at, "registers '{}<...>' are already declared in this scope", name.text);
  parser.current->ranges.push_back({static_cast<std::uint32_t>(count), q.type, q.vector});
  if (parser.scopes.depth() == 1) return true;
  // In an inner scope the range hides outer registers of these names, so each is made at once.
  for (std::uint64_t i = 0; i < count; ++i) {
    const NameId id = parser.names.intern(parser.names.keep(fmt::format("{}{}", name.text, i)));
    const RegisterId reg = make_register(parser, id, q.type, name.at);
    if (reg == kNone) return false;
    parser.scopes.bind(id, {Binding::Kind::reg, 0, 0, reg});
  }
  return true;
}

bool declare_register(Parser& parser, const Qualifiers& q, const Token& name) {
  if (!parser.in_function())
    return parser.in.error(name.at, "register '{}' is declared outside a function", name.text);
  if (parser.in.accept('<')) return declare_range(parser, q, name);
  const NameId id = parser.names.intern(name.text);
  const auto first = static_cast<RegisterId>(parser.function().registers.size());
  const auto kind = q.vector > 1 ? Binding::Kind::vector_register : Binding::Kind::reg;
  if (!parser.scopes.bind(id, {kind, static_cast<std::uint8_t>(q.vector), 0, first}))
    return parser.in.error(name.at, "'{}' is already declared in this scope", name.text);
  for (unsigned i = 0; i < q.vector; ++i)
    if (make_register(parser, id, q.type, name.at) == kNone) return false;
  return true;
}

/// .texref, .surfref and .samplerref variables.
bool check_opaque(Parser& parser, const Variable& v, const Token& name) {
  if (v.type == Type::samplerref && !parser.module.independent_samplers)
    return parser.in.error(name.at, "'{}': a .samplerref needs '.target ..., texmode_independent'", v.name);
  if (v.space == Space::global && v.dimensions.empty() && !parser.in_function()) return true;
  return parser.in.error(name.at, "'{}': a .{} is one .global variable of a module", v.name,
                         isa::type_name(v.type));
}

bool parse_declarator(Parser& parser, const Qualifiers& q) {
  Token name;
  if (!parser.in.expect_identifier("a name to declare", name)) return false;
  if (q.space == Space::reg) return declare_register(parser, q, name);
  Variable v = make_variable(q, name);
  if (!parse_dimensions(parser, v)) return false;
  if (isa::type_class(v.type) == isa::TypeClass::opaque && !check_opaque(parser, v, name)) return false;
  const VariableId id = add_variable(parser, std::move(v), name);
  if (id == kNone) return false;
  return !parser.in.accept('=') || parse_initialiser(parser, id);
}

}  // namespace

bool parse_declaration(Parser& parser, Linkage linkage) {
  Qualifiers q;
  q.linkage = linkage;
  if (!parse_qualifiers(parser, q)) return false;
  if (q.space == Space::generic)
    return parser.in.expected("a state space such as .global in the declaration");
  do {
    if (!parse_declarator(parser, q)) return false;
  } while (parser.in.accept(','));
  return parser.in.expect(';', "after a declaration");
}

bool parse_formals(Parser& parser, std::vector<Variable>& formals) {
  if (!parser.in.expect('(', "before the parameters")) return false;
  if (parser.in.accept(')')) return true;
  do {
    Qualifiers q;
    Token name;
    if (!parse_qualifiers(parser, q)) return false;
    if (q.space != Space::param && q.space != Space::reg)
      return parser.in.expected(".param or .reg in front of a parameter");
    if (!parser.in.expect_identifier("a parameter's name", name)) return false;
    Variable v = make_variable(q, name);
    if (!parse_dimensions(parser, v)) return false;
    formals.push_back(std::move(v));
  } while (parser.in.accept(','));
  return parser.in.expect(')', "after the parameters");
}

}  // namespace raddle::ptx
