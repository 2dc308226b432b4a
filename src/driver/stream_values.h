// Operations on values in memory, for nodes of graphs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "driver/process.h"

namespace raddle::driver {

/// One or neither.
struct MemoryOperation {
  std::optional<WordCondition> wait;
  std::optional<RowFill> write;
};

/// What cuStreamBatchMemOp would do, checked. CUDA_ERROR_INVALID_VALUE
Answer<std::vector<MemoryOperation>> memory_operations(const std::shared_ptr<Context>& context,
                                                       std::span<const CUstreamBatchMemOpParams> params,
                                                       unsigned flags);

}  // namespace raddle::driver
