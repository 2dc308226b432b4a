// Reuse and completion of tasks.
#include "machine/tasks/task.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "base/futex.h"
#include "machine/tasks/children.h"

namespace raddle::machine {

CtaNeeds needs_of(const GridWork& grid, const SmLimits& sm) {
  CtaNeeds needs;
  needs.threads = grid.threads_per_block;
  needs.warps = (grid.threads_per_block + exec::kWarpSize - 1) / exec::kWarpSize;
  // A kernel never asks for more registers than an SM has: a compiler would spill.
  needs.registers = std::min<std::uint64_t>(
      std::uint64_t{std::min(grid.registers, 255u)} * grid.threads_per_block, sm.registers);
  needs.shared_bytes = grid.shared_model_bytes;
  return needs;
}

void Task::Freer::operator()(std::byte* p) const { std::free(p); }

void Task::set_parameters(std::span<const std::byte> bytes) {
  std::byte* block = few_parameters_;
  if (bytes.size() > sizeof few_parameters_) {
    constexpr std::size_t kAlign = 128;
    const std::size_t wanted = (bytes.size() + kAlign - 1) / kAlign * kAlign;
    if (parameter_capacity_ < wanted) {
      parameters_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlign, wanted)));
      RADDLE_ASSERT(parameters_ != nullptr, "no memory for launch parameters");
      parameter_capacity_ = wanted;
    }
    block = parameters_.get();
  }
  if (!bytes.empty()) std::memcpy(block, bytes.data(), bytes.size());
  grid.context.parameters = block;
}

void Task::set_grid_workspace() {
  grid_workspace_ = {sizeof grid_workspace_, 0};
  grid.context.grid_workspace = reinterpret_cast<std::uint64_t>(&grid_workspace_);
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

Task::~Task() { delete family_.load(std::memory_order_relaxed); }

Children& Task::family() {
  Children* known = family_if_any();
  if (known != nullptr) return *known;
  auto made = std::make_unique<Children>();
  if (family_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *known;
}

void Task::reset() {
  kind = TaskKind::marker;
  priority = 0;
  function = nullptr;
  condition = nullptr;
  state.store(0, std::memory_order_relaxed);
  if (stop.exchange(0, std::memory_order_relaxed) != 0) fault = {};
  started_ns.store(0, std::memory_order_relaxed);
  finished_ns = 0;
  distribution = {};
  graph.waiting_for = 0;
  graph.successors.clear();
  graph.next = nullptr;
  graph.complete = false;  // `submitted` is, since it is in the pool
  parent = nullptr;
  unfinished.store(1, std::memory_order_relaxed);
  delete family_.exchange(nullptr, std::memory_order_relaxed);
}

}  // namespace raddle::machine
