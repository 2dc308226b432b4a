// Whole files in memory.
#pragma once

#include <string>

#include "base/result.h"

namespace raddle {

/// All bytes of a file. @errors io
Result<std::string> read_file(const std::string& path);

}  // namespace raddle
