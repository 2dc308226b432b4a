#include "base/count.h"

#include <cstdlib>

namespace raddle {

Result<std::uint64_t> parse_count(const std::string& text) {
  char* end = nullptr;
  std::uint64_t count = std::strtoull(text.c_str(), &end, 10);
  std::string unit(static_cast<const char*>(end), text.c_str() + text.size());
  unsigned shift = unit == "K" || unit == "k" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  bool number = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (!number || (shift == 0 && !unit.empty()) || count > (~0ull >> shift))
    return Error::invalid("{} is no count (such as 1000, 64K, 1M)", text);
  return count << shift;
}

std::string format_count(std::uint64_t count) {
  constexpr const char* kUnits[] = {"", "K", "M", "G"};
  unsigned unit = 0;
  for (; unit < 3 && count != 0 && count % 1024 == 0; ++unit) count /= 1024;
  return fmt::format("{}{}", count, kUnits[unit]);
}

}  // namespace raddle
