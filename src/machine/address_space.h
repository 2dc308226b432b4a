// An address space: what one user of the machine has of it (a CUDA context, one Device of the C++ API).
// Memory, the heap and the printed text of its kernels, textures, tasks, and the fault that ends its work and
// nobody else's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "machine/machine.h"
#include "machine/memory/device_heap.h"
#include "machine/memory/device_memory.h"
#include "machine/services/kernel_calls.h"
#include "machine/services/output.h"
#include "machine/tasks/host_thread.h"
#include "machine/tasks/task_scheduler.h"
#include "machine/tasks/watcher.h"
#include "machine/texture/texture_unit.h"
#include "raddle/translation.h"

namespace raddle::machine {

struct AddressSpaceOptions {
  std::uint64_t heap_bytes = 8u << 20;  ///< kernels' malloc
  Output::Sink output;                  ///< kernels' printf; none: stdout
  std::uint64_t print_bytes = 0;        ///< see Output
  KernelCalls* kernel_calls = nullptr;  ///< answers what kernels call; outlives the space. None: a fault
  Translation translation = Translation::direct;
  std::uint64_t window_bytes = 0;  ///< of addresses, for its memory alone; 0: with the others of the process
};

class AddressSpace final : private TaskDispatcher {
 public:
  /// @errors out_of_memory: the heap; addresses for a window; invalid: too small a window
  static Result<std::unique_ptr<AddressSpace>> open(std::shared_ptr<Machine> machine,
                                                    AddressSpaceOptions options);
  /// Waits for all submitted tasks.
  ~AddressSpace() override;

  Machine& machine() { return *machine_; }
  std::uint64_t id() const { return id_; }  ///< never another one's in this process, never 0
  const AddressSpaceOptions& options() const { return options_; }
  /// Where its kernels may go (exec/window.h).
  exec::AddressRange window() const;
  DeviceMemory& memory() { return memory_; }
  DeviceHeap& heap() { return heap_; }
  Output& output() { return output_; }
  TextureUnit& textures() { return textures_; }
  TaskScheduler& tasks() { return tasks_; }

  /// Whether a grid can run at all; before any block starts (K-10).
  /// @errors invalid, out_of_memory
  Result<void> check(const GridWork& grid);

  /// Whether kernels' malloc can have that much. @errors out_of_memory
  static Result<void> check_heap(std::uint64_t bytes);

  /// Stops a task: nothing more of it is started, and its running blocks are abandoned at their next poll.
  /// The first fault counts and is sticky, but for `cancelled`.
  void stop_task(Task& task, exec::Fault fault);
  /// A task that ran past its time limit.
  void stop_late(Task& task);
  /// Nothing starts any more, for good: kernels stop at their next poll, and submitted tasks complete without
  /// being run. Returns at once; callbacks run on.
  void cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  std::optional<exec::Fault> failure() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  std::uint64_t blocks_completed() const;  ///< run to their end, on all workers

  // For workers.
  /// One worker's alone, so that no other one needs the cache line.
  struct alignas(64) BlockCount {
    std::atomic<std::uint64_t> completed{0};
    void add_one() {
      completed.store(completed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  };
  BlockCount& block_count(unsigned worker) { return block_counts_[worker]; }
  /// A task that ran out of time: the first of its warps that notices says where it was.
  void locate_stop(Block& block, const RawFault& where);
  exec::Fault describe_fault(Block& block, RawFault raw) const;
  static exec::Fault out_of_memory_fault(const Task& task);

 private:
  AddressSpace(std::shared_ptr<Machine> machine, AddressSpaceOptions options,
               std::unique_ptr<DeviceSpace> own_window);
  bool dispatch(Task& task) override;
  void refuse(Task& task);
  void stop_children(Task& task);
  void stop_dependents(Task& task);
  Error too_large(const GridWork& grid, const GridKind& kind, const CtaNeeds& needs);
  Result<void> check_memory(const GridWork& grid, std::uint64_t blocks) const;
  Result<void> provide_cluster_memory(const GridWork& grid);
  std::string describe_address(const Block& block, const RawFault& raw) const;

  const std::uint64_t id_;
  const std::shared_ptr<Machine> machine_;
  const AddressSpaceOptions options_;
  const std::unique_ptr<DeviceSpace> own_window_;  // null: its memory lies with the others of the process
  DeviceSpace& addresses_;
  DeviceMemory memory_;
  DeviceHeap heap_;
  Output output_;
  TextureUnit textures_;
  TaskScheduler tasks_;
  HostThread copies_, callbacks_, compilations_;
  Watcher watcher_;
  std::atomic<bool> failed_{false}, cancelled_{false};
  std::atomic<bool> given_up_{false};             // failed or cancelled: no work starts
  std::atomic<std::uint64_t> cluster_memory_{0};  // slots of cluster-wide memory (W-24), once wanted
  mutable std::mutex failure_mutex_;
  exec::Fault failure_;
  const std::unique_ptr<BlockCount[]> block_counts_;  // by worker
};

}  // namespace raddle::machine
