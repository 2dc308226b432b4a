// What `run` and `compile` share: extents of blocks, and how reports are put into words.
#pragma once

#include <string>

#include "base/result.h"
#include "raddle/raddle.h"

namespace raddle::cli {

/// "X[,Y[,Z]]". @errors invalid: names `what`
Result<Dim3> parse_dim3(const std::string& text, const char* what);

std::string time_text(double seconds);

/// " (from the code cache)", " (quick tier)", or empty.
std::string code_origin(const LaunchReport& report);

}  // namespace raddle::cli
