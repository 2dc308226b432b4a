// NVIDIA's libdevice, the math functions `__nv_*` that compilers link into PTX, in PTX of our own: for
// modules that call them without holding them. The source is libdevice/libdevice.cu.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace raddle::linking {

constexpr std::string_view kLibdeviceName = "<raddle's libdevice>";
constexpr std::string_view kLibdevicePrefix = "__nv_";  ///< of its functions' names

/// All of it, as clang wrote it: about 350 functions, which is why only parts of it are parsed.
extern const std::string_view kLibdevice;

/// A module with these functions and what they call. Names that are no functions of libdevice are left out;
/// empty if all are.
std::string libdevice_module(const std::vector<std::string>& names);

}  // namespace raddle::linking
