// See print.h. Each conversion is handed to snprintf by itself, with the argument fetched from the buffer.
#include "machine/services/print.h"

#include <cstdio>
#include <cstring>

namespace raddle::machine {
namespace {

/// Fetches arguments at their natural alignment.
class Arguments {
 public:
  explicit Arguments(std::uint64_t address) : next_(address) {}
  template <class T>
  T take() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof value);
    next_ += sizeof(T);
    ++count_;
    return value;
  }
  std::int32_t count() const { return count_; }

 private:
  std::uint64_t next_;
  std::int32_t count_ = 0;
};

struct Conversion {
  char spec[32] =
      "%";  // flags, width and precision, as snprintf wants them; the size and letter are added per type
  std::size_t length = 1;
  bool wide = false;    // 64-bit integer
  unsigned narrow = 0;  // h: 1, hh: 2
  char letter = 0;
  int precision = -1;

  void add(char c) {
    if (length < sizeof spec - 4) spec[length++] = c;
  }
  void add_number(int value) {
    char digits[16];
    const int n = std::snprintf(digits, sizeof digits, "%d", value);
    for (int i = 0; i < n; ++i) add(digits[i]);
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Parses behind '%'. @returns the character after the conversion
const char* parse(const char* p, Conversion& c, Arguments& arguments) {
  for (; *p != 0 && std::strchr("-+ #0", *p) != nullptr; ++p) c.add(*p);
  if (*p == '*') {
    c.add_number(arguments.take<std::int32_t>());
    ++p;
  }
  for (; is_digit(*p); ++p) c.add(*p);
  if (*p == '.') {
    ++p;
    c.precision = 0;
    if (*p == '*') {
      c.precision = arguments.take<std::int32_t>();
      ++p;
    }
    for (; is_digit(*p); ++p) c.precision = c.precision * 10 + (*p - '0');
    if (c.precision >= 0) {
      c.add('.');
      c.add_number(c.precision);
    }
  }
  for (; *p != 0 && std::strchr("hlLqjzt", *p) != nullptr; ++p) {
    if (*p == 'h') {
      ++c.narrow;
    } else {
      c.wide = true;  // long is 64-bit on every host that Raddle supports
    }
  }
  c.letter = *p;
  return *p == 0 ? p : p + 1;
}

template <class T>
void print_value(FormattedText& out, Conversion& c, const char* size, T value) {
  while (*size != 0) c.spec[c.length++] = *size++;
  c.spec[c.length++] = c.letter;
  c.spec[c.length] = 0;
  char text[1024];  // a double with 300 digits and a width fit
  const int n = std::snprintf(text, sizeof text, c.spec, value);
  if (n > 0)
    out.push(text, static_cast<std::size_t>(n) < sizeof text ? static_cast<std::size_t>(n) : sizeof text - 1);
}

void print_string(FormattedText& out, Conversion& c, std::uint64_t address) {
  char text[1024];
  const char* source = address == 0 ? "(null)" : reinterpret_cast<const char*>(address);
  const std::size_t limit = c.precision >= 0 ? static_cast<std::size_t>(c.precision) : ~std::size_t{0};
  std::size_t n = 0;
  while (n < limit && n < sizeof text - 1 && source[n] != 0) ++n;
  if (n == sizeof text - 1) {  // long: no width can matter
    for (n = 0; n < limit && source[n] != 0; ++n) out.push(source[n]);
    return;
  }
  std::memcpy(text, source, n);
  text[n] = 0;
  print_value(out, c, "", static_cast<const char*>(text));
}

void print_conversion(FormattedText& out, Conversion& c, Arguments& arguments) {
  switch (c.letter) {
    case 'd':
    case 'i':
      if (c.wide) return print_value(out, c, "ll", arguments.take<long long>());
      return print_value(out, c, c.narrow == 0 ? "" : c.narrow == 1 ? "h" : "hh", arguments.take<int>());
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      if (c.wide) return print_value(out, c, "ll", arguments.take<unsigned long long>());
      return print_value(out, c, c.narrow == 0 ? "" : c.narrow == 1 ? "h" : "hh", arguments.take<unsigned>());
    case 'c':
      return print_value(out, c, "", arguments.take<int>());
    case 'p':
      return print_value(out, c, "", reinterpret_cast<void*>(arguments.take<std::uint64_t>()));
    case 's':
      return print_string(out, c, arguments.take<std::uint64_t>());
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return print_value(out, c, "", arguments.take<double>());
    default:  // unknown: as written
      out.push(c.spec, c.length);
      if (c.letter != 0) out.push(c.letter);
  }
}

void push_string(FormattedText& out, std::uint64_t address) {
  for (auto* p = reinterpret_cast<const char*>(address); p != nullptr && *p != 0; ++p) out.push(*p);
}

}  // namespace

std::int32_t format_device_text(FormattedText& out, std::uint64_t format, std::uint64_t address) {
  Arguments arguments(address);
  for (auto* p = reinterpret_cast<const char*>(format); *p != 0;) {
    if (*p != '%') {
      out.push(*p++);
      continue;
    }
    if (p[1] == '%') {
      out.push('%');
      p += 2;
      continue;
    }
    Conversion conversion;
    p = parse(p + 1, conversion, arguments);
    print_conversion(out, conversion, arguments);
  }
  return arguments.count();
}

void format_assertion(FormattedText& out, std::uint64_t message, std::uint64_t file, std::uint32_t line,
                      std::uint64_t function, const std::uint32_t (&block)[3],
                      const std::array<std::uint32_t, 3>& thread) {
  char text[160];
  push_string(out, file);
  int n = std::snprintf(text, sizeof text, ":%u: ", line);
  out.push(text, static_cast<std::size_t>(n));
  push_string(out, function);
  n = std::snprintf(text, sizeof text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", block[0],
                    block[1], block[2], thread[0], thread[1], thread[2]);
  out.push(text, static_cast<std::size_t>(n));
  push_string(out, message);
  out.push("` failed.\n", 10);
}

}  // namespace raddle::machine
