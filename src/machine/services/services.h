// The calls from kernel code into the machine (exec::Services).
#pragma once

#include "exec/abi.h"
#include "exec/access.h"

namespace raddle::machine {
const exec::Services& services();

inline constexpr std::uint32_t kSeveralLanes = ~0u;  ///< touch memory at once: a fault names none of them

/// What the signal handler says of a service that touches the kernel's memory for a lane.
class Touching {
 public:
  Touching(exec::WarpContext* warp, std::uint32_t lane) : warp_(*warp), cta_(*warp->cta), lane_(lane) {
    cta_.running_lane = lane + 1;
    cta_.running_line = warp->line;
  }
  ~Touching() { cta_.running_lane = cta_.running_line = 0; }
  Touching(const Touching&) = delete;
  Touching& operator=(const Touching&) = delete;

  /// Memory that the kernel names. Fault: illegal_address where it may not go there.
  std::byte* memory(std::uint64_t address, std::uint64_t bytes, exec::AccessKind kind) const;

 private:
  exec::WarpContext& warp_;
  exec::CtaContext& cta_;
  const std::uint32_t lane_;
};
}  // namespace raddle::machine
