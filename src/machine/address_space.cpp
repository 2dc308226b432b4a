// Dispatch of ready tasks, launch checks, and what stops work.
#include "machine/address_space.h"

#include "exec/window.h"
#include "machine/memory/host_touches.h"
#include "machine/memory/movable_memory.h"
#include "machine/shape/host.h"
#include "machine/tasks/children.h"
#include "machine/tasks/task_queue.h"

namespace raddle::machine {

namespace {
constexpr std::uint64_t kModelledWindow = 1ull << 40;

Result<std::unique_ptr<PagedSpace>> open_pages(Machine& machine, const PeerMemory& peers) {
  if (machine.options().asynchrony.mode != Asynchrony::Mode::eager)
    return Error::invalid("copies cannot land late in a modelled address space");
  TRY_ASSIGN(Mmu* const mmu, machine.mmu());
  return PagedSpace::open(*mmu, peers);
}
}  // namespace

Result<std::unique_ptr<AddressSpace>> AddressSpace::open(std::shared_ptr<Machine> machine,
                                                         AddressSpaceOptions options) {
  TRY(check_heap(options.heap_bytes));
  if (options.window_bytes != 0 && options.window_bytes < DeviceSpace::kLeastWindow)
    return Error::invalid("a window of {} bytes of addresses: it needs at least {}", options.window_bytes,
                          DeviceSpace::kLeastWindow);
  const bool is_modelled = options.translation == Translation::modelled;
  auto peers = std::make_unique<PeerMemory>(options.device, options.reaches_shared || is_modelled);
  std::unique_ptr<PagedSpace> pages;
  TRY_ASSIGN(ContextPlace place, ContextPlace::take(machine->contexts(), options.context));
  if (is_modelled) {
    TRY_ASSIGN(pages, open_pages(*machine, *peers));
    TRY(place.bring(*pages));
    if (options.window_bytes == 0) options.window_bytes = kModelledWindow;
  }
  std::shared_ptr<DeviceSpace> own_window = options.window;
  if (options.window_bytes != 0)
    own_window = std::make_shared<DeviceSpace>(options.window_bytes, pages.get());
  const DeviceSpace& addresses = own_window ? *own_window : DeviceSpace::instance();
  if ((own_window || options.translation == Translation::windowed) && !addresses.is_reserved())
    return Error::make(
        ErrorCode::out_of_memory,
        "the host has no {} bytes of addresses for the window of an address space (ulimit -v?)",
        own_window ? options.window_bytes : DeviceSpace::kBytes);
  std::unique_ptr<AddressSpace> space(new AddressSpace(std::move(machine), std::move(options),
                                                       std::move(peers), std::move(pages), std::move(place),
                                                       std::move(own_window)));
  TRY(space->confine(space->options().sm_limit));
  return space;
}

namespace {
void call(Task& task) { std::get<CallWork>(task.work).function(); }
}  // namespace

std::uint64_t AddressSpace::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

AddressSpace::AddressSpace(std::shared_ptr<Machine> machine, AddressSpaceOptions options,
                           std::unique_ptr<PeerMemory> peers, std::unique_ptr<PagedSpace> pages,
                           ContextPlace place, std::shared_ptr<DeviceSpace> own_window)
    : id_(options.id != 0 ? options.id : next_id()),
      machine_(std::move(machine)),
      options_(std::move(options)),
      peers_(std::move(peers)),
      pages_(std::move(pages)),
      place_(std::move(place)),
      own_window_(std::move(own_window)),
      runner_(options_.runner != nullptr ? *options_.runner : *machine_),
      addresses_(own_window_ ? *own_window_ : DeviceSpace::instance()),
      memory_(machine_->capacity(), addresses_, options_.bounds),
      heap_(options_.heap_bytes, addresses_),
      output_(options_.output, options_.print_bytes),
      tasks_(*this, options_.launch_addresses != nullptr ? *options_.launch_addresses : addresses_),
      callbacks_(tasks_, call),
      compilations_(tasks_, call),
      steering_(tasks_, [this](Task& task) { steer(task); }),
      watcher_(tasks_, given_up_),
      block_counts_(std::make_unique<BlockCount[]>(machine_->worker_count())) {}

AddressSpace::~AddressSpace() {
  tasks_.wait_all();
  runner_.forget(*this);
  machine_->copy_engines().forget(*this);
  output_.flush();
  if (is_confined_) machine_->confine(id_, {});
}

Result<void> AddressSpace::confine(const SmLimit& limit) {
  TRY(machine::check(limit, machine_->shape()));
  if (limit.is_none() && !is_confined_) return {};
  machine_->confine(id_, limit);
  is_confined_ = !limit.is_none();
  return {};
}

exec::AddressRange AddressSpace::window() const {
  if (options_.translation == Translation::modelled) return {0, 0};
  return memory_range();
}

exec::AddressRange AddressSpace::memory_range() const {
  return options_.translation == Translation::direct ? exec::AddressRange{} : addresses_.range();
}

// Spaces without windows of their own reach one another anyway.
void AddressSpace::admit(const AddressSpace& peer) {
  if (peer.own_window_ != nullptr) peers_->admit(peer.id(), peer.own_window_);
}

bool AddressSpace::may_reach(std::uint64_t address, std::uint64_t bytes) const {
  return memory_range().holds(address, bytes) || peers_->around(address).range.holds(address, bytes);
}

std::uint64_t AddressSpace::blocks_completed() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < machine_->worker_count(); ++i)
    sum += block_counts_[i].completed.load(std::memory_order_relaxed);
  return sum;
}

