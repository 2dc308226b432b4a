// Calls of kernels that are not the machine's own: it hands them to its client.
#pragma once

#include <cstdint>

#include "exec/abi.h"

namespace raddle::machine {

class KernelCalls {
 public:
  virtual ~KernelCalls() = default;
  /// exec::Services::device_runtime, on the stack of the kernel that calls: it may be abandoned wherever the
  /// kernel's memory is touched (Touching) or others may run meanwhile, so it holds and owns things only
  /// while its worker is Busy.
  virtual std::uint64_t call(exec::WarpContext* warp, std::uint32_t lane, std::uint32_t function,
                             const std::uint64_t* arguments) = 0;
};

}  // namespace raddle::machine
