// The machine: device memory, distributor, task scheduler and workers put together. It runs executables; it
// knows neither PTX nor CUDA. The runtime is its only client. Start reading at Worker (sm/worker.h) and
// LaunchControllers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "machine/launch/launch_controllers.h"
#include "machine/memory/device_heap.h"
#include "machine/memory/device_memory.h"
#include "machine/services/device_runtime.h"
#include "machine/services/output.h"
#include "machine/shape/machine_shape.h"
#include "machine/sm/worker.h"
#include "machine/tasks/host_thread.h"
#include "machine/tasks/slice_clock.h"
#include "machine/tasks/task_scheduler.h"
#include "machine/tasks/watcher.h"
#include "machine/texture/texture_unit.h"

namespace raddle::machine {

struct MachineOptions {
  MachineShape shape;
  std::string policy = "lake";  ///< of the work distributor, one of policy_names()
  DistributorOptions distributor;
  unsigned workers = 0;  ///< 0: one per usable core; never more than those unless pin is off
  bool pin = true;       ///< RADDLE_PIN=off overrides
  std::optional<std::uint64_t> deterministic;  ///< seed: one worker, seeded order; 0 keeps the natural order
  std::uint64_t heap_bytes = 8u << 20;         ///< kernels' malloc
  double memory_fraction = 0.8;                ///< of the host's memory
  Output::Sink output;                         ///< kernels' printf; none: stdout
  std::uint64_t print_bytes = 0;               ///< see Output
  LaunchRecorder* recorder = nullptr;          ///< of launches; outlives the machine
  DeviceRuntimeClient* device_runtime = nullptr;  ///< for kernels that launch kernels; outlives the machine
  std::uint32_t pending_launches = 2048;          ///< by kernels (cudaLimitDevRuntimePendingLaunchCount)
};

/// Rung when there may be work: workers spin, then sleep on it.
struct Doorbell {
  alignas(64) std::atomic<std::uint32_t> epoch{0};
  alignas(64) std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> spinners{0};
  /// @param workers  how many could use the work; as many are woken as do not spin already (or call this,
  /// about
  ///                 to look for work)
  void ring(unsigned workers);
  /// Called by a worker that took work and left some: wakes a sleeper. A spinner that ring() counted may have
  /// been about to take other work; so whoever takes some passes the bell on.
  void pass_on();
};

class Machine final : private TaskDispatcher {
 public:
  /// @errors invalid, not_found: what the options ask for; out_of_memory
  static Result<std::unique_ptr<Machine>> create(MachineOptions options);
  /// Waits for all submitted tasks.
  ~Machine() override;

  const MachineOptions& options() const { return options_; }
  const MachineShape& shape() const { return options_.shape; }
  unsigned worker_count() const { return static_cast<unsigned>(workers_.size()); }
  const Worker& worker(unsigned i) const { return *workers_[i]; }

  DeviceMemory& memory() { return memory_; }
  DeviceHeap& heap() { return heap_; }
  Output& output() { return output_; }
  TextureUnit& textures() { return textures_; }
  TaskScheduler& tasks() { return tasks_; }

  /// Whether a grid can run at all; before any block starts (K-10).
  /// @errors invalid, out_of_memory
  Result<void> check(const GridWork& grid);

  /// Whether kernels' malloc can have so much. @errors out_of_memory
  static Result<void> check_heap(std::uint64_t bytes);

  /// Stops a task: nothing more of it is started, what runs is abandoned at its next poll. The first fault
  /// counts and is sticky on the machine, but for `cancelled`.
  void stop_task(Task& task, exec::Fault fault);
  /// Nothing starts any more, for good: kernels stop at their next poll, what is submitted completes without
  /// being run. Returns at once; callbacks run on.
  void cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  std::optional<exec::Fault> failure() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  // For workers.
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  LaunchControllers& launches() { return launches_; }
  Doorbell& doorbell() { return doorbell_; }
  SliceClock& clock() { return clock_; }
  /// A task that ran out of time: the first of its warps that notices says where it was.
  void locate_stop(Block& block, const RawFault& where);
  exec::Fault describe_fault(Block& block, RawFault raw) const;
  exec::Fault out_of_memory_fault(const Task& task) const;

 private:
  Machine(MachineOptions options, unsigned workers, std::vector<int> cpus, std::uint64_t capacity,
          std::unique_ptr<Policy> policy);
  bool dispatch(Task& task) override;
  void stop_children(Task& task);
  void stop_late(Task& task);
  bool end_slices();
  Error too_large(const GridWork& grid, const GridKind& kind, const CtaNeeds& needs);
  Result<void> check_memory(const GridWork& grid, std::uint64_t blocks) const;
  Result<void> provide_cluster_memory(const GridWork& grid);
  std::string describe_address(const Block& block, const RawFault& raw) const;

  MachineOptions options_;
  DeviceMemory memory_;
  DeviceHeap heap_;
  Output output_;
  TextureUnit textures_;
  LaunchControllers launches_;
  Doorbell doorbell_;
  TaskScheduler tasks_;
  HostThread copies_, callbacks_, compilations_;
  Watcher watcher_;
  SliceClock clock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_{false}, failed_{false}, cancelled_{false};
  std::atomic<bool> given_up_{false};        // failed or cancelled: no work starts
  std::optional<DevicePtr> cluster_memory_;  // slots of cluster-wide memory (W-24), once a grid wanted one
  mutable std::mutex failure_mutex_;
  exec::Fault failure_;
};

}  // namespace raddle::machine