Result<void> AddressSpace::check_heap(std::uint64_t bytes) {
  const std::uint64_t most = host_info().memory_bytes;
  if (bytes <= most) return {};
  return Error::make(ErrorCode::out_of_memory, "a heap of {} bytes for kernels: the host has {} of memory",
                     bytes, most);
}

void AddressSpace::submitted() {
  if (current_worker() != nullptr) return;
  std::atomic<std::uint32_t>& count = machine_->doorbell().submissions;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool AddressSpace::dispatch(Task& task) {
  if (std::holds_alternative<MarkerWork>(task.work)) return true;
  if (const auto* call = std::get_if<CallWork>(&task.work)) {
    (call->thread == CallWork::Thread::callbacks ? callbacks_ : compilations_).push(task);
    return false;
  }
  if (given_up_.load(std::memory_order_seq_cst) || task.stop.load(std::memory_order_relaxed) != 0) {
    refuse(task);
    if (std::holds_alternative<GraphWork>(task.work)) tasks_.pass_over(task);
    return true;
  }
  if (const auto* graph = std::get_if<GraphWork>(&task.work)) {
    for (const auto& part : graph->graph->tasks()) {
      if (!part->is_grid()) continue;
      part->grid().number = 0;
      part->grid().context.grid_id = next_grid_id();
      part->grid().context.graph_exec = graph->graph->number();
    }
    tasks_.start(task);
    return true;
  }
  if (std::holds_alternative<ConditionalWork>(task.work)) {
    steering_.push(task);
    return false;
  }
  if (const auto* wait = std::get_if<WaitWork>(&task.work)) {
    if (is_met(wait->until)) return true;
    watcher_.push(task);
    return false;
  }
  begin_work(task);
  if (!task.is_grid()) {
    machine_->copy_engines().push(*this, task);
    return false;
  }
  task.grid().space = this;
  task.grid().context.window = window();
  task.grid().context.asid = pages_ ? pages_->number() : kNoAsid;
  task.grid().cluster_memory_slots = cluster_memory_.load(std::memory_order_relaxed);
  prepare_counting(task);
  return !runner_.start(task);
}

/// A device begins to work.
void AddressSpace::begin_work(Task& task) {
  if (!options_.shares_managed) return;
  task.is_at_work = true;
  HostTouches::instance().begin_work();
}

bool AddressSpace::counts_by_windows() const {
  return options_.shares_managed && options_.translation == Translation::direct &&
         MovableMemory::all().bytes != 0;
}

/// Some blocks of the grid have a window that lacks managed memory.
void AddressSpace::prepare_counting(Task& task) {
  task.counts_touches = counts_by_windows();
  if (!task.counts_touches) return;
  if (task.counting == nullptr) task.counting = std::make_unique<exec::LaunchContext>();
  *task.counting = task.grid().context;
  task.counting->window = exec::all_but(MovableMemory::all());
}

// On a thread of its own, so that a loop is no recursion, however its body ends. What runs a body, and what
// looks again after it, are parts of the conditional's task.
void AddressSpace::steer(Task& task) {
  const auto& work = *std::get_if<ConditionalWork>(&task.work);
  const bool looks_again =
      task.parent != nullptr && std::holds_alternative<ConditionalWork>(task.parent->work);
  Task& whole = looks_again ? *task.parent : task;
  const std::shared_ptr<TaskGraph> body = work.conditional->chosen();
  if (body == nullptr || given_up_.load(std::memory_order_seq_cst) ||
      whole.stop.load(std::memory_order_acquire) != 0)
    return;
  const bool is_loop = work.conditional->kind == Conditional::Kind::repeated;
  Task* const run = tasks_.acquire();
  Task* const again = is_loop ? tasks_.acquire() : nullptr;
  run->work = GraphWork{body};
  if (again != nullptr) again->work = work;
  for (Task* const part : {run, again}) {
    if (part == nullptr) continue;
    part->priority = whole.priority;
    part->parent = &whole;
    tasks_.retain(whole);
    whole.unfinished.fetch_add(1, std::memory_order_relaxed);
  }
  const TaskScheduler::Submission both[] = {{run, {}}, {again, {&run, 1}}};
  tasks_.submit(std::span(both, is_loop ? 2 : 1));
  tasks_.release(run);
  tasks_.release(again);
}

void AddressSpace::end_copy(Task& task, exec::Fault fault) {
  if (fault.kind != exec::FaultKind::none) {
    const std::lock_guard lock(failure_mutex_);
    if (task.stop.load(std::memory_order_relaxed) == 0) note_fault(task, std::move(fault));
  }
  tasks_.complete(task);
}

void AddressSpace::ended(Task& task) {
  if (std::exchange(task.is_at_work, false))
    HostTouches::instance().end_work(machine_->options().deterministic.has_value());
  const auto* const grid = std::get_if<GridWork>(&task.work);
  if (grid != nullptr && grid->number != 0 && options_.grid_ended) options_.grid_ended(*this, task);
  if (grid != nullptr && grid->queue != nullptr) {
    grid->queue->close();  // whoever has it may still append
    const std::lock_guard lock(queues_mutex_);
    queues_.erase(grid->record);
  }
  if (task.parent == nullptr || !task.parent->is_grid() || task.parent->grid().queue == nullptr) return;
  task.parent->grid().queue->child_ended();
  follow_queue(*task.parent);
}

Result<void> AddressSpace::announce_queue(Task& task) {
  const std::lock_guard lock(queues_mutex_);
  if (queues_.emplace(task.grid().record, &task).second) return {};
  return Error::invalid("the queue task of the record at {:#x} has not ended yet", task.grid().record);
}

Task* AddressSpace::find_queue(std::uint64_t record) {
  const std::lock_guard lock(queues_mutex_);
  const auto found = queues_.find(record);
  if (found == queues_.end()) return nullptr;
  tasks_.retain(*found->second);
  return found->second;
}

/// It may be over with that.
void AddressSpace::follow_queue(Task& task) {
  if (machine_->follow(task)) tasks_.complete(task);
}

Append AddressSpace::append(Task& task, const std::byte* entry, std::uint64_t child) {
  if (task.stop.load(std::memory_order_relaxed) != 0) return Append::closed;
  const Append appended = task.grid().queue->append(entry, child);
  if (appended == Append::done) follow_queue(task);
  return appended;
}

void AddressSpace::close_queues() {
  std::vector<Task*> open;
  {
    const std::lock_guard lock(queues_mutex_);
    for (const auto& [record, task] : queues_) {
      tasks_.retain(*task);
      open.push_back(task);
    }
  }
  for (Task* const task : open) {
    close_queue(*task);
    tasks_.release(task);
  }
}

void AddressSpace::close_queue(Task& task) {
  task.grid().queue->close();
  follow_queue(task);
}

/// Nothing of it is run: something has failed before it, or it was stopped, maybe by who is about to say so.
void AddressSpace::refuse(Task& task) {
  const std::lock_guard lock(failure_mutex_);
  if (task.stop.load(std::memory_order_relaxed) != 0) return;
  task.fault = failed() ? failure_ : exec::Fault{.kind = exec::FaultKind::cancelled};
  task.stop.store(static_cast<std::uint32_t>(exec::FaultKind::cancelled), std::memory_order_seq_cst);
}

Result<void> AddressSpace::check(const GridWork& grid) {
  const CtaNeeds needs = needs_of(grid, machine_->shape().sm);
  if (!fits_empty_sm(machine_->shape().sm, needs)) {
    return Error::invalid("a block of {} threads with {} bytes of shared memory does not fit an SM of '{}'",
                          grid.threads_per_block, grid.shared_bytes, machine_->shape().name);
  }
  const GridKind kind = kind_of(grid);
  if (!kind.is_plain() && machine_->launches().most_active(kind, needs, id_) == 0)
    return too_large(grid, kind, needs);
  const std::uint64_t together =
      grid.cooperative
          ? grid.blocks
          : std::max<std::uint64_t>(std::min<std::uint64_t>(grid.blocks, machine_->worker_count()),
                                    kind.ctas_per_cluster());
  TRY(check_memory(grid, together));
  return grid.cluster_memory ? provide_cluster_memory(grid) : Result<void>();
}

Error AddressSpace::too_large(const GridWork& grid, const GridKind& kind, const CtaNeeds& needs) {
  if (grid.cooperative) {
    return Error::make(ErrorCode::too_large,
                       "a cooperative grid of {} blocks: '{}' holds {} of these at once", grid.blocks,
                       machine_->shape().name, machine_->launches().most_active({}, needs, id_));
  }
  return Error::make(ErrorCode::invalid_cluster,
                     "a cluster of {} blocks fits no {} of '{}', of which an SM holds {}",
                     kind.ctas_per_cluster(), level_name(kind.levels[0].domain), machine_->shape().name,
                     machine_->launches().most_per_sm(needs));
}

/// @param blocks  started at once at most, if none waits for one that is not
Result<void> AddressSpace::check_memory(const GridWork& grid, std::uint64_t blocks) const {
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
Result<void> AddressSpace::provide_cluster_memory(const GridWork& grid) {
  if (grid.cluster_size() == 1)
    return Error::invalid("cluster-wide memory is for clusters of 2 to {} blocks", exec::kMaxClusterSize);
  const std::lock_guard lock(failure_mutex_);
  if (cluster_memory_ != 0) return {};
  const MachineShape& shape = machine_->shape();
  TRY_ASSIGN(const DevicePtr slots,
             memory_.allocate(shape.cluster_memory_slots * shape.cluster_memory_bytes));
  cluster_memory_ = slots.value;
  return {};
}

/// The first fault counts and is sticky, but for `cancelled`. The lock of failures is held.
void AddressSpace::note_fault(Task& task, exec::Fault fault) {
  task.fault = fault;
  task.stop.store(static_cast<std::uint32_t>(fault.kind), std::memory_order_seq_cst);
  if (fault.kind == exec::FaultKind::cancelled || failed()) return;
  failure_ = std::move(fault);
  failed_.store(true, std::memory_order_release);
  given_up_.store(true, std::memory_order_seq_cst);
}

void AddressSpace::stop_task(Task& task, exec::Fault fault) {
  const auto* grid = std::get_if<GridWork>(&task.work);
  if (fault.kernel.empty() && grid != nullptr && grid->name != nullptr) fault.kernel = *grid->name;
  {
    std::lock_guard lock(failure_mutex_);
    if (task.stop.load(std::memory_order_relaxed) != 0 || task.done()) return;
    note_fault(task, std::move(fault));
  }
  const bool is_over = runner_.stop(task);
  stop_children(task);
  if (failed()) {
    stop_dependents(task);
    close_queues();
  }
  if (is_over) tasks_.complete(task);
}

void AddressSpace::stop_late(Task& task) {
  exec::Fault fault;
  fault.kind = exec::FaultKind::timeout;
  fault.block_known = false;  // until one of its warps looks
  fault.detail = fmt::format("the limit is {} ms", task.grid().time_limit_ns / 1000000);
  stop_task(task, std::move(fault));
}

void AddressSpace::cancel() {
  cancelled_.store(true, std::memory_order_release);
  given_up_.store(true, std::memory_order_seq_cst);
  for (Task* task : tasks_.pending()) {
    exec::Fault fault;
    fault.kind = exec::FaultKind::cancelled;
    if (task->is_grid()) stop_task(*task, std::move(fault));
    tasks_.release(task);
  }
}

void AddressSpace::stop_children(Task& task) {
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

/// What began before the end of a task that has failed might wait for it in a loop.
void AddressSpace::stop_dependents(Task& task) {
  for (Task* dependent : tasks_.dependents(task)) {
    exec::Fault fault;
    fault.kind = exec::FaultKind::cancelled;
    if (dependent->is_grid())
      stop_task(*dependent, std::move(fault));  // and its dependents
    else
      stop_dependents(*dependent);
    tasks_.release(dependent);
  }
}

std::optional<exec::Fault> AddressSpace::failure() const {
  if (!failed()) return {};  // every call asks: without the lock
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace raddle::machine
