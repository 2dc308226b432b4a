// The lexer: a character-class table, one pass, numbers converted on the way.
#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>

namespace raddle::ptx {
namespace {

enum Class : std::uint8_t { kSpace = 1, kStart = 2, kDigit = 4, kHex = 8, kInner = 16 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned char c : {' ', '\t', '\r', '\n', '\f', '\v'}) table[c] |= kSpace;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] |= kStart | kInner;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] |= kStart | kInner;
  for (unsigned char c : {'_', '$'}) table[c] |= kStart | kInner;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] |= kDigit | kHex | kInner;
  for (unsigned c = 0; c < 6; ++c) table['a' + c] |= kHex, table['A' + c] |= kHex;
  return table;
}
constexpr auto kClasses = make_classes();

bool is(char c, std::uint8_t classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }

std::string_view span(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

Lexer::Lexer(std::string_view text) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);  // fat binaries pad with NULs
  cursor_ = line_start_ = text.data();
  end_ = text.data() + text.size();
}

Position Lexer::position(const char* at) const {
  return {line_, static_cast<std::uint32_t>(at - line_start_) + 1};
}

Token Lexer::make(TokenKind kind, const char* begin) const {
  Token token;
  token.kind = kind;
  token.at = position(begin);
  token.text = span(begin, cursor_);
  return token;
}

Token Lexer::bad(const char* begin, std::string_view reason) const {
  Token token = make(TokenKind::bad, begin);
  token.text = reason;
  return token;
}

void Lexer::skip_line_comment() {
  while (cursor_ < end_ && *cursor_ != '\n') ++cursor_;
}

bool Lexer::skip_block_comment() {
  for (cursor_ += 2; cursor_ + 1 < end_; ++cursor_) {
    if (*cursor_ == '\n') ++line_, line_start_ = cursor_ + 1;
    if (cursor_[0] == '*' && cursor_[1] == '/') {
      cursor_ += 2;
      return true;
    }
  }
  cursor_ = end_;
  return false;
}

