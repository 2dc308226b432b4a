// Token stream with error reporting; messages name the expected and the found token.
#include "ptx/cursor.h"

namespace raddle::ptx {

std::string describe(const Token& token) {
  constexpr std::size_t kLongest = 60;
  switch (token.kind) {
    case TokenKind::end:
      return "the end of the text";
    case TokenKind::bad:
      return std::string(token.text);
    case TokenKind::string:
      return fmt::format("\"{}\"", token.text.substr(0, kLongest));
    case TokenKind::directive:
      return fmt::format("'.{}'", token.text.substr(0, kLongest));
    default:
      return fmt::format("'{}'", token.text.substr(0, kLongest));
  }
}

bool Cursor::report(Position at, std::string message) {
  if (!too_many_errors())
    errors_.push_back({ErrorCode::invalid, std::move(message), {file_, at.line, at.column}});
  return false;
}

bool Cursor::expected(std::string_view what) {
  return error(token_.at, "expected {}, found {}", what, describe(token_));
}

bool Cursor::expect(char c, std::string_view context) {
  if (accept(c)) return true;
  return error(token_.at, "expected '{}' {}, found {}", c, context, describe(token_));
}

bool Cursor::expect_identifier(std::string_view what, Token& out) {
  if (token_.kind != TokenKind::identifier) return expected(what);
  out = token_;
  advance();
  return true;
}

void Cursor::join_opcode(std::string& spaced) {
  lexer_.extend_opcode(token_);
  spaced.clear();
  // `add .s32` is the same as `add.s32`: rare, so only here is anything copied.
  for (;;) {
    Lexer ahead = lexer_;
    Token next = ahead.next();
    if (next.kind != TokenKind::directive) return;
    ahead.extend_opcode(next);
    if (spaced.empty()) spaced.assign(token_.text);
    spaced.append(".").append(next.text);
    lexer_ = ahead;
  }
}

void Cursor::skip_statement() {
  for (unsigned depth = 0; !at_end(); advance()) {
    if (token_.is('{')) ++depth;
    if (token_.is('}') && depth-- == 0) return;
    if (token_.is(';')) return advance();
  }
}

bool Cursor::skip_block() {
  const bool closed = lexer_.skip_braces();
  advance();
  return closed;
}

}  // namespace raddle::ptx
