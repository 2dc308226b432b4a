// Tokens of PTX text (PTX ISA "Syntax") and the value of a literal. The lexer makes them, one at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace raddle::ptx {

enum class TokenKind : std::uint8_t {
  end,
  identifier,  ///< name, register, opcode or label; text as written
  directive,   ///< `.name`; text without the dot
  number,      ///< Token::value
  string,      ///< text without the quotes
  symbol,      ///< punctuation; Token::symbol
  bad,         ///< no token of PTX; text is the reason
};

/// Punctuation: the character itself, or one of these pairs.
enum Symbol : std::uint16_t {
  kShiftLeft = 256,
  kShiftRight,
  kAndAnd,
  kOrOr,
  kLessEqual,
  kGreaterEqual,
  kEqual,
  kNotEqual,
};

/// A literal or the value of a constant expression (PTX ISA "Constants").
struct Constant {
  enum class Kind : std::uint8_t { s64, u64, f32, f64 };
  Kind kind = Kind::s64;
  std::uint64_t bits = 0;  ///< two's complement, or the IEEE bit pattern of the kind

  bool is_float() const { return kind == Kind::f32 || kind == Kind::f64; }
};

/// Where something stands in the text, from 1.
struct Position {
  std::uint32_t line = 0, column = 0;
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::uint16_t symbol = 0;
  Position at;
  std::string_view text;  ///< points into the source
  Constant value;

  bool is(char c) const { return kind == TokenKind::symbol && symbol == static_cast<unsigned char>(c); }
  bool is_symbol(std::uint16_t s) const { return kind == TokenKind::symbol && symbol == s; }
  bool is_directive(std::string_view name) const { return kind == TokenKind::directive && text == name; }
};

}  // namespace raddle::ptx
