// Opening the device that `run`, `compile` and `device` ask for.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "exec/matrix_arithmetic.h"
#include "machine/distributor/options.h"
#include "machine/distributor/placement_mode.h"
#include "machine/memory/translation.h"
#include "machine/mmu/mmu_spec.h"
#include "machine/tma/asynchrony.h"
#include "raddle/types.h"

namespace raddle::cli {

/// What was read of an option's text. @errors as there, behind the option's name
template <class T>
Result<T> of_option(const char* option, Result<T> parsed) {
  if (!parsed) parsed.error().message = std::string(option) + ": " + parsed.error().message;
  return parsed;
}

/// A list with commas between its parts.
inline std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// @errors invalid: names the option of the distributor
inline Result<DistributorOptions> distributor_options(const std::string& text) {
  return of_option("--distributor", machine::parse_distributor_options(text));
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
  TRY_ASSIGN(device.asynchrony, of_option("--async", machine::parse_asynchrony(options.asynchrony)));
  TRY_ASSIGN(device.matrix_arithmetic,
             of_option("--mma", exec::parse_matrix_arithmetic(options.matrix_arithmetic)));
  TRY_ASSIGN(device.translation, of_option("--mmu", machine::parse_translation(options.translation)));
  TRY_ASSIGN(device.placement, of_option("--placement", machine::parse_placement(options.placement)));
  TRY(of_option("--tlb", machine::parse_mmu_spec(options.tlb)));
  device.tlb = options.tlb;
  device.server = options.server;
  return device;
}

}  // namespace raddle::cli
