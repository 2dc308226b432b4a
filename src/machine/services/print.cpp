// See print.h. Each conversion is handed to snprintf by itself, with the argument fetched from the buffer.
#include "machine/services/print.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/round_up.h"
#include "machine/services/reach.h"

namespace raddle::machine {
namespace {

constexpr int kMostPadding = FormattedText::kMostPadding;

/// A string of the kernel's. Where addresses are the host's it is enough that it begins where the kernel may
/// read: behind the end of its memory nothing can be read. Else it is copied, page by page.
class KernelText {
 public:
  const char* at(FormattedText& out, const exec::CtaContext& cta, std::uint64_t address) {
    const Translated place = reach(cta, address, 1, exec::AccessKind::load);
    if (place.problem == MmuProblem::none && place.left == ~std::uint64_t{0})
      return reinterpret_cast<const char*>(place.host);
    std::size_t size = 0;
    for (Translated page = place; size < FormattedText::kCapacity;
         page = reach(cta, address + size, 1, exec::AccessKind::load)) {
      if (page.problem != MmuProblem::none) return out.forbid(address + size), "";
      const auto* const text = reinterpret_cast<const char*>(page.host);
      const std::size_t most = std::min<std::size_t>(page.left, FormattedText::kCapacity - size);
      const std::size_t length = strnlen(text, most);
      std::memcpy(copy_ + size, text, length);
      size += length;
      if (length < most) break;
    }
    copy_[size] = 0;
    return copy_;
  }

 private:
  char copy_[FormattedText::kCapacity + 1];
};

/// Fetches arguments at their natural alignment.
class Arguments {
 public:
  Arguments(FormattedText& out, const exec::CtaContext& cta, std::uint64_t address)
      : out_(out), cta_(cta), next_(address) {}
  template <class T>
  T take() {
    next_ = round_up(next_, sizeof(T));
    T value{};
    const Translated place = reach(cta_, next_, sizeof value, exec::AccessKind::load);
    if (place.problem == MmuProblem::none)
      std::memcpy(&value, place.host, sizeof value);
    else
      out_.forbid(next_);
    next_ += sizeof(T);
    ++count_;
    return value;
  }
  std::int32_t count() const { return count_; }

 private:
  FormattedText& out_;
  const exec::CtaContext& cta_;
  std::uint64_t next_;
  std::int32_t count_ = 0;
};

/// Flags, width and precision as given; sizes and the letter say which value it wants.
struct Conversion {
  static constexpr const char* kFlags = "-+ #0";
  unsigned flags = 0;   ///< mask over kFlags
  int width = 0;        ///< at most kMostPadding
  int precision = -1;   ///< at most kMostPadding; -1: none
  bool wide = false;    ///< 64-bit integer
  unsigned narrow = 0;  ///< h: 1, hh: 2
  char letter = 0;

