// Opening the device that `run`, `compile` and `device` ask for.
#pragma once

#include "cli/commands.h"
#include "raddle/types.h"

namespace raddle::cli {

inline DeviceOptions device_options(const MachineOptions& options) {
  DeviceOptions device;
  device.shape = options.shape;
  device.policy = options.policy;
  device.engine = options.engine;
  device.simd = options.simd;
  device.tier = options.tier;
  device.code_cache = options.code_cache;
  device.workers = options.workers;
  device.deterministic = options.deterministic;
  return device;
}

}  // namespace raddle::cli
