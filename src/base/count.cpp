#include "base/count.h"

#include <charconv>
#include <cmath>

namespace raddle {
namespace {

/// Powers of two by their letter; -1: no such unit.
int shift_of(std::string_view unit) {
  if (unit.empty()) return 0;
  if (unit == "K" || unit == "k") return 10;
  if (unit == "M") return 20;
  return unit == "G" ? 30 : -1;
}

std::string range_text(std::uint64_t least, std::uint64_t most) {
  if (most == ~std::uint64_t{0}) return fmt::format("at least {}, below 2^64", least);
  return fmt::format("from {} to {}", least, most);
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = text.substr(is_hexadecimal ? 2 : 0);
  std::uint64_t count = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), count, is_hexadecimal ? 16 : 10);
  const int shift = shift_of(digits.substr(static_cast<std::size_t>(end - digits.data())));
  if (error == std::errc::invalid_argument || shift < 0)
    return Error::invalid("'{}' is no count (such as 1000, 64K, 1M)", text);
  const bool overflows = error != std::errc() || count > ~std::uint64_t{0} >> shift;
  if (overflows || count << shift < least || count << shift > most)
    return Error::invalid("{} is out of range: it may be {}", text, range_text(least, most));
  return count << shift;
}

Result<double> parse_real(std::string_view text, double least, double most) {
  const bool is_negative = text.starts_with('-');
  std::string_view digits = text.substr(is_negative || text.starts_with('+') ? 1 : 0);
  const bool is_hexadecimal = digits.starts_with("0x");
  if (is_hexadecimal) digits.remove_prefix(2);
  double value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value,
                      is_hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size() || std::signbit(value))
    return Error::invalid("'{}' is no number (such as 2, 0.5, 1e-3)", text);
  if (is_negative) value = -value;
  if (error != std::errc() || !(value >= least && value <= most))
    return Error::invalid("{} is out of range: it may be from {} to {}", text, least, most);
  return value;
}

std::string format_count(std::uint64_t count) {
  constexpr const char* kUnits[] = {"", "K", "M", "G"};
  unsigned unit = 0;
  for (; unit < 3 && count != 0 && count % 1024 == 0; ++unit) count /= 1024;
  return fmt::format("{}{}", count, kUnits[unit]);
}

}  // namespace raddle
