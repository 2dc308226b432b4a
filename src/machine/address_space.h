// An address space: what one user of the machine has of it (a CUDA context, one Device of the C++ API).
// Memory, the heap and the printed text of its kernels, textures, tasks, and the fault that ends its work and
// nobody else's.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "machine/context/context_switcher.h"
#include "machine/machine.h"
#include "machine/memory/device_heap.h"
#include "machine/memory/device_memory.h"
#include "machine/memory/peer_memory.h"
#include "machine/mmu/paged_space.h"
#include "machine/services/kernel_calls.h"
#include "machine/services/output.h"
#include "machine/tasks/host_thread.h"
#include "machine/tasks/named_objects.h"
#include "machine/tasks/task_graph.h"
#include "machine/tasks/task_scheduler.h"
#include "machine/tasks/watcher.h"
#include "machine/texture/texture_unit.h"
#include "raddle/translation.h"

namespace raddle::machine {

class AddressSpace;

struct AddressSpaceOptions {
  std::uint64_t heap_bytes = 8u << 20;  ///< kernels' malloc
  Output::Sink output;                  ///< kernels' printf; none: stdout
  std::uint64_t print_bytes = 0;        ///< see Output
  KernelCalls* kernel_calls = nullptr;  ///< answers what kernels call; outlives the space. None: a fault
  Translation translation = Translation::direct;
  Bounds bounds = Bounds::exact;           ///< of its memory
  std::string context = {};                ///< the device context that it is in; "": the machine's first
  std::optional<PlacementMode> placement;  ///< of grids that name none; none: as the machine's policy has it
  SmLimit sm_limit;                        ///< which SMs its blocks may use, and how many at one time
  std::uint64_t window_bytes = 0;  ///< of addresses, for its memory alone; 0: with the others of the process
  std::uint64_t id = 0;  ///< of AddressSpace::next_id(), where several have the same memory; 0: a new one
  std::shared_ptr<DeviceSpace> window = nullptr;  ///< instead: one that it has together with other spaces
  GridRunner* runner = nullptr;                   ///< of its grids; outlives it. None: the machine
  DeviceSpace* launch_addresses = nullptr;        ///< for parameters of launches; none: with its memory
  unsigned device = 0;                            ///< its machine's number among the devices of the process
  bool reaches_shared = false;  ///< also from a window of its own: memory that all spaces know
  bool shares_managed = false;  ///< with other processors, whose touches of managed memory are counted
  /// Hears that a grid with a number is complete, on the thread that ends it. None: nobody does.
  std::function<void(AddressSpace&, Task&)> grid_ended = nullptr;
};

class AddressSpace final : private TaskDispatcher {
 public:
  /// @errors out_of_memory: the heap; addresses for a window; invalid: too small a window
  static Result<std::unique_ptr<AddressSpace>> open(std::shared_ptr<Machine> machine,
                                                    AddressSpaceOptions options);
  /// Waits for all submitted tasks.
  ~AddressSpace() override;

  Machine& machine() { return *machine_; }
  /// Its number, never another one's in this process but for those that have the same memory, never 0.
  std::uint64_t id() const { return id_; }
  static std::uint64_t next_id();
  /// %gridid of a grid that is about to be submitted; never another one's of this space.
  std::uint64_t next_grid_id() { return next_grid_id_.fetch_add(1, std::memory_order_relaxed); }
  /// As errors name it: "address space " and its ASID, or its number where it has none.
  std::string name() const;
  const AddressSpaceOptions& options() const { return options_; }
  /// Where its kernels may go by host addresses (exec/window.h): of a modelled space nowhere.
  exec::AddressRange window() const;
  /// Whether kernels that are launched now are to be compiled for a window although they have none, so that
  /// their touches of managed memory can be counted (ADR 89).
  bool counts_by_windows() const;
  /// Where what kernels let the machine copy has to lie.
  exec::AddressRange memory_range() const;
  DeviceContext& context() { return place_.context(); }
  /// Null: it is not modelled.
  PagedSpace* pages() { return pages_.get(); }
  /// What its kernels may access beside its own memory, where it has a window of its own.
  const PeerMemory& peers() const { return *peers_; }
  /// From now on its kernels may access another one's memory, or no more.
  void admit(const AddressSpace& peer);
  void dismiss(const AddressSpace& peer) { peers_->dismiss(peer.id()); }
  /// Whether its kernels may have the machine access memory.
  bool may_reach(std::uint64_t address, std::uint64_t bytes) const;
  DeviceMemory& memory() { return memory_; }
  DeviceHeap& heap() { return heap_; }
  Output& output() { return output_; }
  TextureUnit& textures() { return textures_; }
  TaskScheduler& tasks() { return tasks_; }
  NamedObjects<Condition>& conditions() { return conditions_; }
  /// That kernels may launch.
  NamedObjects<TaskGraph>& graphs() { return graphs_; }

