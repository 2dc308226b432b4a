// Construction, dispatch of ready tasks, and the path from a raw fault to a message.
#include "machine/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/futex.h"
#include "exec/cluster.h"
#include "machine/shape/host.h"
#include "machine/sm/signals.h"
#include "machine/tasks/children.h"

namespace raddle::machine {

void Doorbell::ring(unsigned workers) {
  epoch.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  const Worker* self = current_worker();
  const unsigned awake =
      spinners.load(std::memory_order_relaxed) + (self != nullptr && self->unoccupied() ? 1 : 0);
  if (workers > awake) base::futex_wake(epoch, static_cast<int>(workers - awake));
}

void Doorbell::pass_on() {
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  epoch.fetch_add(1, std::memory_order_seq_cst);
  base::futex_wake(epoch, 1);
}

Result<std::unique_ptr<Machine>> Machine::create(MachineOptions options) {
  const HostInfo host = host_info();
  const char* pin = std::getenv("RADDLE_PIN");
  if (pin != nullptr && std::strcmp(pin, "off") == 0) options.pin = false;
  unsigned workers = options.workers == 0 ? host.usable_cores : options.workers;
  if (options.deterministic) workers = 1;
  if (workers > host.cpus.size()) {
    return Error::invalid("{} workers wanted, but this process may use {} cores: one worker per core (K-1)",
                          workers, host.cpus.size());
  }
  if (options.shape.sm_count() == 0)
    return Error::invalid("machine shape '{}' has no SM", options.shape.name);
  workers = std::min(workers, options.shape.sm_count());
  std::vector<int> cpus(workers, -1);
  if (options.pin) std::copy_n(host.cpus.begin(), workers, cpus.begin());
  const auto share =
      static_cast<std::uint64_t>(static_cast<double>(host.memory_bytes) * options.memory_fraction);
  const std::uint64_t capacity = std::min(options.shape.memory_bytes, share);
  TRY(check_heap(options.heap_bytes));
  TRY_ASSIGN(std::unique_ptr<Policy> policy, make_policy(options.policy));
  TRY(machine::check(options.distributor, options.shape));
  install_fault_handlers();
  return std::unique_ptr<Machine>(
      new Machine(std::move(options), workers, std::move(cpus), capacity, std::move(policy)));
}

Machine::Machine(MachineOptions options, unsigned workers, std::vector<int> cpus, std::uint64_t capacity,
                 std::unique_ptr<Policy> policy)
    : options_(std::move(options)),
      memory_(capacity),
      heap_(options_.heap_bytes),
      output_(options_.output, options_.print_bytes),
      launches_(options_.shape, workers, std::move(policy), options_.distributor),
      tasks_(*this),
      copies_(tasks_),
      callbacks_(tasks_),
      compilations_(tasks_),
      watcher_(tasks_, given_up_),
      clock_(tasks_, [this](Task& task) { stop_late(task); }, [this] { return end_slices(); }) {
  launches_.record(options_.recorder);
  for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(*this, i, cpus[i]));
  for (auto& worker : workers_) worker->start();
}

Machine::~Machine() {
  tasks_.wait_all();
  stopping_.store(true, std::memory_order_release);
  doorbell_.ring(1u << 20);
  for (auto& worker : workers_) worker->join();
  clock_.stop();  // it looks at the workers
  output_.flush();
}

Result<void> Machine::check_heap(std::uint64_t bytes) {
  const std::uint64_t most = host_info().memory_bytes;
  if (bytes <= most) return {};
  return Error::make(ErrorCode::out_of_memory, "a heap of {} bytes for kernels: the host has {} of memory",
                     bytes, most);
}

bool Machine::dispatch(Task& task) {
  if (task.kind == TaskKind::marker) return true;
  if (task.kind == TaskKind::callback) {
    callbacks_.push(task);
    return false;
  }
  if (task.kind == TaskKind::compilation) {
    compilations_.push(task);
    return false;
  }
  if (given_up_.load(std::memory_order_seq_cst) || task.stop.load(std::memory_order_relaxed) != 0) {
    exec::Fault fault;
    fault.kind = exec::FaultKind::cancelled;
    if (auto earlier = failure()) fault = std::move(*earlier);
    std::uint32_t running = 0;
    if (task.stop.compare_exchange_strong(running, static_cast<std::uint32_t>(exec::FaultKind::cancelled)))
      task.fault = std::move(fault);
    return true;
  }
  if (task.kind == TaskKind::copy) {
    copies_.push(task);
    return false;
  }
  if (task.kind == TaskKind::condition) {
    if (task.condition()) return true;
    watcher_.push(task);
    return false;
  }
  if (!options_.deterministic) clock_.attend();  // its thread is not to inherit a worker's core
  if (task.grid.time_limit_ns != 0) clock_.watch(task);
  const unsigned wanted = launches_.add(task);
  if (wanted == 0) return true;
  doorbell_.ring(wanted);
  return false;
}

