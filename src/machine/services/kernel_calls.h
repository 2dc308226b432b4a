// Calls of kernels that are not the machine's own: it hands them to its client.
#pragma once

#include <cstdint>

#include "exec/abi.h"

namespace raddle::machine {

class Task;

class KernelCalls {
 public:
  virtual ~KernelCalls() = default;
  /// exec::Services::device_runtime, on the stack of the kernel that calls: it may be abandoned wherever the
  /// kernel's memory is touched (Touching) or others may run meanwhile, so it holds and owns things only
  /// while its worker is Busy.
  virtual std::uint64_t call(exec::WarpContext* warp, std::uint32_t lane, std::uint32_t function,
                             const std::uint64_t* arguments) = 0;
  /// Launches the task of a record as a child of a queue task, one of whose entries names it; stops that task
  /// if it cannot. On the stack of a worker.
  virtual void launch_child(Task& parent, std::uint64_t record) = 0;
};

}  // namespace raddle::machine
