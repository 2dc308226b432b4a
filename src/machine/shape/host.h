// What the host gives this process: cores it may run on, memory it may use. Honours affinity masks and cgroup
// limits.
#pragma once

#include <cstdint>
#include <vector>

namespace raddle::machine {

struct HostInfo {
  std::vector<int> cpus;            ///< in the affinity mask of this process
  unsigned usable_cores = 1;        ///< the mask's size, or the cgroup's quota where that is smaller
  std::uint64_t l1_data_bytes = 0;  ///< of one core
  std::uint64_t memory_bytes = 0;   ///< RAM, or the cgroup's limit where that is smaller
};
HostInfo host_info();
struct CacheSizes {
  std::uint64_t l1_data = 0, l2 = 0, l3 = 0;  ///< bytes, as seen by one core; 0: none or unknown
};
CacheSizes cache_sizes();
/// Bytes of the largest cache that a core of the host uses. Whoever writes more in one go finds nothing of
/// its begin there at its end.
std::uint64_t largest_cache();
/// Most memory of the host that devices may have, all together.
std::uint64_t bytes_for_devices();

/// Pins the calling thread to one CPU. @returns false if the system refuses
bool pin_to_cpu(int cpu);

}  // namespace raddle::machine
