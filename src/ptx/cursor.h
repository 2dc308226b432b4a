// The parser's hand on the text: the current token, what the parser expects next, and the list of errors.
// Parsing functions return false after reporting; the statement loop then skips ahead and goes on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ptx/lexer.h"

namespace raddle::ptx {

class Cursor {
 public:
  Cursor(std::string_view text, std::string_view file) : lexer_(text), file_(file) { advance(); }

  const Token& token() const { return token_; }
  Lexer& lexer() { return lexer_; }
  bool at_end() const { return token_.kind == TokenKind::end; }
  void advance() {
    previous_end_ = token_.text.data() + token_.text.size();
    token_ = lexer_.next();
  }
  /// Text from a token's first character up to the end of the last token passed.
  std::string_view text_since(const char* begin) const {
    return begin < previous_end_ ? std::string_view(begin, static_cast<std::size_t>(previous_end_ - begin))
                                 : std::string_view();
  }

  bool accept(char c) {
    if (!token_.is(c)) return false;
    advance();
    return true;
  }
  bool accept_directive(std::string_view name) {
    if (!token_.is_directive(name)) return false;
    advance();
    return true;
  }
  /// @param context  what the character belongs to, for "expected ';' after <context>"
  bool expect(char c, std::string_view context);
  bool expect_identifier(std::string_view what, Token& out);
  /// Makes the current token an opcode with all its modifiers, blanks between them removed; `spaced` keeps it
  /// then.
  void join_opcode(std::string& spaced);
  /// A place to come back to.
  struct Mark {
    Lexer lexer;
    Token token;
  };
  Mark mark() const { return {lexer_, token_}; }
  void rewind(const Mark& mark) { lexer_ = mark.lexer, token_ = mark.token; }
  /// Skips a statement from its start: behind its ';', braces of vectors balanced. Stops at a '}' that is not
  /// its own.
  void skip_statement();
  /// The current token is '{': goes behind the matching '}'.
  bool skip_block();

  /// Records an error; always false.
  template <class... Args>
  bool error(Position at, fmt::format_string<Args...> text, Args&&... args) {
    return report(at, fmt::format(text, std::forward<Args>(args)...));
  }
  /// "expected <what>, found <current token>"
  bool expected(std::string_view what);
  bool report(Position at, std::string message);
  bool too_many_errors() const { return errors_.size() >= kMaxErrors; }
  std::vector<Error>& errors() { return errors_; }

 private:
  static constexpr std::size_t kMaxErrors = 200;

  Lexer lexer_;
  Token token_;
  const char* previous_end_ = nullptr;
  std::string file_;
  std::vector<Error> errors_;
};

/// How a token is named in messages: `'add'`, `the end of the text`, a bad token's reason.
std::string describe(const Token& token);

}  // namespace raddle::ptx
