// Whole files in memory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace raddle {

/// All bytes of a file. @errors io
Result<std::string> read_file(const std::string& path);

/// Makes it, or replaces what it holds. @errors io
Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace raddle
