// One call of the device runtime at a time, for one thread. What may fault touches the kernel's memory before
// or after anything is locked; everything else happens while the worker counts as busy. Long, as CUDA has so
// many of them.
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include "base/assert.h"
#include "machine/address_space.h"
#include "machine/memory/device_copy.h"
#include "machine/services/cluster_info.h"
#include "machine/services/queue_calls.h"
#include "machine/services/services.h"
#include "machine/tasks/children.h"
#include "ptx/device_services.h"
#include "runtime/device_runtime.h"

namespace raddle {
namespace {

using machine::Children;
using machine::Task;
using machine::TaskScheduler;
using machine::Touching;
using machine::Worker;

/// Streams that are no handles: all three default streams are the block's own, in order.
constexpr std::uint64_t kLastDefaultStream = 2, kTailLaunch = 3, kFireAndForget = 4;
constexpr std::uint64_t kFirstNumber = 0x100;         ///< of streams and events that kernels make
constexpr std::uint64_t kBlockStream = 1ull << 63;    ///< with the block's index: its default stream
constexpr std::uint64_t kMostParameterBytes = 32764;  ///< of any kernel
constexpr std::uint32_t kNonBlocking = 1, kDisableTiming = 2;
/// Streams that only graphs are launched into: behind the graph that the kernel is of, as a part of it, or
/// beside it.
constexpr std::uint64_t kGraphTail = 1ull << 56, kGraphFireAndForget = 2ull << 56, kGraphSibling = 3ull << 56;

class Call {
 public:
  Call(DeviceRuntime& runtime, exec::WarpContext* warp, std::uint32_t lane, const std::uint64_t* arguments)
      : runtime_(runtime),
        warp_(warp),
        block_(*static_cast<machine::Block*>(warp->cta->machine)),
        worker_(*block_.worker),
        space_(*block_.task->grid().space),
        lane_(lane),
        arguments_(arguments) {}

  std::uint64_t run(ptx::DeviceRuntimeFunction function);

 private:
  std::uint64_t argument(unsigned k) const { return arguments_[k]; }
  std::uint32_t word(unsigned k) const { return static_cast<std::uint32_t>(arguments_[k]); }
  Children& family() { return block_.task->family(); }
  machine::ThreadOfGrid thread() const {
    return {block_.run.first, warp_->warp_id * exec::kWarpSize + lane_};
  }

  template <class T>
  DeviceError give(unsigned k, const T& value) {
    const Touching touching(warp_, lane_);
    std::memcpy(touching.memory(argument(k), sizeof value, exec::AccessKind::store), &value, sizeof value);
    return DeviceError::success;
  }
  /// Remembers what went wrong for the thread's cudaGetLastError.
  std::uint64_t result(DeviceError error);
  int last_error(bool forget);
  std::uint64_t error_text(bool name);

  std::uint64_t get_parameter_buffer();
  std::optional<DeviceError> compile_elsewhere(const ChildLaunch& launch, Task& child);
  DeviceError launch();
  std::uint64_t get_plain_parameter_buffer();
  DeviceError launch_plainly();
  Task* take_prepared(Children& family, std::uint64_t buffer);
  DeviceError launch(Task& child, std::uint64_t stream);
  DeviceError synchronize();
  DeviceError submit(Children& family, Task& child, std::uint64_t stream);
  /// A copy or a fill.
  template <class Moves>
  DeviceError submit_moves(std::uint64_t stream, Moves moves);
  /// A client's memory is known to its process only; is_own() has looked at the range.
  machine::MemoryRows memory(unsigned k) const {
    return {space_.options().window != nullptr ? nullptr : &space_, argument(k)};
  }
  using Named = std::map<std::uint64_t, Task*> Children::*;  // its streams or its events
  DeviceError create(Named named, std::uint32_t only_flags);
  DeviceError destroy(Named named);
  DeviceError event_record();
  DeviceError wait_event();
  bool is_own(unsigned k, std::uint64_t bytes) const;
  DeviceError memcpy_async();
  DeviceError memset_async();
  DeviceError allocate();
  DeviceError free();
  DeviceError attribute();
  DeviceError limit();
  DeviceError occupancy();
  DeviceError set_conditional();
  DeviceError launch_graph();
  machine::QueueCall queue_call() const { return {warp_, lane_, arguments_}; }
  Task** stream_of(Children& family, std::uint64_t stream);
  void replace(Task*& slot, Task* task);

