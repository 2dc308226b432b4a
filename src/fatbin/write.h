// Writing fat binaries: what `raddle cc` embeds in a program, read back by container.h and by libcuda.
#pragma once

#include <string>
#include <string_view>

#include "fatbin/container.h"

namespace raddle::fatbin {

/// A container with one module of PTX, stored.
/// @param capability  90 for sm_90
/// @param version     of the PTX: {8, 5}
std::string write_ptx(std::string_view ptx, std::uint32_t capability, Feature feature,
                      const std::uint16_t (&version)[2]);

}  // namespace raddle::fatbin
