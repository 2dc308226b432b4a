// Precedence climbing over the current token; depth-limited, so that a million '(' cost no stack.
#include "ptx/expressions.h"

namespace raddle::ptx {
namespace {

constexpr std::uint64_t kWarpSize = 32;

/// C's precedence; 0 for other tokens than binary operators.
int precedence(const Token& token) {
  if (token.kind != TokenKind::symbol) return 0;
  switch (token.symbol) {
    case kOrOr:
      return 1;
    case kAndAnd:
      return 2;
    case '|':
      return 3;
    case '^':
      return 4;
    case '&':
      return 5;
    case kEqual:
    case kNotEqual:
      return 6;
    case '<':
    case '>':
    case kLessEqual:
    case kGreaterEqual:
      return 7;
    case kShiftLeft:
    case kShiftRight:
      return 8;
    case '+':
    case '-':
      return 9;
    case '*':
    case '/':
    case '%':
      return 10;
    default:
      return 0;
  }
}

bool ternary(Parser& parser, Constant& value, unsigned depth);

/// `(.s64) x`, `(.u64) x` or `( expression )`; the '(' is passed.
bool parenthesised(Parser& parser, Constant& value, unsigned depth, bool& is_cast) {
  const Token type = parser.in.token();
  is_cast = type.is_directive("s64") || type.is_directive("u64");
  if (is_cast) {
    parser.in.advance();
    value.kind = type.text == "u64" ? Constant::Kind::u64 : Constant::Kind::s64;
    return parser.in.expect(')', "after the type of a cast");
  }
  return ternary(parser, value, depth + 1) && parser.in.expect(')', "to close the constant expression");
}

bool unary(Parser& parser, Constant& value, unsigned depth) {
  if (depth > kMaxNesting)
    return parser.in.error(parser.in.token().at, "a constant expression nested too deeply");
  const Token token = parser.in.token();
  if (token.kind == TokenKind::number) {
    value = token.value;
    parser.in.advance();
    return true;
  }
  if (token.kind == TokenKind::identifier && token.text == "WARP_SZ") {
    value = make_integer(kWarpSize, false);
    parser.in.advance();
    return true;
  }
  if (token.is('-') || token.is('+') || token.is('!') || token.is('~')) {
    parser.in.advance();
    if (!unary(parser, value, depth + 1)) return false;
    const Problem problem = apply_unary(token.symbol, value);
    return !problem || parser.in.error(token.at, "{}", problem);
  }
  if (!token.is('(')) return parser.in.expected("a constant");
  parser.in.advance();
  bool is_cast = false;
  if (!parenthesised(parser, value, depth, is_cast)) return false;
  if (!is_cast) return true;
  const Constant::Kind kind = value.kind;
  if (!unary(parser, value, depth + 1)) return false;
  value = {kind, to_integer(value)};
  return true;
}

bool binary(Parser& parser, Constant& value, int least, unsigned depth);

/// `op right op right ...` behind an operand.
bool operators(Parser& parser, Constant& value, int least, unsigned depth) {
  for (;;) {
    const Token op = parser.in.token();
    const int level = precedence(op);
    if (level == 0 || level < least) return true;
    parser.in.advance();
    Constant right;
    if (!binary(parser, right, level + 1, depth)) return false;
    if (const Problem problem = apply_binary(op.symbol, value, right))
      return parser.in.error(op.at, "{}", problem);
  }
}

bool binary(Parser& parser, Constant& value, int least, unsigned depth) {
  return unary(parser, value, depth) && operators(parser, value, least, depth);
}

/// `? yes : no` behind a condition, if there.
bool choice(Parser& parser, Constant& value, unsigned depth) {
  if (!parser.in.accept('?')) return true;
  Constant yes, no;
  if (!ternary(parser, yes, depth + 1) || !parser.in.expect(':', "in a conditional expression")) return false;
  if (!ternary(parser, no, depth + 1)) return false;
  value = is_true(value) ? yes : no;
  return true;
}

bool ternary(Parser& parser, Constant& value, unsigned depth) {
  if (depth > kMaxNesting)
    return parser.in.error(parser.in.token().at, "a constant expression nested too deeply");
  return binary(parser, value, 1, depth) && choice(parser, value, depth);
}

}  // namespace

bool starts_constant(const Parser& parser) {
  const Token& token = parser.in.token();
  if (token.kind == TokenKind::number) return true;
  if (token.kind == TokenKind::identifier) return token.text == "WARP_SZ";
  return token.is('-') || token.is('+') || token.is('!') || token.is('~') || token.is('(');
}

bool parse_constant(Parser& parser, Constant& value) { return ternary(parser, value, 0); }

bool parse_term(Parser& parser, Constant& value) { return unary(parser, value, 0); }

bool continue_constant(Parser& parser, const Token& first, Constant& value) {
  value = first.value;
  return operators(parser, value, 1, 0) && choice(parser, value, 0);
}

bool parse_integer(Parser& parser, std::string_view what, std::uint64_t& value) {
  const Position at = parser.in.token().at;
  Constant constant;
  if (!starts_constant(parser)) return parser.in.expected(what);
  if (!parse_constant(parser, constant)) return false;
  if (constant.is_float()) return parser.in.error(at, "expected {}, found a floating-point constant", what);
  value = constant.bits;
  return true;
}

bool parse_count(Parser& parser, std::string_view what, std::uint64_t most, std::uint64_t& value) {
  const Position at = parser.in.token().at;
  if (!parse_integer(parser, what, value)) return false;
  if (value <= most) return true;
  return parser.in.error(at, "{} must be between 0 and {}", what, most);
}

}  // namespace raddle::ptx
