// Graphs on a device of Raddle's.
#pragma once

#include "graph/execution/backend.h"
#include "graph/execution/modules.h"

namespace raddle::graph {

/// @param device  outlives the backend
Result<std::unique_ptr<Backend>> make_device_backend(Device& device);

}  // namespace raddle::graph
