// The machine: distributor and workers put together, as a GPU is one for all programs that use it. Each user
// has an AddressSpace on it. It runs executables; it knows neither PTX nor CUDA. The runtime is its only
// client. Start reading at Worker (sm/worker.h) and LaunchControllers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "machine/context/context_switcher.h"
#include "machine/copy/copy_engines.h"
#include "machine/launch/launch_controllers.h"
#include "machine/mmu/mmu.h"
#include "machine/shape/machine_shape.h"
#include "machine/sm/worker.h"
#include "machine/tasks/grid_runner.h"
#include "machine/tasks/slice_clock.h"
#include "raddle/asynchrony.h"

namespace raddle::machine {

struct MachineOptions {
  MachineShape shape;
  std::string policy = "lake";  ///< of the work distributor, one of policy_names()
  DistributorOptions distributor;
  unsigned workers = 0;  ///< 0: one per usable core; never more than those unless pin is off
  bool pin = true;       ///< RADDLE_PIN=off overrides
  std::optional<std::uint64_t> deterministic;  ///< seed: one worker, seeded order; 0 keeps the natural order
  Asynchrony asynchrony;                       ///< of copies; all but eager only on deterministic machines
  MmuSpec mmu;                                 ///< of modelled spaces
  std::optional<ContextMode> contexts;         ///< how device contexts share it; none: it has one
  /// Of queued ones: looks of the clock (2 ms), or slices where that is deterministic, for which others wait
  /// at most until the selected one launches nothing more; and again for which they wait for what it runs.
  unsigned context_quantum = 8;
  LaunchRecorder* recorder = nullptr;  ///< of launches; outlives the machine
  /// Bytes of device memory of a machine that another process has: this one knows what fits it, and has no
  /// workers. 0: it is this process's.
  std::uint64_t elsewhere = 0;
};

class Machine;

/// Rung when there may be work: workers spin, then sleep on it.
struct Doorbell {
  alignas(64) std::atomic<std::uint32_t> epoch{0};
  alignas(64) std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> spinners{0};
  /// Changes while threads other than workers submit tasks, who may want a worker's core. A hint.
  alignas(64) std::atomic<std::uint32_t> submissions{0};
  /// @param workers  how many could use the work; as many are woken as do not spin already (or call this,
  ///                 about to look for work)
  /// @param launched  where a program's thread has launched, which may keep its core for long: workers of
  ///                  other cores are better; null: nobody has
  void ring(unsigned workers, const Machine* launched = nullptr);
  /// Called by a worker that took work and left some: wakes a sleeper. A spinner that ring() counted may have
  /// been about to take other work; so whoever takes some passes the bell on.
  void pass_on();
};

class Machine final : public GridRunner {
 public:
  /// @errors invalid, not_found: what the options ask for
  static Result<std::shared_ptr<Machine>> create(MachineOptions options);
  /// All address spaces are gone.
  ~Machine() override;

  const MachineOptions& options() const { return options_; }
  const MachineShape& shape() const { return options_.shape; }
  unsigned worker_count() const { return static_cast<unsigned>(workers_.size()); }
  const Worker& worker(unsigned i) const { return *workers_[i]; }
  std::uint64_t capacity() const { return capacity_; }  ///< bytes of device memory

  /// Made for the first modelled space. @errors out_of_memory
  Result<Mmu*> mmu();

  bool start(Task& task) override;
  bool stop(Task& task) override;
  void forget(const AddressSpace& space) override;
  /// A task's queue has changed, as LaunchControllers::follow. @returns whether the caller has to complete
  /// the task
  bool follow(Task& task);
  /// The SMs that an address space may use from now on (Distributor::confine).
  void confine(std::uint64_t space, const SmLimit& limit);
  /// What runs now, for who watches.
  Activity activity() { return launches_.activity(); }

  ContextSwitcher& contexts() { return contexts_; }
  /// Of a context that is selected: the grid goes to the distributor. @returns as start()
  bool launch(Task& task);

  /// The worker on the core of the calling thread, a program's, which may go on and launch more; null if none
  /// is pinned there.
  const Worker* neighbour_of_caller() const;

  // For workers.
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }
  LaunchControllers& launches() { return launches_; }
  CopyEngines& copy_engines() { return copy_engines_; }
  Doorbell& doorbell() { return doorbell_; }
  SliceClock& clock() { return clock_; }

 private:
  Machine(MachineOptions options, unsigned workers, std::vector<int> cpus, std::uint64_t capacity,
          std::unique_ptr<Policy> policy);
  bool end_slices();

  MachineOptions options_;
  const std::uint64_t capacity_;
  LaunchControllers launches_;
  CopyEngines copy_engines_;
  Doorbell doorbell_;
  ContextSwitcher contexts_;
  SliceClock clock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mmu_mutex_;
  std::shared_ptr<Mmu> mmu_;  // the recorder has it too
  std::atomic<bool> stopping_{false};
};

}  // namespace raddle::machine
