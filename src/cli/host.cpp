// Reads the host's description from /proc, /sys and the processor itself; limits as the machine sees them.
#include "cli/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "machine/shape/host.h"

namespace raddle::cli {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Value of the first "key : value" or "key: value" line of a /proc file.
std::string field(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    auto value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

unsigned physical_cores(const std::vector<int>& processors) {
  std::set<std::pair<std::string, std::string>> cores;
  for (int processor : processors) {
    fs::path topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology", processor);
    std::string core = first_line(topology / "core_id");
    if (core.empty()) return static_cast<unsigned>(processors.size());
    cores.emplace(first_line(topology / "physical_package_id"), core);
  }
  return static_cast<unsigned>(cores.size());
}

void read_vector_unit(Host& host) {
  auto found = [&](const char* name, unsigned bits) {
    host.vector_unit = name;
    host.vector_bits = bits;
  };
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return found("AVX-512", 512);
  if (__builtin_cpu_supports("avx2")) return found("AVX2", 256);
  if (__builtin_cpu_supports("sse4.2")) return found("SSE4.2", 128);
  found("SSE2", 128);
#elif defined(__aarch64__)
  found("NEON", 128);
#else
  found("none", 0);
#endif
}

void read_gpus(Host& host) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    host.gpus.push_back(field(entry.path() / "information", "Model"));
  std::sort(host.gpus.begin(), host.gpus.end());
}

}  // namespace

Host describe_host() {
  Host host;
  host.processor = field("/proc/cpuinfo", "model name");
  if (host.processor.empty()) host.processor = "unknown processor";
  const machine::HostInfo limits = machine::host_info();
  host.processors = static_cast<unsigned>(limits.cpus.size());
  host.usable_cores = limits.usable_cores;
  host.memory = limits.memory_bytes;
  host.cores = physical_cores(limits.cpus);
  const machine::CacheSizes caches = machine::cache_sizes();
  host.l1_data = caches.l1_data, host.l2 = caches.l2, host.l3 = caches.l3;
  read_vector_unit(host);
  read_gpus(host);
  return host;
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  return value == static_cast<double>(static_cast<std::uint64_t>(value))
             ? fmt::format("{} {}", static_cast<std::uint64_t>(value), kUnits[unit])
             : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string to_string(const Host& host) {
  auto cache = [](const char* name, std::uint64_t size) {
    return size ? fmt::format(", {} {}", name, human_bytes(size)) : std::string();
  };
  std::string text = fmt::format("{}, {} core{}", host.processor, host.cores, host.cores == 1 ? "" : "s");
  if (host.processors != host.cores) text += fmt::format(" ({} hardware threads)", host.processors);
  if (host.usable_cores < host.processors) text += fmt::format(", limited to {}", host.usable_cores);
  text += fmt::format(", {} ({} lanes of f32)", host.vector_unit, host.vector_bits / 32);
  text += cache("L1d", host.l1_data) + cache("L2", host.l2) + cache("L3", host.l3);
  text += fmt::format(", {} of memory", human_bytes(host.memory));
  if (host.gpus.empty()) return text + ", no GPU";
  for (const std::string& gpu : host.gpus) text += ", " + gpu;
  return text;
}

nlohmann::ordered_json to_json(const Host& host) {
  return {{"processor", host.processor},
          {"cores", host.cores},
          {"hardware_threads", host.processors},
          {"usable_cores", host.usable_cores},
          {"vector_unit", host.vector_unit},
          {"vector_bits", host.vector_bits},
          {"l1_data_bytes", host.l1_data},
          {"l2_bytes", host.l2},
          {"l3_bytes", host.l3},
          {"memory_bytes", host.memory},
          {"gpus", host.gpus}};
}

}  // namespace raddle::cli
