// The arithmetic of cp.reduce.async.bulk: reduces elements of a block onto memory, each by an atomic access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/bulk.h"
#include "exec/tensor_map.h"

namespace raddle::machine {

/// Applies the reduction to `bytes` bytes of elements at `to`, aligned to an element's size.
using ReduceBytes = void (*)(std::byte* to, const std::byte* from, std::uint32_t bytes);

/// @returns null where PTX has no such reduction
ReduceBytes reduction_of(exec::BulkReduction reduction, exec::BulkElement element);
/// Of elements of a tensor. @returns null where there is none, as on an H200
ReduceBytes reduction_of(exec::BulkReduction reduction, exec::TensorMap::Element element);

}  // namespace raddle::machine
