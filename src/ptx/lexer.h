// Cuts PTX text into tokens without copying or allocating. The cursor always stands right behind the last
// token handed out, so a caller may look at the raw text that follows (opcodes with their modifiers).
#pragma once

#include "ptx/token.h"

namespace raddle::ptx {

class Lexer {
 public:
  explicit Lexer(std::string_view text);

  Token next();
  /// The character right behind the last token; 0 at the end.
  char next_character() const { return cursor_ < end_ ? *cursor_ : '\0'; }
  /// True if the next token is a single ':' (the last one was a label).
  bool colon_follows();
  /// Lengthens an identifier token by all `.modifier`s and `::` parts that follow without a gap.
  void extend_opcode(Token& token);
  /// After '{' was read: skips past the matching '}'. False if it is missing.
  bool skip_braces();

 private:
  bool skip_space();
  void skip_line_comment();
  void skip_quoted();
  bool skip_block_comment();
  Token number();
  Token hex_float(unsigned digits, Constant::Kind kind);
  Token decimal_float();
  Token string();
  Token symbol();
  Token make(TokenKind kind, const char* begin) const;
  Token bad(const char* begin, std::string_view reason) const;
  Position position(const char* at) const;

  const char* cursor_;
  const char* end_;
  const char* line_start_;
  std::uint32_t line_ = 1;
};

}  // namespace raddle::ptx
