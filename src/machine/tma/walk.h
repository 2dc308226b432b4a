// From a tensor map and coordinates to the rows of a block: where each lies in global and in shared memory,
// and what of it lies outside the tensor.
#pragma once

#include "machine/tma/job.h"

namespace raddle::machine {

/// Fills in the job's rows, dimensions, pixels and elements.
/// @param map  checked, of the mode and the rank that the request wants
/// @returns bytes of shared memory from the begin of the block to its end
std::uint64_t plan_walk(const exec::TensorMap& map, const exec::BulkRequest& request, TmaJob& job);

}  // namespace raddle::machine