  DeviceRuntime& runtime_;
  exec::WarpContext* warp_;
  machine::Block& block_;
  Worker& worker_;
  machine::AddressSpace& space_;
  std::uint32_t lane_;
  const std::uint64_t* arguments_;
};

std::uint64_t Call::result(DeviceError error) {
  if (error != DeviceError::success) {
    const Worker::Busy busy(worker_);
    Children& mine = family();
    const std::lock_guard lock(mine.mutex);
    mine.last_errors[thread()] = static_cast<int>(error);
  }
  return static_cast<std::uint64_t>(error);
}

std::uint64_t Call::error_text(bool name) {
  const Worker::Busy busy(worker_);
  return runtime_.error_text(static_cast<int>(word(0)), name);
}

int Call::last_error(bool forget) {
  const Worker::Busy busy(worker_);
  Children& mine = family();
  const std::lock_guard lock(mine.mutex);
  const auto found = mine.last_errors.find(thread());
  if (found == mine.last_errors.end()) return 0;
  const int error = found->second;
  if (forget) mine.last_errors.erase(found);
  return error;
}

std::uint32_t& answer_of(Task& job) { return std::get<machine::CallWork>(job.work).answer; }

// The compiler needs more stack than a warp has, and time: other warps run meanwhile. This block may be
// abandoned while it waits, so what the other thread touches is the tasks' own.
std::optional<DeviceError> Call::compile_elsewhere(const ChildLaunch& launch, Task& child) {
  TaskScheduler& tasks = space_.tasks();
  Task* job;
  {
    const Worker::Busy busy(worker_);
    job = tasks.acquire();
    tasks.retain(child);
    auto compile = [&space = space_, &runtime = runtime_, &child, launch, job] {
      const auto error = runtime.prepare(launch, child, true);
      answer_of(*job) = static_cast<std::uint32_t>(error.value_or(DeviceError::not_supported));
      space.tasks().release(&child);
    };
    job->work = machine::CallWork{std::move(compile), machine::CallWork::Thread::compilations};
    tasks.adopt(*block_.task, *job, 0);  // what the compiler reads lives as long as the launching grid
    tasks.hold(*block_.task);
    tasks.submit(*job, {});
  }
  const bool one_order = worker_.machine()
                             .options()
                             .deterministic.has_value();  // others running would depend on how long it takes
  while (!one_order && !job->done()) worker_.yield(block_, warp_);
  const Worker::Busy busy(worker_);
  job->wait();
  const auto error = static_cast<DeviceError>(answer_of(*job));
  tasks.release(job);
  return error;
}

std::uint64_t Call::get_parameter_buffer() {
  const ChildLaunch launch{block_.task->grid().owner,
                           argument(0),
                           {word(1), word(2), word(3)},
                           {word(4), word(5), word(6)},
                           word(7)};
  Task* child;
  std::optional<DeviceError> error;
  {
    const Worker::Busy busy(worker_);
    child = space_.tasks().acquire();
    error = runtime_.prepare(launch, *child, false);
  }
  if (!error) error = compile_elsewhere(launch, *child);
  const Worker::Busy busy(worker_);
  if (*error != DeviceError::success) {
    space_.tasks().release(child);
    return result(*error), 0;
  }
  Children& mine = family();
  const std::lock_guard lock(mine.mutex);
  const std::uint64_t address = child->parameter_buffer();
  mine.prepared.emplace(address, child);
  return address;
}

/// Where a stream's last task is kept; null: there is no such stream. The family is locked.
Task** Call::stream_of(Children& mine, std::uint64_t stream) {
  if (stream <= kLastDefaultStream) return &mine.streams[kBlockStream | block_.run.first];
  const auto found = mine.streams.find(stream);
  return found == mine.streams.end() || stream >= kBlockStream ? nullptr : &found->second;
}

void Call::replace(Task*& slot, Task* task) {
  if (task != nullptr) space_.tasks().retain(*task);
  space_.tasks().release(std::exchange(slot, task));
}

// Takes over the reference to the child.
DeviceError Call::submit(Children& mine, Task& child, std::uint64_t stream) {
  TaskScheduler& tasks = space_.tasks();
  Task* before = nullptr;
  {
    const std::lock_guard lock(mine.mutex);
    const bool ordered = stream != kTailLaunch && stream != kFireAndForget;
    Task** last = ordered ? stream_of(mine, stream) : nullptr;
    if (ordered && last == nullptr) return tasks.release(&child), DeviceError::invalid_resource_handle;
    child.priority = block_.task->priority;
    if (!tasks.adopt(*block_.task, child, DeviceRuntime::kPendingLaunches))
      return tasks.release(&child), DeviceError::launch_pending_count_exceeded;
    if (stream == kTailLaunch) return mine.tail.push_back(&child), DeviceError::success;
    tasks.hold(*block_.task);
    child.counted = &mine.unfinished[block_.run.first];
    child.counted->fetch_add(1, std::memory_order_relaxed);
    if (ordered) {
      if ((before = *last) != nullptr) tasks.retain(*before);
      replace(*last, &child);
    }
    tasks.retain(child);
    mine.remember(&child, [&](Task* done) { tasks.release(done); });
    // Who stops the parent sets its `stop` before it looks for children.
    if (block_.task->stop.load(std::memory_order_seq_cst) != 0) {
      child.fault.kind = exec::FaultKind::cancelled;
      child.stop.store(static_cast<std::uint32_t>(exec::FaultKind::cancelled), std::memory_order_relaxed);
    }
  }
  Task* const after[] = {before};
  tasks.submit(child, after);
  tasks.release(before);
  tasks.release(&child);
  return DeviceError::success;
}

/// @returns null: no grid was prepared with that buffer
Task* Call::take_prepared(Children& mine, std::uint64_t buffer) {
  const std::lock_guard lock(mine.mutex);
  const auto found = mine.prepared.find(buffer);
  if (found == mine.prepared.end()) return nullptr;
  Task* const child = found->second;
  mine.prepared.erase(found);
  return child;
}

DeviceError Call::launch(Task& child, std::uint64_t stream) {
  // From here on no kernel writes them.
  if (!child.take_parameter_buffer()) return space_.tasks().release(&child), DeviceError::memory_allocation;
  return submit(family(), child, stream);
}

DeviceError Call::launch() {
  const Worker::Busy busy(worker_);
  Task* const child = take_prepared(family(), argument(0));
  return child == nullptr ? DeviceError::invalid_value : launch(*child, argument(1));
}

/// The first form: the buffer has the size that the caller wants, and the launch names the kernel.
std::uint64_t Call::get_plain_parameter_buffer() {
  const Worker::Busy busy(worker_);
  Task* const child = space_.tasks().acquire();
  if (argument(1) > kMostParameterBytes || !child->provide_parameter_buffer(argument(1))) {
    space_.tasks().release(child);
    return result(DeviceError::memory_allocation), 0;
  }
  Children& mine = family();
  const std::lock_guard lock(mine.mutex);
  mine.prepared.emplace(child->parameter_buffer(), child);
  return child->parameter_buffer();
}

DeviceError Call::launch_plainly() {
  Task* child;
  std::optional<DeviceError> error;
  ChildLaunch launch{block_.task->grid().owner,
                     argument(0),
                     {word(2), word(3), word(4)},
                     {word(5), word(6), word(7)},
                     word(8)};
  {
    const Worker::Busy busy(worker_);
    child = take_prepared(family(), argument(1));
    if (child == nullptr) return DeviceError::invalid_value;
    launch.provided = child->parameter_bytes();
    error = runtime_.prepare(launch, *child, false);
  }
  if (!error) error = compile_elsewhere(launch, *child);
  const Worker::Busy busy(worker_);
  if (*error != DeviceError::success) return space_.tasks().release(child), *error;
  return this->launch(*child, argument(9));
}

/// Waits for all that the block has launched but for tails. Children that fail end their parent, too.
DeviceError Call::synchronize() {
  if (block_.task->distribution.kind.has_local_ids()) return DeviceError::not_supported;
  const std::atomic<std::uint64_t>* children;
  {
    const Worker::Busy busy(worker_);
    Children& mine = family();
    const std::lock_guard lock(mine.mutex);
    children = &mine.unfinished[block_.run.first];
  }
  worker_.wait_for_children(block_, *warp_, *children);
  return DeviceError::success;
}

template <class Moves>
DeviceError Call::submit_moves(std::uint64_t stream, Moves moves) {
  const Worker::Busy busy(worker_);
  if (!check(moves)) return DeviceError::invalid_value;
  Task* child = space_.tasks().acquire();
  child->work = std::move(moves);
  return submit(family(), *child, stream);
}

/// @param only_flags  that kernels may make such a thing with
DeviceError Call::create(Named named, std::uint32_t only_flags) {
  if (word(1) != only_flags) return DeviceError::invalid_value;
  std::uint64_t number;
  {
    const Worker::Busy busy(worker_);
    Children& mine = family();
    const std::lock_guard lock(mine.mutex);
    number = kFirstNumber + mine.next_number++;
    (mine.*named).emplace(number, nullptr);
  }
  return give(0, number);
}

DeviceError Call::destroy(Named named) {
  const Worker::Busy busy(worker_);
  Children& mine = family();
  const std::lock_guard lock(mine.mutex);
  auto& all = mine.*named;
  const auto found = all.find(argument(0));
  if (found == all.end() || found->first >= kBlockStream) return DeviceError::invalid_resource_handle;
  space_.tasks().release(found->second);
  all.erase(found);
  return DeviceError::success;
}

DeviceError Call::event_record() {
  const Worker::Busy busy(worker_);
  Children& mine = family();
  const std::lock_guard lock(mine.mutex);
  const auto event = mine.events.find(argument(0));
  Task** last = stream_of(mine, argument(1));
  if (event == mine.events.end() || last == nullptr) return DeviceError::invalid_resource_handle;
  replace(event->second, *last);
  return DeviceError::success;
}

// A marker in the stream, that waits for the stream and for the event's task.
DeviceError Call::wait_event() {
  const Worker::Busy busy(worker_);
  TaskScheduler& tasks = space_.tasks();
  Children& mine = family();
  Task *marker, *after[2];
  {
    const std::lock_guard lock(mine.mutex);
    const auto event = mine.events.find(argument(1));
    Task** last = stream_of(mine, argument(0));
    if (event == mine.events.end() || last == nullptr) return DeviceError::invalid_resource_handle;
    after[0] = *last, after[1] = event->second;
    for (Task* task : after)
      if (task != nullptr) tasks.retain(*task);
    marker = tasks.acquire();
    replace(*last, marker);
  }
  tasks.submit(*marker, after);
  for (Task* task : after) tasks.release(task);
  tasks.release(marker);
  return DeviceError::success;
}

/// Whether a copy may touch memory. The machine makes it, and could reach more than the kernel.
bool Call::is_own(unsigned k, std::uint64_t bytes) const { return space_.may_reach(argument(k), bytes); }

DeviceError Call::memcpy_async() {
  if (!is_own(0, argument(2)) || !is_own(1, argument(2))) return DeviceError::invalid_value;
  return submit_moves(argument(4), machine::CopyWork{memory(0), memory(1), argument(2)});
}

DeviceError Call::memset_async() {
  if (!is_own(0, argument(2))) return DeviceError::invalid_value;
  return submit_moves(argument(3),
                      machine::FillWork{.to = memory(0), .word = word(1) & 0xff, .width = argument(2)});
}

DeviceError Call::allocate() {
  const std::uint64_t address = machine::services().malloc(warp_, argument(1));
  if (address == 0 && argument(1) != 0) return DeviceError::memory_allocation;
  return give(0, address);
}

DeviceError Call::free() {
  if (argument(0) != 0) machine::services().free(warp_, argument(0));
  return DeviceError::success;
}

DeviceError Call::attribute() {
  if (word(2) != runtime_.ordinal()) return DeviceError::invalid_device;
  std::optional<int> value;
  {
    const Worker::Busy busy(worker_);
    value = runtime_.attribute(static_cast<int>(word(1)));
  }
  return value ? give(0, *value) : DeviceError::invalid_value;
}

DeviceError Call::limit() {
  constexpr int kOfPendingLaunches = 4;
  const int which = static_cast<int>(word(1));
  std::optional<std::uint64_t> value = DeviceRuntime::kPendingLaunches;
  if (which != kOfPendingLaunches) value = runtime_.limit(which);
  return value ? give(0, *value) : DeviceError::unsupported_limit;
}

DeviceError Call::occupancy() {
  const ChildLaunch launch{block_.task->grid().owner, argument(1), {1, 1, 1}, {word(2), 1, 1}, argument(3)};
  std::uint32_t blocks = 0;
  DeviceError error;
  {
    const Worker::Busy busy(worker_);
    error = runtime_.blocks_per_sm(launch, blocks);
  }
  return error == DeviceError::success ? give(0, blocks) : error;
}

DeviceError Call::set_conditional() {
  const Worker::Busy busy(worker_);
  const std::shared_ptr<machine::Condition> condition = space_.conditions().find(argument(0));
  if (condition == nullptr) return DeviceError::invalid_value;
  condition->value.store(word(1), std::memory_order_release);
  return DeviceError::success;
}

/// The graph that a task is a part of, itself or by its parents; null: of none.
Task* graph_around(Task* task) {
  while (task != nullptr && !std::holds_alternative<machine::GraphWork>(task->work)) task = task->parent;
  return task;
}

DeviceError Call::launch_graph() {
  const Worker::Busy busy(worker_);
  TaskScheduler& tasks = space_.tasks();
  const std::shared_ptr<machine::TaskGraph> graph = space_.graphs().find(argument(0));
  Task* const around = graph_around(block_.task->parent);
  if (graph == nullptr || around == nullptr) return DeviceError::invalid_value;
  const std::uint64_t stream = argument(1);
  if (stream != kGraphTail && stream != kGraphFireAndForget && stream != kGraphSibling)
    return DeviceError::invalid_value;
  // What the host waits for is the graph that it has launched, so that one's siblings are parts of it.
  Task* const outer = graph_around(around->parent);
  Task* whole = stream == kGraphSibling && outer != nullptr ? outer : around;
  auto& here = *std::get_if<machine::GraphWork>(&around->work);
  // A graph that is behind itself begins when it is over: its claim goes on to that launch.
  const bool is_behind_itself = stream == kGraphTail && here.graph == graph;
  if (is_behind_itself && outer != nullptr) whole = outer;  // so that a chain of them is no tower
  const bool is_claimed =
      is_behind_itself ? std::atomic_ref(here.is_claimed).exchange(false) : graph->claim();
  if (!is_claimed) return DeviceError::invalid_value;
  Task* const launch = tasks.acquire();
  launch->work = machine::GraphWork{.graph = graph, .is_claimed = true};
  tasks.add_part(*whole, *launch, stream == kGraphTail);
  tasks.release(launch);
  return DeviceError::success;
}

std::uint64_t Call::run(ptx::DeviceRuntimeFunction function) {
  using F = ptx::DeviceRuntimeFunction;
  constexpr int kRuntimeVersion = 13000;
  switch (function) {
    case F::get_parameter_buffer:
      return get_parameter_buffer();
    case F::launch_device:
      return result(launch());
    case F::get_plain_parameter_buffer:
      return get_plain_parameter_buffer();
    case F::launch_device_plainly:
      return result(launch_plainly());
    case F::synchronize:
    case F::synchronize_without_warning:
      return result(synchronize());
    case F::stream_create:
      return result(create(&Children::streams, kNonBlocking));
    case F::stream_destroy:
      return result(destroy(&Children::streams));
    case F::stream_wait_event:
      return result(wait_event());
    case F::event_create:
      return result(create(&Children::events, kDisableTiming));
    case F::event_record:
    case F::event_record_with_flags:
      return result(event_record());
    case F::event_destroy:
      return result(destroy(&Children::events));
    case F::get_last_error:
      return static_cast<std::uint64_t>(last_error(true));
    case F::peek_at_last_error:
      return static_cast<std::uint64_t>(last_error(false));
    case F::get_error_string:
    case F::get_error_name:
      return error_text(function == F::get_error_name);
    case F::get_device:
      return result(give(0, runtime_.ordinal()));
    case F::get_device_count:
      return result(give(0, runtime_.device_count()));
    case F::runtime_get_version:
      return result(give(0, kRuntimeVersion));
    case F::device_get_attribute:
      return result(attribute());
    case F::device_get_limit:
      return result(limit());
    case F::occupancy:
    case F::occupancy_with_flags:
      return result(occupancy());
    case F::memcpy_async:
      return result(memcpy_async());
    case F::memset_async:
      return result(memset_async());
    case F::malloc:
      return result(allocate());
    case F::free:
      return result(free());
    case F::graph_launch:
      return result(launch_graph());
    case F::graph_set_conditional:
      return result(set_conditional());
    case F::cluster_info:
      return machine::cluster_info(block_, word(0), word(1));
    case F::task_record:
      return queue_call().task_record();
    case F::queue_position:
      return queue_call().position();
    case F::queue_entry:
      return queue_call().entry();
    case F::queue_append:
      return static_cast<std::uint64_t>(queue_call().append());
    case F::queue_append_task:
      return static_cast<std::uint64_t>(queue_call().append_task());
    case F::queue_close:
      return static_cast<std::uint64_t>(queue_call().close());
  }
  RADDLE_UNREACHABLE("device runtime function");
}

}  // namespace

std::uint64_t DeviceRuntime::call(exec::WarpContext* warp, std::uint32_t lane, std::uint32_t function,
                                  const std::uint64_t* arguments) {
  return Call(*this, warp, lane, arguments).run(static_cast<ptx::DeviceRuntimeFunction>(function));
}

}  // namespace raddle
