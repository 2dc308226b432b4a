// The machine's shape is data (W-1): how many SMs, in which hierarchy, and what one SM holds. Immutable once
// a machine runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::machine {

/// What one SM holds at once, and what one block may ask for.
struct SmLimits {
  std::uint32_t threads = 2048;
  std::uint32_t warps = 64;
  std::uint32_t cta_slots = 32;
  std::uint32_t registers = 65536;              ///< 32-bit
  std::uint32_t shared_bytes = 228u << 10;      ///< of all blocks, reserved parts included
  std::uint32_t shared_per_block = 227u << 10;  ///< static and dynamic
  std::uint32_t threads_per_block = 1024;
};

/// GPU -> GPC -> TPC -> SM. Levels between (uGPU, CPC) come with clusters.
struct MachineShape {
  std::string name;
  std::uint32_t capability = 90;            ///< compute capability * 10
  std::vector<std::uint32_t> tpcs_per_gpc;  ///< floor-swept parts have unlike GPCs
  std::uint32_t sms_per_tpc = 2;
  SmLimits sm;
  std::uint64_t memory_bytes = 0;  ///< device memory the model has; what is usable may be less
  std::uint64_t constant_bytes = 64u << 10;
  std::uint64_t parameter_bytes = 32764;  ///< of one launch (PTX ISA 8.1, sm_70 and later)
  std::uint64_t local_bytes_per_thread = 512u << 10;

  std::uint32_t sm_count() const;
};

/// @param name   h200, a100, tiny, host
/// @param cores  cores of the host, for `host`
/// @errors not_found: names the presets
Result<MachineShape> preset_shape(std::string_view name, unsigned cores);
std::vector<std::string> preset_names();

}  // namespace raddle::machine
