// Relocatable device code, -rdc=true: functions and variables of other files. Nothing links PTX when a
// program is built: each object carries its module, the program registers all of them as one (the code that
// does is in raddle/cuda/relocatable.h), and whatever loads that one links it. So that the host's linker
// takes what is needed from archives and reports what is missing or there twice, each object defines a symbol
// for every device function and variable that it defines, and refers to those that it lacks.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace raddle::cli {

/// Names that only their file may use, of kernels and variables that the host registers, with what clang
/// appended to make them unique: "_ZL1x" -> "_ZL1x__static__a7a592fe00_059a4aa7".
/// @param host  LLVM's assembly of the host, by -fgpu-rdc
std::map<std::string, std::string> unique_names(std::string_view host);

/// PTX in which the names are unique.
std::string with_names(std::string_view ptx, const std::map<std::string, std::string>& names);

/// LLVM's assembly of the host with this container, registered by raddle/cuda/relocatable.h, and with the
/// symbols of the device code.
/// @errors invalid: PTX that cannot be read
Result<std::string> make_relocatable(std::string_view host, std::string_view ptx, std::string_view container);

}  // namespace raddle::cli
