// How the addresses of kernels become memory.
#pragma once

#include <cstdint>

namespace raddle {

enum class Translation : std::uint8_t {
  direct,    ///< a kernel's address is the host's; what the host has mapped, a stray access can hit
  windowed,  ///< the same addresses, but an access outside the device's memory is a fault, whatever lies there
  modelled,  ///< page tables and TLBs as a GPU has them, in software: an access leads where its page says
};

/// Of a TLB or a cache.
struct Hits {
  std::uint64_t hits = 0, misses = 0;

  Hits& operator+=(const Hits& other) { return hits += other.hits, misses += other.misses, *this; }
  Hits& operator-=(const Hits& other) { return hits -= other.hits, misses -= other.misses, *this; }
  bool operator==(const Hits&) const = default;
};

/// What has been counted for a modelled device; a lane's access is one.
struct TranslationCounts {
  Hits sm_tlbs, gpc_tlbs;               ///< all SMs', all GPCs'; what misses there, the walker finds
  Hits copy_engine_tlbs;                ///< all copy engines'
  Hits virtual_caches, physical_cache;  ///< of lines, where they are modelled
  /// Accesses of SMs to managed memory that found no page and were set aside; accesses that were made again.
  std::uint64_t managed_faults = 0, replays = 0;
};

}  // namespace raddle
