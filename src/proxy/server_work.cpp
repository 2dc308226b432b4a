// Work: launches go to the server through push buffers, completions come back through the channel.
#include <poll.h>

#include "base/futex.h"
#include "proxy/documents.h"
#include "proxy/server.h"

namespace raddle::proxy {

using machine::GridWork;
using machine::Task;

namespace {

LaunchCommand command_of(const Task& task, std::uint32_t slot) {
  const GridWork& grid = task.grid();
  const auto& code = static_cast<const RemoteCode&>(*grid.executable);
  LaunchCommand command;
  command.parameter_bytes = static_cast<std::uint32_t>(task.parameter_bytes());
  command.number = grid.number;
  command.slot = slot;
  command.behind = grid.behind;
  command.behind_trigger = grid.behind_trigger;
  command.triggers_at_start = grid.triggers_at_start;
  command.placement = placement_number(grid.placement);
  command.module = code.module;
  command.kernel = code.kernel;
  std::copy_n(grid.context.nctaid, 3, command.grid);
  std::copy_n(grid.first, 3, command.first);
  std::copy_n(grid.part, 3, command.part);
  std::copy_n(grid.context.ntid, 3, command.block);
  command.dynamic_shared = grid.context.dynamic_shared;
  command.cooperative = grid.cooperative;
  command.cluster_memory = grid.cluster_memory;
  command.cap_per_sm = grid.cap_per_sm;
  command.distribution = static_cast<std::uint32_t>(grid.kind.mode);
  command.depth = grid.kind.depth;
  command.explicit_cluster = grid.context.explicit_cluster;
  for (unsigned i = 0; i < grid.kind.depth; ++i) {
    command.levels[i].domain = static_cast<std::uint32_t>(grid.kind.levels[i].domain);
    std::copy_n(grid.kind.levels[i].extent, 3, command.levels[i].extent);
  }
  return command;
}

exec::Fault lost_fault() {
  exec::Fault fault;
  fault.kind = FaultKind::server_lost;
  fault.block_known = false;
  return fault;
}

/// The server knows no allocations: says where the address lies.
void describe_address(exec::Fault& fault, const machine::DeviceMemory& memory) {
  constexpr std::string_view unknown = machine::DeviceMemory::kNoAllocation;
  if (fault.detail.ends_with(unknown))
    fault.detail.replace(fault.detail.size() - unknown.size(), unknown.size(),
                         memory.describe(fault.address));
}

}  // namespace

bool Server::start(Task& task) {
  if (task.grid().number == 0) task.grid().number = next_number();  // of a graph: no stream has numbered it
  bool is_lost, is_sent = false;
  {
    const std::lock_guard lock(mutex_);
    is_lost = lost_;
    if (!is_lost) {
      task.grid().space->tasks().retain(task);
      is_sent = waiting_.empty() && send(task);
      if (!is_sent) waiting_.push_back(&task);
    }
  }
  if (is_lost) task.grid().space->stop_task(task, lost_fault());
  if (is_sent) tell_sent(task);
  return true;
}

bool Server::send(Task& task) {
  if (free_slots_.empty()) return false;
  const Result<PushBufferWriter*> buffer = push_buffer(task.priority);
  if (!buffer) return false;
  const std::uint32_t slot = free_slots_.back();
  if (!write(**buffer, task, slot)) return false;
  free_slots_.pop_back();
  flights_[slot] = {task.grid().number, &task};
  ring();
  return true;
}

bool Server::write(PushBufferWriter& buffer, const Task& task, std::uint32_t slot) {
  const LaunchCommand command = command_of(task, slot);
  return buffer.write(std::as_bytes(std::span(&command, 1)),
                      {task.grid().context.parameters, task.parameter_bytes()});
}

/// Without the lock, which what follows the task takes. Its completion may have been heard meanwhile.
void Server::tell_sent(Task& task) {
  machine::TaskScheduler& tasks = task.grid().space->tasks();
  tasks.trigger(task);
  tasks.release(&task);
}

void Server::ring() {
  if (channel_->server_sleeps.load(std::memory_order_seq_cst) == 0) return;
  proxy::ring(doorbell_);
}

bool Server::stop(Task& task) {
  const std::lock_guard lock(mutex_);
  if (std::erase(waiting_, &task) != 0) {
    task.grid().space->tasks().release(&task);
    return true;
  }
  for (const Flight& flight : flights_) {
    if (flight.task != &task) continue;
    StopCommand command;
    command.number = flight.number;
    // The server always takes these: there is room soon.
    while (!stops_->write(std::as_bytes(std::span(&command, 1)), {}) && !lost_) base::spin_pause();
    ring();
    return false;
  }
  return true;
}

void Server::forget(const machine::AddressSpace&) { const std::lock_guard lock(ending_); }

void Server::hear() {
  while (!lost_) {
    const auto is_news = [&] { return channel_->completed.load(std::memory_order_seq_cst) != heard_; };
    if (base::spin_until(is_news)) {
      hear_completions();
      continue;
    }
    channel_->program_sleeps.store(1, std::memory_order_seq_cst);
    if (!is_news()) base::futex_wait_shared(channel_->completed, heard_, std::chrono::milliseconds(100));
    channel_->program_sleeps.store(0, std::memory_order_relaxed);
    pollfd connection{reports_.number(), 0, 0};
    if (!is_news() && poll(&connection, 1, 0) > 0) lose();
  }
}

void Server::hear_completions() {
  while (channel_->completed.load(std::memory_order_acquire) != heard_) {
    const Completion completion = channel_->completions[heard_++ % kMostInFlight];
    const std::lock_guard lock(ending_);
    end(completion);
  }
}

void Server::end(const Completion& completion) {
  if (completion.slot >= flights_.size()) return;
  std::vector<Task*> sent;
  Task* task;
  {
    const std::lock_guard lock(mutex_);
    Flight& flight = flights_[completion.slot];
    if (flight.task == nullptr || flight.number != completion.number) return;
    task = std::exchange(flight, {}).task;
    free_slots_.push_back(completion.slot);
    for (; !waiting_.empty() && send(*waiting_.front()); waiting_.pop_front())
      sent.push_back(waiting_.front());
  }
  for (Task* each : sent) tell_sent(*each);
  task->started_ns.store(completion.started_ns, std::memory_order_relaxed);
  report(*task, completion);
}

/// Tells its address space how a launch ended.
void Server::report(Task& task, const Completion& completion) {
  machine::AddressSpace& space = *task.grid().space;
  exec::Fault fault;
  if (completion.has_text != 0 || completion.outcome != 0) {
    Descriptor printed;
    const Result<nlohmann::json> about =
        exchange(reports_.number(), {{"ask", "report"}, {"number", completion.number}}, -1, &printed);
    if (const auto text = read_attached(printed, kMostText)) space.output().append(*text);
    if (about && about->contains("fault")) fault = fault_of((*about)["fault"]);
    describe_address(fault, space.memory());
  }
  if (completion.outcome != 0 && task.stop.load(std::memory_order_acquire) == 0) {
    if (fault.kind == FaultKind::none) fault.kind = static_cast<FaultKind>(completion.outcome);
    space.stop_task(task, std::move(fault));  // completes it
  } else {
    space.tasks().complete(task);
  }
}

/// The server has gone: nothing that it had will ever end.
void Server::lose() {
  std::vector<Task*> ended;
  {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    for (Flight& flight : flights_)
      if (flight.task != nullptr) ended.push_back(std::exchange(flight, {}).task);
    for (Task* task : waiting_) {
      ended.push_back(task);
      task->grid().space->tasks().release(task);  // it stays until it is complete
    }
    waiting_.clear();
  }
  const std::lock_guard lock(ending_);
  for (Task* task : ended) {
    machine::AddressSpace& space = *task->grid().space;
    if (task->stop.load(std::memory_order_acquire) != 0)
      space.tasks().complete(*task);
    else
      space.stop_task(*task, lost_fault());
  }
}

}  // namespace raddle::proxy
