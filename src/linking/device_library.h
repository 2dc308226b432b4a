// Functions that programs call as NVIDIA's libcudadevrt.a defines them, and that take no service of the
// machine: PTX of our own, linked into modules that declare them.
#pragma once

#include <string_view>

namespace raddle::linking {

constexpr std::string_view kDeviceLibraryName = "<raddle's device library>";

/// The barrier of a cooperative grid under its old names: cudaCGGetIntrinsicHandle, cudaCGSynchronize,
/// cudaCGSynchronizeGrid, cudaCGGetSize, cudaCGGetRank, as CUDA declares them for device code.
extern const std::string_view kDeviceLibrary;

}  // namespace raddle::linking
