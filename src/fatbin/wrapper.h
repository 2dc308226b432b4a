// Device code as a program hands it to the driver: an address without a length. What is there says how long
// it is.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::fatbin {

/// The bytes of an image in memory: PTX text up to its zero, a fat binary, or an ELF file; or of what a
/// wrapper (which nvcc makes for each translation unit) points to, several for code that was linked on the
/// device side.
/// @errors invalid: nothing of these
Result<std::vector<std::string_view>> images_at(const void* address);

}  // namespace raddle::fatbin