Result<void> Machine::check(const GridWork& grid) {
  const CtaNeeds needs = needs_of(grid, shape().sm);
  if (launches_.most_per_sm(needs) == 0) {
    return Error::invalid("a block of {} threads with {} bytes of shared memory does not fit an SM of '{}'",
                          grid.threads_per_block, grid.shared_bytes, shape().name);
  }
  const GridKind kind = kind_of(grid);
  if (!kind.is_plain() && launches_.most_active(kind, needs) == 0) return too_large(grid, kind, needs);
  const std::uint64_t together =
      grid.cooperative ? grid.blocks
                       : std::max<std::uint64_t>(std::min<std::uint64_t>(grid.blocks, worker_count()),
                                                 kind.ctas_per_cluster());
  TRY(check_memory(grid, together));
  return grid.cluster_memory ? provide_cluster_memory(grid) : Result<void>();
}

Error Machine::too_large(const GridWork& grid, const GridKind& kind, const CtaNeeds& needs) {
  if (grid.cooperative) {
    return Error::make(ErrorCode::too_large,
                       "a cooperative grid of {} blocks: '{}' holds {} of these at once", grid.blocks,
                       shape().name, launches_.most_active({}, needs));
  }
  return Error::make(
      ErrorCode::invalid_cluster, "a cluster of {} blocks fits no {} of '{}', of which an SM holds {}",
      kind.ctas_per_cluster(), level_name(kind.levels[0].domain), shape().name, launches_.most_per_sm(needs));
}

/// @param blocks  started at once at most, if none waits for one that is not
Result<void> Machine::check_memory(const GridWork& grid, std::uint64_t blocks) const {
  const std::uint64_t local = grid.local_stride * grid.threads_per_block;
  const std::uint64_t needed = (local + grid.shared_bytes) * blocks;
  if (local <= BlockMemory::kMaxLocal &&
      needed <= memory_.capacity() - std::min(memory_.used(), memory_.capacity()))
    return {};
  return Error::make(
      ErrorCode::out_of_memory,
      "the launch needs {} bytes of local and {} bytes of shared memory for each of {} "
      "blocks at a time; {} of {} bytes are allocated, and a block has at most {} of local memory",
      local, grid.shared_bytes, blocks, memory_.used(), memory_.capacity(), BlockMemory::kMaxLocal);
}

/// The first grid that wants cluster-wide memory makes the pool.
Result<void> Machine::provide_cluster_memory(const GridWork& grid) {
  if (grid.cluster_size() == 1)
    return Error::invalid("cluster-wide memory is for clusters of 2 to {} blocks", exec::kMaxClusterSize);
  const std::lock_guard lock(failure_mutex_);
  if (cluster_memory_) return {};
  TRY_ASSIGN(cluster_memory_, memory_.allocate(shape().cluster_memory_slots * shape().cluster_memory_bytes));
  launches_.set_cluster_memory(cluster_memory_->value);
  return {};
}

void Machine::locate_stop(Block& block, const RawFault& where) {
  Task& task = *block.task;
  exec::Fault located = describe_fault(block, where);
  std::lock_guard lock(failure_mutex_);
  if (task.fault.kind != exec::FaultKind::timeout || task.fault.block_known) return;
  const bool kept = failed() && failure_.kind == task.fault.kind && failure_.detail == task.fault.detail;
  located.detail += (located.detail.empty() ? "" : ": ") + task.fault.detail;
  task.fault = std::move(located);
  if (kept) failure_ = task.fault;
}

void Machine::stop_task(Task& task, exec::Fault fault) {
  if (fault.kernel.empty() && task.grid.name != nullptr) fault.kernel = *task.grid.name;
  {
    std::lock_guard lock(failure_mutex_);
    if (task.stop.load(std::memory_order_relaxed) != 0 || task.done()) return;
    task.fault = fault;
    task.stop.store(static_cast<std::uint32_t>(fault.kind), std::memory_order_seq_cst);
    if (fault.kind != exec::FaultKind::cancelled && !failed()) {
      failure_ = std::move(fault);
      failed_.store(true, std::memory_order_release);
      given_up_.store(true, std::memory_order_seq_cst);
    }
  }
  for (auto& worker : workers_) worker->raise_poll();
  const bool is_over = launches_.stop(task);
  doorbell_.ring(worker_count());
  stop_children(task);
  if (is_over) tasks_.complete(task);
}