bool Lexer::skip_space() {
  while (cursor_ < end_) {
    const char c = *cursor_;
    if (is(c, kSpace)) {
      ++cursor_;
      if (c == '\n') ++line_, line_start_ = cursor_;
    } else if (c == '/' && cursor_ + 1 < end_ && cursor_[1] == '/') {
      skip_line_comment();
    } else if (c == '/' && cursor_ + 1 < end_ && cursor_[1] == '*') {
      if (!skip_block_comment()) return false;
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::next() {
  if (!skip_space()) return bad(cursor_, "a comment that is never closed");
  const char* begin = cursor_;
  if (begin == end_) return make(TokenKind::end, begin);
  const char c = *begin;
  const bool more = begin + 1 < end_;
  if (is(c, kStart) || (c == '%' && more && is(begin[1], kStart))) {
    do ++cursor_;
    while (cursor_ < end_ && is(*cursor_, kInner));
    return make(TokenKind::identifier, begin);
  }
  if (is(c, kDigit) || (c == '.' && more && is(begin[1], kDigit))) return number();
  if (c == '.' && more && is(begin[1], kStart)) {
    do ++cursor_;
    while (cursor_ < end_ && is(*cursor_, kInner));
    Token token = make(TokenKind::directive, begin);
    token.text.remove_prefix(1);
    return token;
  }
  if (c == '"') return string();
  return symbol();
}

bool Lexer::colon_follows() {
  const Lexer before = *this;
  if (skip_space() && cursor_ < end_ && *cursor_ == ':' && !(cursor_ + 1 < end_ && cursor_[1] == ':'))
    return true;
  *this = before;
  return false;
}

void Lexer::extend_opcode(Token& token) {
  if (cursor_ != token.text.data() + token.text.size())
    return;  // looking for a label's ':' went past white space
  while (cursor_ + 1 < end_) {
    if (*cursor_ == '.' && is(cursor_[1], kInner)) {
      cursor_ += 2;
    } else if (cursor_[0] == ':' && cursor_[1] == ':') {
      cursor_ += 2;
    } else {
      break;
    }
    while (cursor_ < end_ && is(*cursor_, kInner)) ++cursor_;
  }
  token.text = span(token.text.data(), cursor_);
}

void Lexer::skip_quoted() {
  while (cursor_ < end_ && *cursor_ != '"' && *cursor_ != '\n') ++cursor_;
  if (cursor_ < end_ && *cursor_ == '"') ++cursor_;
}

bool Lexer::skip_braces() {
  for (unsigned depth = 1; skip_space() && cursor_ < end_;) {
    const char c = *cursor_++;
    if (c == '"') skip_quoted();
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return true;
  }
  return false;
}

Token Lexer::string() {
  const char* begin = cursor_++;
  while (cursor_ < end_ && *cursor_ != '"' && *cursor_ != '\n')
    cursor_ += *cursor_ == '\\' && cursor_ + 1 < end_ ? 2 : 1;
  if (cursor_ > end_) cursor_ = end_;
  if (cursor_ == end_ || *cursor_ != '"') return bad(begin, "a string that is never closed");
  ++cursor_;
  Token token = make(TokenKind::string, begin);
  token.text = token.text.substr(1, token.text.size() - 2);
  return token;
}

Token Lexer::hex_float(unsigned digits, Constant::Kind kind) {
  const char* begin = cursor_;
  cursor_ += 2;
  std::uint64_t bits = 0;
  const char* first = cursor_;
  while (cursor_ < end_ && is(*cursor_, kHex)) ++cursor_;
  if (static_cast<unsigned>(cursor_ - first) != digits || (cursor_ < end_ && is(*cursor_, kInner)))
    return bad(begin, digits == 8 ? "0f needs exactly 8 hexadecimal digits"
                                  : "0d needs exactly 16 hexadecimal digits");
  std::from_chars(first, cursor_, bits, 16);
  Token token = make(TokenKind::number, begin);
  token.value = {kind, bits};
  return token;
}

Token Lexer::decimal_float() {
  const char* begin = cursor_;
  double value = 0;
  const auto [stop, problem] = std::from_chars(begin, end_, value);
  cursor_ = stop;
  if (cursor_ < end_ && is(*cursor_, kInner)) return bad(begin, "a number with trailing characters");
  if (problem != std::errc()) return bad(begin, "a floating-point number out of range");
  Token token = make(TokenKind::number, begin);
  token.value = {Constant::Kind::f64, std::bit_cast<std::uint64_t>(value)};
  return token;
}

Token Lexer::number() {
  const char* begin = cursor_;
  const char second = begin + 1 < end_ ? static_cast<char>(begin[1] | 0x20) : '\0';
  if (*begin == '0' && second == 'f') return hex_float(8, Constant::Kind::f32);
  if (*begin == '0' && second == 'd') return hex_float(16, Constant::Kind::f64);
  int base = 10;
  const char* first = begin;
  if (*begin == '0' && (second == 'x' || second == 'b')) {
    base = second == 'x' ? 16 : 2;
    first += 2;
  } else {
    const char* scan = begin;
    while (scan < end_ && is(*scan, kDigit)) ++scan;
    const bool point =
        scan < end_ && *scan == '.' && !(scan + 1 < end_ && is(scan[1], kStart) && (scan[1] | 0x20) != 'e');
    if (point || (scan < end_ && (*scan | 0x20) == 'e')) return decimal_float();
    if (*begin == '0') base = 8;
  }
  std::uint64_t bits = 0;
  const auto [stop, problem] = std::from_chars(first, end_, bits, base);
  cursor_ = problem == std::errc::invalid_argument ? first : stop;
  bool is_unsigned = false;
  if (cursor_ < end_ && *cursor_ == 'U') is_unsigned = true, ++cursor_;
  if (problem == std::errc::invalid_argument || (cursor_ < end_ && is(*cursor_, kInner))) {
    while (cursor_ < end_ && is(*cursor_, kInner)) ++cursor_;
    return bad(begin, "a malformed number");
  }
  if (problem != std::errc()) return bad(begin, "an integer of more than 64 bits");
  Token token = make(TokenKind::number, begin);
  token.value = {is_unsigned || bits >> 63 ? Constant::Kind::u64 : Constant::Kind::s64, bits};
  return token;
}

Token Lexer::symbol() {
  struct Pair {
    char first, second;
    std::uint16_t symbol;
  };
  static constexpr Pair kPairs[] = {
      {'<', '<', kShiftLeft}, {'>', '>', kShiftRight},   {'&', '&', kAndAnd}, {'|', '|', kOrOr},
      {'<', '=', kLessEqual}, {'>', '=', kGreaterEqual}, {'=', '=', kEqual},  {'!', '=', kNotEqual}};
  const char* begin = cursor_++;
  std::uint16_t symbol = static_cast<unsigned char>(*begin);
  if (cursor_ < end_ && (*cursor_ == *begin || *cursor_ == '=')) {
    for (const Pair& pair : kPairs) {
      if (pair.first != *begin || pair.second != *cursor_) continue;
      symbol = pair.symbol;
      ++cursor_;
      break;
    }
  }
  if (symbol < 0x20 || (symbol >= 0x7f && symbol < 256))
    return bad(begin, "a character that no PTX token starts with");
  Token token = make(TokenKind::symbol, begin);
  token.symbol = symbol;
  return token;
}

}  // namespace raddle::ptx
