// The plain numbers of a shape file: keys, limits, and where they stand in a MachineShape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exec/abi.h"
#include "machine/shape/machine_shape.h"

namespace raddle::machine {

template <class Owner, class Number>
struct ShapeField {
  std::string_view key;
  Number Owner::* member;
  std::uint64_t least, most;
  bool bytes = false;  ///< may be written "64K"
};

inline constexpr std::uint64_t kMiB = 1u << 20;
inline constexpr std::uint32_t kMostSms = 65536;  ///< of one machine
inline constexpr ShapeField<SmLimits, std::uint32_t> kSmFields[] = {
    {"threads", &SmLimits::threads, exec::kWarpSize, 65536},
    {"warps", &SmLimits::warps, 1, 2048},
    {"cta_slots", &SmLimits::cta_slots, 1, 1024},
    {"registers", &SmLimits::registers, 1024, 16 * kMiB},
    {"shared_bytes", &SmLimits::shared_bytes, exec::kReservedShared, 1024 * kMiB, true},
    {"shared_per_block", &SmLimits::shared_per_block, 0, exec::kSharedWindow - exec::kReservedShared, true},
    {"threads_per_block", &SmLimits::threads_per_block, 1, 1024},
    {"barriers", &SmLimits::barriers, exec::kMaxBarriers, 65536},
    {"cluster_slots", &SmLimits::cluster_slots, 1, 1024},
};

/// The value of `"memory_bytes": "host"`, which is also the default.
inline constexpr std::string_view kHostMemory = "host";
inline constexpr std::uint64_t kAllMemory = ~0ull;
inline constexpr ShapeField<MachineShape, std::uint64_t> kMemoryField[] = {
    {"memory_bytes", &MachineShape::memory_bytes, kMiB, std::uint64_t{1} << 56, true}};

inline constexpr ShapeField<MachineShape, std::uint64_t> kByteFields[] = {
    {"constant_bytes", &MachineShape::constant_bytes, 1024, 1024 * kMiB, true},
    {"parameter_bytes", &MachineShape::parameter_bytes, 4, 32764, true},
    {"local_bytes_per_thread", &MachineShape::local_bytes_per_thread, 1024, kMiB / 2, true},
    {"cluster_memory_bytes", &MachineShape::cluster_memory_bytes, 256, 1024 * kMiB, true},
};

inline constexpr ShapeField<MachineShape, std::uint32_t> kCountFields[] = {
    {"cluster_ids_per_gpc", &MachineShape::cluster_ids_per_gpc, 0, 65536},
    {"cluster_memory_slots", &MachineShape::cluster_memory_slots, 0, 65536},
};

/// Key of the parts of a level: "gpcs".
inline std::string parts_key(Level level) { return std::string(level_name(level)) + "s"; }

}  // namespace raddle::machine