  void set_width(int given) {
    if (given < 0) flags |= 1;  // -
    width = static_cast<int>(std::min<std::int64_t>(std::abs(std::int64_t{given}), kMostPadding));
  }
  bool is_left() const { return (flags & 1) != 0; }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits, or `*` and an argument. @returns `otherwise` where there is neither
int parse_number(const char*& p, Arguments& arguments, int otherwise) {
  if (*p == '*') return ++p, arguments.take<std::int32_t>();
  int number = is_digit(*p) ? 0 : otherwise;
  for (; is_digit(*p); ++p) number = std::min(number * 10 + (*p - '0'), kMostPadding);
  return number;
}

/// Parses behind '%'. @returns the character after the conversion
const char* parse(const char* p, Conversion& c, Arguments& arguments) {
  for (const char* flag; *p != 0 && (flag = std::strchr(Conversion::kFlags, *p)) != nullptr; ++p)
    c.flags |= 1u << (flag - Conversion::kFlags);
  c.set_width(parse_number(p, arguments, 0));
  if (*p == '.') {
    ++p;
    c.precision = std::clamp(parse_number(p, arguments, 0), -1, kMostPadding);
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
void print_value(FormattedText& out, const Conversion& c, const char* size, T value) {
  char spec[16] = "%";
  char* end = spec + 1;
  for (unsigned flag = 0; Conversion::kFlags[flag] != 0; ++flag)
    if ((c.flags >> flag & 1) != 0) *end++ = Conversion::kFlags[flag];
  for (const char* p = c.precision >= 0 ? "*.*" : "*"; *p != 0;) *end++ = *p++;
  while (*size != 0) *end++ = *size++;
  *end++ = c.letter;
  char text[kMostPadding + 512];  // a double has 309 digits before the point
  const int n = c.precision >= 0 ? std::snprintf(text, sizeof text, spec, c.width, c.precision, value)
                                 : std::snprintf(text, sizeof text, spec, c.width, value);
  if (n > 0) out.push(text, std::min<std::size_t>(static_cast<std::size_t>(n), sizeof text - 1));
}

void print_string(FormattedText& out, const exec::CtaContext& cta, const Conversion& c,
                  std::uint64_t address) {
  KernelText text;
  const char* source = address == 0 ? "(null)" : text.at(out, cta, address);
  std::size_t limit = c.precision >= 0 ? static_cast<std::size_t>(c.precision) : FormattedText::kCapacity;
  std::size_t n = 0;
  while (n < limit && source[n] != 0) ++n;
  const std::size_t width = static_cast<std::size_t>(c.width), padding = width > n ? width - n : 0;
  if (!c.is_left()) out.pad(padding);
  out.push(source, n);
  if (c.is_left()) out.pad(padding);
}

/// @returns false if there is no such conversion
bool print_conversion(FormattedText& out, const exec::CtaContext& cta, const Conversion& c,
                      Arguments& arguments) {
  const char* const size = c.wide ? "ll" : c.narrow == 0 ? "" : c.narrow == 1 ? "h" : "hh";
  switch (c.letter) {
    case 'd':
    case 'i':
      c.wide ? print_value(out, c, size, arguments.take<long long>())
             : print_value(out, c, size, arguments.take<int>());
      return true;
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      c.wide ? print_value(out, c, size, arguments.take<unsigned long long>())
             : print_value(out, c, size, arguments.take<unsigned>());
      return true;
    case 'c':
      return print_value(out, c, "", arguments.take<int>()), true;
    case 'p':
      return print_value(out, c, "", reinterpret_cast<void*>(arguments.take<std::uint64_t>())), true;
    case 's':
      return print_string(out, cta, c, arguments.take<std::uint64_t>()), true;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return print_value(out, c, "", arguments.take<double>()), true;
    default:
      return false;
  }
}

void push_string(FormattedText& out, const exec::CtaContext& cta, std::uint64_t address) {
  if (address == 0) return;
  KernelText text;
  for (const char* p = text.at(out, cta, address); !out.full() && *p != 0; ++p) out.push(*p);
}

}  // namespace

std::int32_t format_device_text(FormattedText& out, const exec::CtaContext& cta, std::uint64_t format,
                                std::uint64_t address) {
  Arguments arguments(out, cta, address);
  KernelText text;
  for (const char* p = text.at(out, cta, format); !out.full() && out.forbidden() == 0 && *p != 0;) {
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
    const char* const start = std::exchange(p, parse(p + 1, conversion, arguments));
    if (!print_conversion(out, cta, conversion, arguments))
      out.push(start, static_cast<std::size_t>(p - start));  // unknown: as written
  }
  return arguments.count();
}

void format_assertion(FormattedText& out, const exec::CtaContext& cta, std::uint64_t message,
                      std::uint64_t file, std::uint32_t line, std::uint64_t function,
                      const std::array<std::uint32_t, 3>& thread) {
  const std::uint32_t* const block = cta.ctaid;
  char text[160];
  push_string(out, cta, file);
  int n = std::snprintf(text, sizeof text, ":%u: ", line);
  out.push(text, static_cast<std::size_t>(n));
  push_string(out, cta, function);
  n = std::snprintf(text, sizeof text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", block[0],
                    block[1], block[2], thread[0], thread[1], thread[2]);
  out.push(text, static_cast<std::size_t>(n));
  push_string(out, cta, message);
  out.push("` failed.\n", 10);
}

}  // namespace raddle::machine
