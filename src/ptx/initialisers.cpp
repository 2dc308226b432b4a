// Initialisers of variables (PTX ISA "Initializers"): nested braces filled as C does, numbers of the
// element's type, and addresses, which become relocations. Bytes never mentioned stay zero and unstored.
#include <bit>
#include <cstring>

#include "ptx/declarations.h"
#include "ptx/expressions.h"
#include "ptx/samplers.h"

namespace raddle::ptx {
namespace {

constexpr std::uint64_t kMaxInitialBytes = 1ull << 31;

struct Filler {
  Parser& parser;
  VariableId id;
  std::vector<std::uint64_t> dimensions;  // in elements, innermost last; vectors count as a dimension
  std::uint64_t element_bytes = 0;
  std::uint64_t most = 0;  // elements reached, for `[]`

  Variable& variable() const { return parser.module.variables[id]; }
};

bool check_room(Filler& fill, std::uint64_t element, Position at) {
  const Variable& v = fill.variable();
  fill.most = std::max(fill.most, element + 1);
  if (fill.most * fill.element_bytes > kMaxInitialBytes)
    return fill.parser.in.error(at, "the initialiser of '{}' is too large", v.name);
  if (v.size == 0 || fill.most * fill.element_bytes <= v.size) return true;
  return fill.parser.in.error(at, "more initial values than '{}' has elements", v.name);
}

void store(Filler& fill, std::uint64_t element, std::uint64_t bits) {
  auto& bytes = fill.variable().initial;
  const std::uint64_t end = (element + 1) * fill.element_bytes;
  if (bytes.size() < end) bytes.resize(end);
  std::memcpy(bytes.data() + element * fill.element_bytes, &bits,
              std::min<std::uint64_t>(fill.element_bytes, 8));
}

/// `+ 4` or `- 4` behind a symbol, if there.
bool parse_addend(Parser& parser, std::int64_t& addend) {
  const bool plus = parser.in.token().is('+');
  if (!plus && !parser.in.token().is('-')) return true;
  if (plus) parser.in.advance();
  std::uint64_t value = 0;
  if (!parse_integer(parser, "an offset", value)) return false;
  addend += static_cast<std::int64_t>(value);
  return true;
}

/// A symbol, maybe inside `generic( )` or `0xff( )`, whose '(' is passed and counted in `parentheses`.
bool symbol(Filler& fill, Relocation relocation, std::uint64_t element, unsigned parentheses) {
  Parser& parser = fill.parser;
  Token name;
  if (!parser.in.expect_identifier("a variable's or function's name", name)) return false;
  if (name.text == "generic" && parentheses < 2 && parser.in.accept('(')) {
    relocation.generic = true;
    return symbol(fill, relocation, element, parentheses + 1);
  }
  if (!parse_addend(parser, relocation.addend)) return false;
  for (; parentheses > 0; --parentheses)
    if (!parser.in.expect(')', "behind the symbol")) return false;
  if (!parse_addend(parser, relocation.addend) || !check_room(fill, element, name.at)) return false;
  if (relocation.size != 1 && relocation.size != fill.element_bytes)
    return parser.in.error(name.at, "the address of '{}' needs an element of 4 or 8 bytes, not {}", name.text,
                           fill.element_bytes);
  relocation.offset = element * fill.element_bytes;
  NameId id = 0;
  const Binding binding = look_up(parser, name, id);
  if (binding.kind == Binding::Kind::variable || binding.kind == Binding::Kind::function) {
    relocation.is_function = binding.kind == Binding::Kind::function;
    relocation.index = binding.index;
  } else {
    const auto index = static_cast<std::uint32_t>(fill.variable().relocations.size());
    parser.pending_relocations.push_back({fill.id, index, id, name.at});
  }
  fill.variable().relocations.push_back(relocation);
  return true;
}

/// `0xff00(symbol)`: one byte of an address. The '(' is passed.
bool masked_symbol(Filler& fill, Constant mask, std::uint64_t element, Position at) {
  const std::uint64_t bits = mask.bits;
  const int shift = bits == 0 ? 0 : std::countr_zero(bits) / 8 * 8;
  if (mask.is_float() || bits >> shift != 0xff)
    return fill.parser.in.error(at, "a mask must select one byte, such as 0xff00");
  Relocation relocation{};
  relocation.size = 1;
  relocation.mask_shift = static_cast<std::uint8_t>(shift);
  return symbol(fill, relocation, element, 1);
}

bool value(Filler& fill, std::uint64_t element) {
  Parser& parser = fill.parser;
  const Token first = parser.in.token();
  if (first.kind == TokenKind::identifier && first.text != "WARP_SZ") {
    Relocation relocation{};
    relocation.size = fill.element_bytes == 4 ? 4 : 8;
    return symbol(fill, relocation, element, 0);
  }
  if (!starts_constant(parser)) return parser.in.expected("an initial value");
  Constant constant;
  if (first.kind == TokenKind::number) {  // a mask looks like a number up to its '('
    parser.in.advance();
    if (parser.in.accept('(')) return masked_symbol(fill, first.value, element, first.at);
    if (!continue_constant(parser, first, constant)) return false;
  } else if (!parse_constant(parser, constant)) {
    return false;
  }
  std::uint64_t bits = 0;
  if (const Problem problem = convert_constant(constant, fill.variable().type, bits))
    return parser.in.error(first.at, "{}", problem);
  if (!check_room(fill, element, first.at)) return false;
  store(fill, element, bits);
  return true;
}

std::uint64_t elements_below(const Filler& fill, std::size_t level) {
  std::uint64_t count = 1;
  for (std::size_t i = level; i < fill.dimensions.size(); ++i) count *= fill.dimensions[i];
  return count;
}

/// A brace list at `level`, its '{' passed. Elements start at `first`.
bool list(Filler& fill, std::size_t level, std::uint64_t first) {
  Parser& parser = fill.parser;
  const std::uint64_t step = elements_below(fill, level + 1);
  const std::uint64_t room = level < fill.dimensions.size() ? elements_below(fill, level) : 1;
  std::uint64_t at = first;
  while (!parser.in.token().is('}')) {
    const Position where = parser.in.token().at;
    if (room != 0 && at >= first + room)
      return parser.in.error(where, "more initial values than '{}' has elements", fill.variable().name);
    if (parser.in.accept('{')) {
      if (level + 1 > fill.dimensions.size())
        return parser.in.error(where, "braces nested deeper than '{}' has dimensions", fill.variable().name);
      if (!list(fill, level + 1, at)) return false;
      at += step;
    } else {
      if (!value(fill, at)) return false;
      ++at;
    }
    if (!parser.in.accept(',')) break;
  }
  return parser.in.expect('}', "to close the initialiser");
}

}  // namespace

bool parse_initialiser(Parser& parser, VariableId variable) {
  Filler fill{parser, variable, {}, 0, 0};
  const Variable& v = fill.variable();
  const Position at = parser.in.token().at;
  if (isa::type_class(v.type) == isa::TypeClass::opaque) return parse_sampler_settings(parser, variable);
  if (v.space != Space::global && v.space != Space::const_)
    return parser.in.error(at, "only .global and .const variables may have an initialiser");
  fill.dimensions = v.dimensions;
  if (v.vector > 1) fill.dimensions.push_back(v.vector);
  fill.element_bytes = isa::byte_size(v.type);
  const bool open = !v.dimensions.empty() && v.dimensions[0] == 0;
  if (!(parser.in.accept('{') ? list(fill, 0, 0) : value(fill, 0))) return false;
  if (!open) return true;
  Variable& made = fill.variable();
  const std::uint64_t inner = std::max<std::uint64_t>(1, elements_below(fill, 1));
  made.dimensions[0] = (fill.most + inner - 1) / inner;
  made.size = made.dimensions[0] * inner * fill.element_bytes;
  if (made.space == Space::const_) {
    auto bytes = static_cast<std::uint32_t>(parser.const_bytes);
    made.offset = place(made.size, made.align, bytes);
    parser.const_bytes = bytes;
  }
  return true;
}

}  // namespace raddle::ptx
