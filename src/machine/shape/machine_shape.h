// The machine's shape is data (W-1): how many SMs, in which hierarchy, and what one SM holds. Immutable once
// a machine runs. Files: shape_file.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "raddle/cluster.h"

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
  std::uint32_t barriers = 512;      ///< named barriers of all blocks
  std::uint32_t cluster_slots = 32;  ///< clusters of which it may hold CTAs at once
  bool operator==(const SmLimits&) const = default;
};

using raddle::Level;
inline constexpr unsigned kLevels = 7;
std::string_view level_name(Level level);  ///< "set", "gpu", "ugpu", ...
/// @errors not_found: names the levels
Result<Level> find_level(std::string_view name);

/// One part of the machine: SMs [first_sm, first_sm + sm_count). SMs are numbered through the hierarchy, so
/// every domain is a range.
struct Domain {
  std::uint32_t first_sm = 0, sm_count = 0;
  std::uint32_t parent = 0;  ///< index among the domains of the level above
  bool operator==(const Domain&) const = default;
};

/// Set -> GPU -> uGPU -> GPC -> CPC -> TPC -> SM, any number at each level, unlike siblings allowed (W-1).
struct MachineShape {
  std::string name;
  std::string notes;              ///< for people: which parts are documented, measured, inferred
  std::uint32_t capability = 90;  ///< compute capability * 10
  SmLimits sm;
  std::uint64_t memory_bytes = 0;  ///< device memory of the model; less may be usable
  std::uint64_t constant_bytes = 64u << 10;
  std::uint64_t parameter_bytes = 32764;  ///< of one launch (PTX ISA 8.1, sm_70 and later)
  std::uint64_t local_bytes_per_thread = 512u << 10;
  /// Pool of local cluster ids of a GPC, each with a barrier slot (W-16); 0: as many as its SMs have cluster
  /// slots.
  std::uint32_t cluster_ids_per_gpc = 0;
  std::uint32_t cluster_memory_slots = 64;         ///< of cluster-wide memory in global memory (W-24)
  std::uint64_t cluster_memory_bytes = 64u << 10;  ///< of one such slot

  std::span<const Domain> domains(Level level) const { return levels_[static_cast<unsigned>(level)]; }
  std::uint32_t sm_count() const { return static_cast<std::uint32_t>(domains(Level::sm).size()); }
  /// Index of the domain of a level that an SM is in.
  std::uint32_t domain_of(Level level, std::uint32_t sm) const {
    return domain_of_[static_cast<unsigned>(level)][sm];
  }

  /// CTAs of the largest cluster that a program may count on (W-13): 8 where a GPC has 4 TPCs. In a
  /// smaller shape, the size that always fits: one CTA on each SM of its largest GPC.
  std::uint32_t largest_portable_cluster() const;
  /// A warning for whoever loads the shape; empty: none.
  std::string warning() const;

  /// Appends a domain that holds everything added until its `close`; SMs are closed at once. Every level must
  /// be there: a machine without uGPUs has one per GPU.
  void open(Level level);
  void close(Level level);
  void add_sms(std::uint32_t count);  ///< to the open TPC
  /// The machine that these of its SMs make, in ascending order: what holds none of them is not there.
  MachineShape part(std::span<const std::uint32_t> sms) const;
  bool operator==(const MachineShape&) const = default;

 private:
  std::array<std::vector<Domain>, kLevels> levels_;
  std::array<std::vector<std::uint32_t>, kLevels> domain_of_;
};

/// @param name   h200, a100, tiny, host
/// @param cores  cores of the host, for `host`
/// @errors not_found: names the presets
Result<MachineShape> preset_shape(std::string_view name, unsigned cores);
std::vector<std::string> preset_names();

}  // namespace raddle::machine
