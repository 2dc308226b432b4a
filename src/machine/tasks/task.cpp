// Reuse and completion of tasks.
#include "machine/tasks/task.h"

#include <cstring>

#include "base/fetch.h"
#include "base/futex.h"
#include "machine/tasks/children.h"

namespace raddle::machine {

bool Task::set_parameters(std::span<const std::byte> bytes) {
  if (parameters_.host == nullptr || parameters_.bytes < bytes.size()) {
    const LaunchPiece piece = pages_.parameters(bytes.size());
    if (piece.host == nullptr) return false;
    parameters_ = piece;
  }
  if (!bytes.empty()) std::memcpy(parameters_.host, bytes.data(), bytes.size());
  parameter_bytes_ = bytes.size();
  grid().context.parameters = parameters_.kernel;
  return true;
}

bool Task::copy_work(const Task& other) {
  work = other.work;
  priority = other.priority;
  if (!is_grid()) return true;
  if (!set_parameters({other.parameters_.host, other.parameter_bytes_})) return false;
  return !grid().cooperative || set_grid_workspace();
}

/// Zeroed. @returns null if the host has no memory
std::byte* Task::provide_buffer(std::uint64_t bytes) {
  if (buffer_.host == nullptr || buffer_.bytes < bytes) {
    const LaunchPiece piece = pages_.buffer(bytes);
    if (piece.host == nullptr) return nullptr;
    buffer_ = piece;
  }
  std::memset(buffer_.host, 0, bytes);
  return buffer_.host;
}

bool Task::set_grid_workspace() {
  struct GridWorkspace {
    std::uint32_t bytes;
    std::uint32_t barrier;  // what the blocks count in and spin on
  };
  std::byte* const memory = provide_buffer(sizeof(GridWorkspace));
  if (memory == nullptr) return false;
  const GridWorkspace workspace{sizeof(GridWorkspace), 0};
  std::memcpy(memory, &workspace, sizeof workspace);
  grid().context.grid_workspace = reinterpret_cast<std::uint64_t>(buffer_.kernel);
  return true;
}

bool Task::provide_parameter_buffer(std::uint64_t bytes) {
  parameter_bytes_ = bytes;
  return provide_buffer(bytes) != nullptr;
}

void Task::wait() {
  if (base::spin_until([this] { return done(); })) return;
  for (;;) {
    std::uint32_t pending = 0;
    if (!state.compare_exchange_strong(pending, 1, std::memory_order_acq_rel) && pending == 2) return;
    base::futex_wait(state, 1);
    if (done()) return;
  }
}

namespace {
void fetch_lines(const void* first, const void* end) {
  constexpr std::size_t kLine = 64;
  for (const auto* bytes = static_cast<const char*>(first); bytes < end; bytes += kLine)
    base::fetch_to_write(bytes);
}
}  // namespace

/// Whoever took the last CTAs of a task is likely to end it, and then handles what waited for it: that may
/// have been prepared long ago, and by another core. Then, too, what waits for that: one after the other is
/// too late. Of the last of them the grid as it was when the task was used before, which is described anew:
/// that of the one before it was fetched likewise.
void Task::fetch_awaiting() const {
  const Task* const next = awaited_by.load(std::memory_order_acquire);
  if (next == nullptr) return;
  next->fetch();
  const Task* const then = next->awaited_by.load(std::memory_order_acquire);
  if (then != nullptr) then->fetch();
  const Distribution& last = (then != nullptr ? then : next)->distribution;
  fetch_lines(&last, &last + 1);
  if (next->is_grid()) __builtin_prefetch(next->parameters_.host);
}

void Task::fetch() const { fetch_lines(this, &fault); }

Task::~Task() { delete family_.load(std::memory_order_relaxed); }

Children& Task::family() {
  Children* known = family_if_any();
  if (known != nullptr) return *known;
  auto made = std::make_unique<Children>();
  if (family_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *known;
}

// `graph.submitted` is the scheduler's: whether it looks at the task. `distribution` stays that of a finished
// grid until the launch controllers describe another one: its lines are those of the core that does.
void Task::renew() {
  if (const auto* grid = std::get_if<GridWork>(&work); grid != nullptr && grid->cooperative)
    set_grid_workspace();  // its memory is there
  state.store(0, std::memory_order_relaxed);
  if (stop.load(std::memory_order_relaxed) != 0) stop.store(0, std::memory_order_relaxed), fault = {};
  preempted.store(false, std::memory_order_relaxed);
  started_ns.store(0, std::memory_order_relaxed);
  finished_ns = 0;
  awaited_by.store(nullptr, std::memory_order_relaxed);
  graph.waiting_for.store(0, std::memory_order_relaxed);
  graph.successors.clear();
  graph.dependents.clear();
  graph.followers.clear();
  graph.next = nullptr;
  graph.triggered = graph.begun = graph.complete = false;
  prerequisites.store(0, std::memory_order_relaxed);
  idle.store(0, std::memory_order_relaxed);
  triggered.store(0, std::memory_order_relaxed);
  begun.store(0, std::memory_order_relaxed);
  parent = nullptr;
  counted = nullptr;
  unfinished.store(1, std::memory_order_relaxed);
  if (family_if_any() != nullptr) delete family_.exchange(nullptr, std::memory_order_relaxed);
}

}  // namespace raddle::machine
