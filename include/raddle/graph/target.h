// What a schedule is for (G-19).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "raddle/raddle.h"

namespace raddle::graph {

struct Target {
  enum class Kind : std::uint8_t {
    device,        ///< Raddle's modelled GPU
    compute_only,  ///< the same without graphics: draws are refused before anything runs
    host,          ///< the host's processor: a device of the shape "host"
    gpu,           ///< a real GPU: Executor::open_gpu; without graphics
  };
  Kind kind = Kind::device;
  std::string name = "device";
  std::uint32_t sm_count = 1, threads_per_sm = 2048, blocks_per_sm = 32, registers_per_sm = 65536;
  std::uint64_t shared_bytes_per_sm = 228 << 10;
  std::uint64_t memory_bytes = std::uint64_t{1} << 40;  ///< for transient resources
  double bytes_per_nanosecond = 10;                     ///< of memory, for estimates
  unsigned workers = 1;                                 ///< threads that run kernels
  unsigned copy_engines = 1;
  bool has_graphics = true;
  bool has_parts_of_grids = true;  ///< as LaunchConfig::part: launches can be split

  /// @errors invalid: host, of a device of another shape; gpu, which is none of Raddle's devices
  static Result<Target> of(const Device& device, Kind kind = Kind::device);
  /// "device", "compute", "host", "gpu". @errors not_found
  static Result<Kind> parse(std::string_view name);
  /// How many blocks of a kernel an SM holds at once.
  std::uint32_t resident_blocks(const KernelInfo& kernel, const LaunchConfig& config) const;
};

}  // namespace raddle::graph
