// Headers of NVIDIA's that programs include and Raddle does not have: which packages they come in, and where
// those are installed.
#pragma once

#include <string>
#include <string_view>

#include "cli/cc/process.h"

namespace raddle::cli {

/// Folders of headers, nearest first: of CUDA_HOME and CUDA_PATH, and of NVIDIA's packages for the Python
/// that VIRTUAL_ENV names or PATH finds.
Words package_includes();

/// A line about the header that clang did not find, if a package provides it; else empty.
/// @param errors  what clang said
std::string missing_header(std::string_view errors);

}  // namespace raddle::cli
