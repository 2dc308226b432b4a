// Fills, for nodes of graphs.
#pragma once

#include "driver/process.h"

namespace raddle::driver {

/// The fill that a node describes, checked. CUDA_ERROR_INVALID_VALUE
Answer<RowFill> fill_of(const std::shared_ptr<Context>& context, const CUDA_MEMSET_NODE_PARAMS& params);

}  // namespace raddle::driver
