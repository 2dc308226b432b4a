// What `run` and `compile` share: block sizes, and how reports are put into words.
#pragma once

#include <string>

#include "base/result.h"
#include "raddle/raddle.h"

namespace raddle::cli {

/// "X[,Y[,Z]]". @errors invalid: names `what`
Result<Dim3> parse_dim3(const std::string& text, const char* what);

/// The block size where none is given: what the kernel was compiled for, else whole warps, enough of them to
/// fill vectors.
Dim3 suggested_block(const KernelInfo& info);

std::string time_text(double seconds);

/// " (from the code cache)", " (quick tier)", or empty.
std::string code_origin(const LaunchReport& report);

}  // namespace raddle::cli
