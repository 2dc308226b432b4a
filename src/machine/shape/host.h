// What the host gives this process: cores it may run on, memory it may use. Honours affinity masks and cgroup
// limits.
#pragma once

#include <cstdint>
#include <string>
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
  unsigned l3_cpus = 0;                       ///< that share the third one; 0: unknown
};
CacheSizes cache_sizes();
/// CPUs in a list as /sys writes it: 4 in "0-2,8".
unsigned count_cpus(const std::string& list);
/// Bytes of the largest cache that a core of the host uses, as far as they are its own: a virtual machine of
/// two CPUs is told the size of a cache that 64 cores share. Whoever writes more in one go finds nothing of
/// its begin there at its end.
std::uint64_t largest_cache();
std::uint64_t largest_cache(const CacheSizes& sizes);
/// Most memory of the host that devices may have, all together.
std::uint64_t bytes_for_devices();

/// Pins the calling thread to one CPU. @returns false if the system refuses
bool pin_to_cpu(int cpu);

}  // namespace raddle::machine
