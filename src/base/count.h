// Counts and sizes as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace raddle {

/// "1000", "64K", "1M", "2G": units are powers of 1,024. @errors invalid
Result<std::uint64_t> parse_count(const std::string& text);

/// The shortest text that parse_count reads as that count.
std::string format_count(std::uint64_t count);

}  // namespace raddle
