// Opening the device that `run`, `compile` and `device` ask for.
#pragma once

#include <string>

#include "cli/commands.h"
#include "exec/matrix_arithmetic.h"
#include "machine/distributor/options.h"
#include "machine/memory/translation.h"
#include "machine/tma/asynchrony.h"
#include "raddle/types.h"

namespace raddle::cli {

/// @errors invalid: names the option of the distributor
inline Result<DistributorOptions> distributor_options(const std::string& text) {
  Result<DistributorOptions> options = machine::parse_distributor_options(text);
  if (!options) options.error().message = "--distributor: " + options.error().message;
  return options;
}

/// @errors invalid: says what there is
inline Result<Asynchrony> asynchrony(const std::string& text) {
  Result<Asynchrony> parsed = machine::parse_asynchrony(text);
  if (!parsed) parsed.error().message = "--async: " + parsed.error().message;
  return parsed;
}

/// @errors invalid: says what there is
inline Result<MatrixArithmetic> matrix_arithmetic(const std::string& text) {
  Result<MatrixArithmetic> parsed = exec::parse_matrix_arithmetic(text);
  if (!parsed) parsed.error().message = "--mma: " + parsed.error().message;
  return parsed;
}

/// @errors invalid: says what there is
inline Result<Translation> translation(const std::string& text) {
  Result<Translation> parsed = machine::parse_translation(text);
  if (!parsed) parsed.error().message = "--mmu: " + parsed.error().message;
  return parsed;
}

/// @errors invalid
inline Result<DeviceOptions> device_options(const MachineOptions& options) {
  DeviceOptions device;
  device.shape = options.shape;
  device.policy = options.policy;
  TRY_ASSIGN(device.distributor, distributor_options(options.distributor));
  device.engine = options.engine;
  device.simd = options.simd;
  device.tier = options.tier;
  device.code_cache = options.code_cache;
  device.workers = options.workers;
  device.deterministic = options.deterministic;
  TRY_ASSIGN(device.asynchrony, asynchrony(options.asynchrony));
  TRY_ASSIGN(device.matrix_arithmetic, matrix_arithmetic(options.matrix_arithmetic));
  TRY_ASSIGN(device.translation, translation(options.translation));
  return device;
}

}  // namespace raddle::cli
