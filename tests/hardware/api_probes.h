// Calls of the driver API with good and bad arguments, each with the result that CUDA's documentation states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hardware/cuda_device.h"

namespace raddle::testing {

struct ApiProbe {
  std::string call;  ///< as a person writes it
  int expected;      ///< CUresult
  std::function<int()> run;
};

/// The probes, to be run in order: some need what earlier ones made.
std::vector<ApiProbe> api_probes(const CudaApi& api);

}  // namespace raddle::testing
