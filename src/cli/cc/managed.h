// Managed variables on the host. In generated code such a variable is a pointer that the runtime fills when
// it loads the module; clang 19 knows this for HIP alone, so it is done on LLVM's assembly of the host.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace raddle::cli {

/// Makes each variable with kManagedMark (cli/cc/annotations.h) a pointer, registers it as managed, and loads
/// the pointer wherever a function uses the variable's address.
/// @param code    LLVM's assembly of the host, before any optimisation
/// @param handle  the global variable that holds the module's handle: "@__cuda_gpubin_handle"
/// @errors unsupported: a global variable whose initial value is a managed variable's address
Result<std::string> lower_managed(std::string_view code, std::string_view handle);

}  // namespace raddle::cli
