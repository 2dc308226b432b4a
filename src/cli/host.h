// What this process sees of its host: cores it may use, vector units, caches, memory, GPUs (K-8).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace raddle::cli {

struct Host {
  std::string processor;      ///< name as the kernel gives it
  unsigned cores = 0;         ///< physical cores among the processors that this process may run on
  unsigned processors = 0;    ///< hardware threads that this process may run on
  unsigned usable_cores = 0;  ///< what affinity mask and cgroup quota leave; as many workers run kernels
  std::string vector_unit;    ///< "AVX-512", "AVX2", "SSE4.2", "NEON", ...
  unsigned vector_bits = 0;
  std::uint64_t l1_data = 0, l2 = 0, l3 = 0;  ///< bytes, as seen by one core; 0: none or unknown
  std::uint64_t memory = 0;                   ///< bytes; the cgroup's limit where that is smaller
  std::vector<std::string> gpus;              ///< real GPUs: models, as far as the kernel tells
};

Host describe_host();

/// One line for people.
std::string to_string(const Host& host);

nlohmann::ordered_json to_json(const Host& host);

/// "48 KiB", "2 MiB", "1.5 GiB".
std::string human_bytes(std::uint64_t bytes);

}  // namespace raddle::cli
