// What `raddle serve` gives its clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "raddle/types.h"

namespace raddle::serve {

/// A part of the machine, for those clients that name it.
struct InstanceOptions {
  std::string name;
  std::uint32_t gpcs = 0;          ///< whole ones
  std::uint32_t sms = 0;           ///< instead: whole TPCs of one GPC
  std::uint64_t memory_bytes = 0;  ///< of all its clients together
  unsigned clients = 0;            ///< at once; 0: as many as the server takes
};

/// "name=gpcs:2,memory:8G,clients:4", or sms instead of gpcs. @errors invalid: says what there is
Result<InstanceOptions> parse_instance(std::string_view text);

struct Limits {
  unsigned clients = 64;                     ///< at once
  std::uint64_t memory_bytes = 0;            ///< of each; 0: as much as the machine has
  std::uint32_t sms = 0;                     ///< that have its blocks at one time; 0: all
  std::chrono::milliseconds kernel_time{0};  ///< of each launch; 0: none
};

struct Options {
  std::string path;      ///< of the socket
  DeviceOptions device;  ///< the machine that all share, and how kernels run
  Limits limits;         ///< of each client
  std::vector<InstanceOptions> instances = {};
};

}  // namespace raddle::serve
