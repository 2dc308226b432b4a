// The ways in which a kernel can go wrong (K-12).
#pragma once

#include <cstdint>

namespace raddle {

enum class FaultKind : std::uint32_t {
  none,
  illegal_address,
  misaligned_address,
  illegal_instruction,
  trap,
  assertion,
  stack_overflow,
  illegal_barrier,
  deadlock,
  timeout,
  cancelled,
  division,
  invalid_function,
  unsupported,
  out_of_memory,
  invalid_handle,           ///< of a texture or surface
  illegal_cluster_address,  ///< shared memory of a block of the cluster that is not there, or not so large
  server_lost,              ///< `raddle serve`, which ran it, has gone
  invalid_task              ///< a queue's entry names no record of a task, or one that cannot be launched
};

}  // namespace raddle
