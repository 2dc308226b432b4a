// What kernels ask of their task and its queue (include/raddle/device.h).
#pragma once

#include <cstdint>

#include "machine/sm/worker.h"
#include "raddle/task_record.h"

namespace raddle::machine {

/// One call, of a lane. Like KernelCalls::call it may be abandoned where it touches the kernel's memory.
class QueueCall {
 public:
  /// @param arguments  as the functions of the header have them
  QueueCall(exec::WarpContext* warp, std::uint32_t lane, const std::uint64_t* arguments);

  std::uint64_t task_record() const { return own_.grid().record; }
  std::uint64_t position() const;
  std::uint64_t entry() const;
  Append append() const;
  Append append_task() const;
  Append close() const;

 private:
  /// Does something with the task whose queue the call names. @returns refused if there is none
  template <class Act>
  Append with_queue(const Act& act) const;

  exec::WarpContext* warp_;
  const std::uint32_t lane_;
  const std::uint64_t* arguments_;
  const Block& block_;
  Task& own_;
};

}  // namespace raddle::machine
