// Opening the device that `run` and `device` ask for.
#pragma once

#include "cli/commands.h"
#include "raddle/types.h"

namespace raddle::cli {

inline DeviceOptions device_options(const MachineOptions& options) {
  DeviceOptions device;
  device.shape = options.shape;
  device.engine = options.engine;
  device.simd = options.simd;
  device.workers = options.workers;
  device.deterministic = options.deterministic;
  return device;
}

}  // namespace raddle::cli
