// Device code as a program hands it to the driver: an address without a length. The bytes there tell the
// length.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::fatbin {

/// The bytes of an image in memory: PTX text up to its zero, a fat binary, or an ELF file. nvcc makes a
/// wrapper for each translation unit: it gives what it points to, several images if the code was linked on
/// the device side.
/// @errors invalid: none of these
Result<std::vector<std::string_view>> images_at(const void* address);

}  // namespace raddle::fatbin
