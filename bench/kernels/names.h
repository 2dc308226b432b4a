// What rows and systems are called, for the command line and for tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parameters.h"

namespace bench {

/// In the order of the table.
std::span<const Kernel> all_kernels();
std::string_view kernel_name(Kernel kernel);

/// "raddle-jit"; "raddle-windowed" (docs/isolation.md); "raddle-avx512", "raddle-avx2", "raddle-sse42":
/// with vectors no wider; "pocl"; "openmp", and "openmp-avx512" and so on; "library": the best library for
/// a kernel, if there is one.
std::span<const std::string_view> system_names();

}  // namespace bench
