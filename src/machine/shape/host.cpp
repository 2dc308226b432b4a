// Reads /proc and /sys once; every limit that is absent counts as none.
#include "machine/shape/host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace raddle::machine {
namespace {

/// First line of a file, empty if it cannot be read.
std::string first_line(const char* path) {
  char line[256] = {};
  if (FILE* file = std::fopen(path, "r")) {
    if (std::fgets(line, sizeof line, file) == nullptr) line[0] = 0;
    std::fclose(file);
  }
  return line;
}

/// "32K", "2048K", "105M" as /sys writes cache sizes.
std::uint64_t parse_size(const std::string& text) {
  char* unit = nullptr;
  const std::uint64_t value = std::strtoull(text.c_str(), &unit, 10);
  return *unit == 'M' ? value << 20 : *unit == 'K' ? value << 10 : value;
}

std::vector<int> affinity_cpus() {
  std::vector<int> cpus;
  for (int size = 1024; size <= 1 << 16; size *= 2) {  // grows until the kernel's mask fits
    cpu_set_t* set = CPU_ALLOC(size);
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; ok && cpu < size; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (ok) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

/// Cores granted by a cgroup-v2 quota "max 100000" or "150000 100000"; 0 without a limit.
unsigned quota_cores() {
  const std::string text = first_line("/sys/fs/cgroup/cpu.max");
  char* end = nullptr;
  const double quota = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return 0;
  const double period = std::strtod(end, nullptr);
  return period <= 0 ? 0 : std::max(1u, static_cast<unsigned>((quota + period - 1) / period));
}

std::uint64_t cgroup_memory() {
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::string text = first_line(path);
    char* end = nullptr;
    const std::uint64_t limit = std::strtoull(text.c_str(), &end, 10);
    if (end != text.c_str() && limit != 0) return limit;
  }
  return ~0ull;
}

}  // namespace

HostInfo host_info() {
  HostInfo info;
  info.cpus = affinity_cpus();
  info.usable_cores = static_cast<unsigned>(info.cpus.size());
  if (const unsigned quota = quota_cores(); quota != 0)
    info.usable_cores = std::min(info.usable_cores, quota);
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);  // 0 or -1 where the system does not say
  info.l1_data_bytes = l1 > 0 ? static_cast<std::uint64_t>(l1) : 32u << 10;
  const auto ram =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  info.memory_bytes = std::min(ram, cgroup_memory());
  return info;
}

/// By /sys: where machines are virtual, what the processor itself says may be that of many.
CacheSizes cache_sizes() {
  CacheSizes sizes;
  const std::string caches =
      "/sys/devices/system/cpu/cpu" + std::to_string(affinity_cpus().front()) + "/cache/index";
  for (char index = '0'; index <= '9'; ++index) {
    const auto line = [&](const char* name) { return first_line((caches + index + "/" + name).c_str()); };
    if (line("type").starts_with("Instruction")) continue;
    const std::string level = line("level");
    std::uint64_t* const size = level.starts_with('1')   ? &sizes.l1_data
                                : level.starts_with('2') ? &sizes.l2
                                : level.starts_with('3') ? &sizes.l3
                                                         : nullptr;
    if (size != nullptr) *size = parse_size(line("size"));
    if (size == &sizes.l3) sizes.l3_cpus = count_cpus(line("shared_cpu_list"));
  }
  return sizes;
}

unsigned count_cpus(const std::string& list) {
  unsigned long cpus = 0;
  const char* at = list.c_str();
  for (char* end = nullptr;; at = end + 1) {
    const unsigned long first = std::strtoul(at, &end, 10);
    if (end == at) break;
    cpus += *end == '-' ? std::strtoul(end + 1, &end, 10) + 1 - first : 1;
    if (*end != ',') break;
  }
  return static_cast<unsigned>(cpus);
}

std::uint64_t largest_cache(const CacheSizes& sizes) {
  constexpr std::uint64_t kUnknown = 32u << 20, kMostOfCpu = 16u << 20;  // a processor has 2 to 12 MiB a core
  const std::uint64_t third = sizes.l3_cpus == 0 ? sizes.l3 : std::min(sizes.l3, sizes.l3_cpus * kMostOfCpu);
  const std::uint64_t largest = std::max({sizes.l1_data, sizes.l2, third});
  return largest != 0 ? largest : kUnknown;
}

std::uint64_t largest_cache() {
  static const std::uint64_t bytes = largest_cache(cache_sizes());
  return bytes;
}

std::uint64_t bytes_for_devices() {
  constexpr double kPart = 0.8;  // the rest is the program's and the system's
  return static_cast<std::uint64_t>(static_cast<double>(host_info().memory_bytes) * kPart);
}

bool pin_to_cpu(int cpu) {
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const bool ok = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return ok;
}

}  // namespace raddle::machine
