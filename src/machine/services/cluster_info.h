// raddle_cluster_info of include/raddle/device.h: where a block is in its grid's clusters and on the machine
// (W-15).
#pragma once

#include <cstdint>

#include "machine/sm/block.h"

namespace raddle::machine {

/// @param value  a raddle::ClusterValue
/// @returns all ones where there is none
std::uint32_t cluster_info(const Block& block, std::uint32_t level, std::uint32_t value);

}  // namespace raddle::machine