/// A task that ran past its time limit.
void Machine::stop_late(Task& task) {
  exec::Fault fault;
  fault.kind = exec::FaultKind::timeout;
  fault.block_known = false;  // until one of its warps looks
  fault.detail = fmt::format("the limit is {} ms", task.grid.time_limit_ns / 1000000);
  stop_task(task, std::move(fault));
}

/// @returns whether some worker has work
bool Machine::end_slices() {
  bool any = false;
  for (auto& worker : workers_) any |= worker->end_slice();
  return any;
}

void Machine::cancel() {
  cancelled_.store(true, std::memory_order_release);
  given_up_.store(true, std::memory_order_seq_cst);
  for (Task* task : tasks_.pending()) {
    exec::Fault fault;
    fault.kind = exec::FaultKind::cancelled;
    if (task->kind == TaskKind::grid) stop_task(*task, std::move(fault));
    tasks_.release(task);
  }
}

void Machine::stop_children(Task& task) {
  Children* family = task.family_if_any();
  if (family == nullptr) return;
  std::vector<Task*> children;
  {
    const std::lock_guard lock(family->mutex);
    children = family->launched;
    for (Task* child : children) tasks_.retain(*child);
  }
  for (Task* child : children) {
    exec::Fault fault;
    fault.kind = exec::FaultKind::cancelled;
    stop_task(*child, std::move(fault));
    tasks_.release(child);
  }
}

std::optional<exec::Fault> Machine::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failed() ? std::optional(failure_) : std::nullopt;
}

namespace {
/// An address in the shared window of a cluster.
std::string describe_window(const Block& block, std::uint64_t address) {
  const exec::ClusterContext& cluster = block.cluster->context;
  const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(cluster.window);
  const std::uint64_t rank = offset / exec::kSharedWindow;
  if (rank >= cluster.cta_count)
    return fmt::format("shared address {:#x}: the cluster has {} blocks", offset, cluster.cta_count);
  return fmt::format("offset {:#x} of the shared memory of block {} of the cluster, which has {:#x} bytes",
                     offset % exec::kSharedWindow, rank, cluster.shared_bytes);
}

/// An address near the block's own memory. Above the start of shared memory it may be a wrong one of either.
std::string describe_own(const Block& block, std::uint64_t address) {
  const auto offset_of = [&](const std::byte* start, const char* name, std::uint64_t size) {
    return fmt::format("offset {:#x} of the block's {} memory, which has {:#x} bytes",
                       address - reinterpret_cast<std::uint64_t>(start), name, size);
  };
  const std::uint64_t shared = block.task->grid.shared_bytes,
                      local = block.cta.local_stride * block.cta.thread_count;
  // The shared memory of a cluster lies elsewhere.
  if (block.cluster != nullptr || address < reinterpret_cast<std::uint64_t>(block.memory.shared()))
    return offset_of(block.memory.local(), "local", local);
  std::string text = offset_of(block.memory.shared(), "shared", shared);
  if (local != 0) text += ", or " + offset_of(block.memory.local(), "local", local);
  return text;
}

/// An address in the pages of launch parameters.
std::string describe_parameter(const Task& task, std::uint64_t address) {
  const auto offset =
      static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(task.grid.context.parameters));
  return fmt::format("offset {} of the launch's parameters, which are {} bytes and read-only", offset,
                     task.parameter_bytes());
}
}  // namespace

std::string Machine::describe_address(const Block& block, const RawFault& raw) const {
  if (!raw.address_known) return "an address that is not canonical or not aligned";
  std::string text = raw.access_known ? (raw.is_write ? "write, " : "read, ") : "";
  if (raw.address >> 47 != 0) return text + "no address of user memory";
  if (block.cluster != nullptr && block.cluster->window()->covers(raw.address))
    return text + describe_window(block, raw.address);
  if (block.memory.covers(raw.address)) return text + describe_own(block, raw.address);
  if (tasks_.pages().are_parameters(raw.address)) return text + describe_parameter(*block.task, raw.address);
  return text + memory_.describe(raw.address);
}