  /// Another limit in place of AddressSpaceOptions::sm_limit, for blocks that are launched from now on. One
  /// call at a time. @errors invalid: names the SM
  Result<void> confine(const SmLimit& limit);

  /// Whether a grid can run at all; before any block starts (K-10).
  /// @errors invalid, out_of_memory
  Result<void> check(const GridWork& grid);

  /// Whether kernels' malloc can have that much. @errors out_of_memory
  static Result<void> check_heap(std::uint64_t bytes);

  // Queue tasks.
  /// Makes the queue of a task known by its record's address, from before its submission until it is
  /// complete.
  /// @errors invalid: another task has a queue of that record
  Result<void> announce_queue(Task& task);
  /// The task whose queue has a record, with a reference for the caller to release; null: there is none.
  Task* find_queue(std::uint64_t record);
  /// Appends to the queue of a task, which is not over yet or was a moment ago. @param entry, child  as of
  /// TaskQueue::append
  Append append(Task& task, const std::byte* entry, std::uint64_t child);
  void close_queue(Task& task);
  /// All of them: nobody is to wait for more entries.
  void close_queues();

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

  /// A copy or fill is over. For copy engines. @param fault  that ended it, or none
  void end_copy(Task& task, exec::Fault fault);

  // For workers.
  /// One worker's alone, so that no other one needs the cache line.
  struct alignas(64) BlockCount {
    std::atomic<std::uint64_t> completed{0};
    void add(std::uint64_t blocks) {
      completed.store(completed.load(std::memory_order_relaxed) + blocks, std::memory_order_relaxed);
    }
  };
  BlockCount& block_count(unsigned worker) { return block_counts_[worker]; }
  /// A task that ran out of time: the first of its warps that notices says where it was.
  void locate_stop(Block& block, const RawFault& where);
  exec::Fault describe_fault(Block& block, RawFault raw) const;
  static exec::Fault out_of_memory_fault(const Task& task);

 private:
  AddressSpace(std::shared_ptr<Machine> machine, AddressSpaceOptions options,
               std::unique_ptr<PeerMemory> peers, std::unique_ptr<PagedSpace> pages, ContextPlace place,
               std::shared_ptr<DeviceSpace> own_window);
  bool dispatch(Task& task) override;
  void submitted() override;
  void ended(Task& task) override;
  void begin_work(Task& task);
  void prepare_counting(Task& task);
  void refuse(Task& task);
  void steer(Task& task);
  void follow_queue(Task& task);
  void note_fault(Task& task, exec::Fault fault);
  void stop_children(Task& task);
  void stop_dependents(Task& task);
  Error too_large(const GridWork& grid, const GridKind& kind, const CtaNeeds& needs);
  Result<void> check_memory(const GridWork& grid, std::uint64_t blocks) const;
  Result<void> provide_cluster_memory(const GridWork& grid);
  std::string describe_address(const Block& block, const RawFault& raw) const;

  const std::uint64_t id_;
  const std::shared_ptr<Machine> machine_;
  const AddressSpaceOptions options_;
  const std::unique_ptr<PeerMemory> peers_;
  const std::unique_ptr<PagedSpace> pages_;
  const ContextPlace place_;                       // with `pages_`
  const std::shared_ptr<DeviceSpace> own_window_;  // null: its memory lies with the others of the process
  GridRunner& runner_;
  DeviceSpace& addresses_;
  DeviceMemory memory_;
  DeviceHeap heap_;
  Output output_;
  TextureUnit textures_;
  TaskScheduler tasks_;
  NamedObjects<Condition> conditions_;
  NamedObjects<TaskGraph> graphs_;
  HostThread callbacks_, compilations_;
  HostThread steering_;  // looks at the values of conditional work
  Watcher watcher_;
  std::mutex queues_mutex_;
  std::map<std::uint64_t, Task*> queues_;  // by their records' addresses
  bool is_confined_ = false;
  alignas(64) std::atomic<std::uint64_t> next_grid_id_{1};  // no line that workers read
  alignas(64) std::atomic<bool> failed_{false}, cancelled_{false};
  std::atomic<bool> given_up_{false};             // failed or cancelled: no work starts
  std::atomic<std::uint64_t> cluster_memory_{0};  // slots of cluster-wide memory (W-24), once wanted
  mutable std::mutex failure_mutex_;
  exec::Fault failure_;
  const std::unique_ptr<BlockCount[]> block_counts_;  // by worker
};

}  // namespace raddle::machine
