// Numbers as people write them: the one reader of numbers in command lines, environment and shape files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace raddle {

/// "1000", "0x3e8", "64K", "1M", "2G": units are powers of 1,024. The number is the whole text: no sign,
/// no space. @errors invalid: quotes the text and says what is allowed; nothing wraps around or saturates
Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least = 0,
                                  std::uint64_t most = ~std::uint64_t{0});

/// "0.5", "-2", "1e-3", "inf" if that is in the range; never "nan". @errors as of parse_count
Result<double> parse_real(std::string_view text, double least, double most);

/// The shortest text that parse_count reads as that count.
std::string format_count(std::uint64_t count);

}  // namespace raddle