namespace {
/// What only the faulting instruction and the registers tell: the address where the processor gave none, and
/// whether it is one that engines make of misaligned ones; the lane.
void complete(RawFault& raw, const exec::Executable& executable) {
  if (raw.registers == nullptr) return;
  const auto access =
      executable.accessed(raw.code_address, *raw.registers, raw.address_known ? raw.address : 0);
  if (access && raw.lane != 0) raw.lane += access->behind;
  if (access && raw.lane == 0) raw.lane = access->lane;
  if (!access || raw.address_known || raw.kind != exec::FaultKind::illegal_address) return;
  raw.address = access->address;
  raw.is_write = access->is_write;
  raw.address_known = raw.access_known = true;
  const auto misaligned = exec::misaligned_from(raw.address);
  if (misaligned) raw.address = *misaligned;
  // A user address that traps without a page fault: the instruction wants it aligned.
  if (raw.address >> 47 == 0) raw.kind = exec::FaultKind::misaligned_address;
}

/// W-19: what is wrong with an access to another block of the cluster, which block it is, where in its
/// memory.
std::string describe_cluster_address(const exec::CtaContext& cta, std::uint64_t generic) {
  const auto address = exec::shared_address_of(*cta.cluster, generic);
  if (!address) return {};
  const std::uint32_t* shape = cta.launch->cluster_shape;
  const std::string cluster = fmt::format("cluster ({},{},{})", cta.ctaid[0] / shape[0],
                                          cta.ctaid[1] / shape[1], cta.ctaid[2] / shape[2]);
  const std::uint32_t rank = exec::rank_of(*address), offset = exec::offset_of(*address);
  const std::string place =
      fmt::format("offset {:#x} of the shared memory of rank {} in {}", offset, rank, cluster);
  switch (exec::check_remote(cta, *address, 1)) {
    case exec::ClusterProblem::no_such_rank:
      return fmt::format("{}, which has {} blocks", place, cta.cluster->cta_count);
    case exec::ClusterProblem::above_largest:
      return fmt::format("{}: no block can have more than {:#x} bytes", place, cta.launch->largest_shared);
    case exec::ClusterProblem::exited:
      return fmt::format("{}: the block has exited", place);
    default:  // the access begins inside
      return fmt::format("{}: the block has {:#x} bytes", place, cta.cluster->shared_bytes);
  }
}
}  // namespace

exec::Fault Machine::describe_fault(Block& block, RawFault raw) const {
  exec::Fault fault;
  const GridWork& grid = block.task->grid;
  complete(raw, *grid.executable);
  fault.kind = raw.kind;
  fault.kernel = *grid.name;
  std::copy_n(block.cta.ctaid, 3, fault.ctaid);
  fault.address = raw.address;
  fault.address_known = raw.address_known;
  fault.ptx_line = raw.line;
  if (raw.code_address != 0) {
    if (const auto line = grid.executable->line_of(raw.code_address)) fault.ptx_line = *line;
  }
  if (fault.ptx_line != 0 && grid.source_of != nullptr)
    fault.source = grid.source_of(grid.owner, fault.ptx_line);
  if (raw.warp != 0 && raw.lane != 0) {
    const std::uint32_t thread = (raw.warp - 1) * exec::kWarpSize + raw.lane - 1;
    fault.thread_known = true;
    fault.tid[0] = thread % grid.context.ntid[0];
    fault.tid[1] = thread / grid.context.ntid[0] % grid.context.ntid[1];
    fault.tid[2] = thread / grid.context.ntid[0] / grid.context.ntid[1];
  }
  if (raw.kind == exec::FaultKind::illegal_address || raw.kind == exec::FaultKind::misaligned_address) {
    const bool note_says_all = !raw.address_known && *raw.note != '\0';
    fault.detail = note_says_all ? raw.note : raw.note + describe_address(block, raw);
  } else if (raw.kind == exec::FaultKind::illegal_cluster_address) {
    fault.detail = describe_cluster_address(block.cta, raw.address);
  } else if (raw.kind == exec::FaultKind::invalid_handle || raw.kind == exec::FaultKind::illegal_barrier) {
    fault.detail = raw.note;
  } else if (raw.kind == exec::FaultKind::deadlock) {
    fault.detail =
        fmt::format("{} threads wait at barriers that no other thread can complete", block.cta.live_threads);
  } else if (raw.kind == exec::FaultKind::unsupported && raw.address != 0) {
    fault.detail = fmt::format(
        "the operation names lanes {:#x}, which wait outside the function; only the interpreter lets them "
        "meet",
        raw.address);
  }
  if (raw.warp != 0 && raw.lane == 0) {
    fault.detail = fmt::format("warp {}{}{}", raw.warp - 1, fault.detail.empty() ? "" : ": ", fault.detail);
  }
  return fault;
}

exec::Fault Machine::out_of_memory_fault(const Task& task) const {
  exec::Fault fault;
  fault.kind = exec::FaultKind::out_of_memory;
  fault.detail = fmt::format(
      "the host has no memory for a block: {} bytes of shared, {} bytes of local memory, and stacks",
      task.grid.shared_bytes, task.grid.local_stride * task.grid.threads_per_block);
  return fault;
}

}  // namespace raddle::machine
