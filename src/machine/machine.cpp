// Construction, time slices and limits, the bell.
#include "machine/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/futex.h"
#include "machine/address_space.h"
#include "machine/shape/host.h"
#include "machine/sm/signals.h"

namespace raddle::machine {

void Doorbell::ring(unsigned workers, const Machine* launched) {
  epoch.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  const Worker* const neighbour = launched != nullptr ? launched->neighbour_of_caller() : nullptr;
  const Worker* self = current_worker();
  unsigned awake = spinners.load(std::memory_order_relaxed) + (self != nullptr && self->unoccupied() ? 1 : 0);
  const bool neighbour_spins = neighbour != nullptr && neighbour->spins();
  if (neighbour_spins && awake != 0) --awake;
  if (workers <= awake) return;
  int wanted = static_cast<int>(workers - awake);
  if (neighbour != nullptr) wanted -= base::futex_wake_of(epoch, wanted, ~neighbour->bell_bit());
  if (wanted > 0 && !neighbour_spins) base::futex_wake(epoch, wanted);
}

void Doorbell::pass_on() {
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  epoch.fetch_add(1, std::memory_order_seq_cst);
  base::futex_wake(epoch, 1);
}

Result<std::shared_ptr<Machine>> Machine::create(MachineOptions options) {
  const HostInfo host = host_info();
  const char* pin = std::getenv("RADDLE_PIN");
  if (pin != nullptr && std::strcmp(pin, "off") == 0) options.pin = false;
  unsigned workers = options.workers == 0 ? host.usable_cores : options.workers;
  if (options.deterministic) workers = 1;
  if (options.asynchrony.mode != Asynchrony::Mode::eager && !options.deterministic)
    return Error::invalid("late copies need a deterministic machine");
  if (workers > host.cpus.size()) {
    return Error::invalid("{} workers wanted, but this process may use {} cores: one worker per core (K-1)",
                          workers, host.cpus.size());
  }
  if (options.shape.sm_count() == 0)
    return Error::invalid("machine shape '{}' has no SM", options.shape.name);
  workers = std::min(workers, options.shape.sm_count());
  std::vector<int> cpus(workers, -1);
  if (options.pin) std::copy_n(host.cpus.begin(), workers, cpus.begin());
  const std::uint64_t capacity =
      options.elsewhere != 0 ? options.elsewhere : std::min(options.shape.memory_bytes, bytes_for_devices());
  TRY_ASSIGN(std::unique_ptr<Policy> policy, make_policy(options.policy));
  TRY(machine::check(options.distributor, options.shape));
  install_fault_handlers();
  return std::shared_ptr<Machine>(
      new Machine(std::move(options), workers, std::move(cpus), capacity, std::move(policy)));
}

Machine::Machine(MachineOptions options, unsigned workers, std::vector<int> cpus, std::uint64_t capacity,
                 std::unique_ptr<Policy> policy)
    : options_(std::move(options)),
      capacity_(capacity),
      launches_(options_.shape, workers, std::move(policy), options_.distributor),
      contexts_(*this, options_),
      clock_([this] { return end_slices(); }) {
  launches_.record(options_.recorder);
  if (options_.elsewhere != 0) return;
  for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(*this, i, cpus[i]));
  for (auto& worker : workers_) worker->start();
}

Machine::~Machine() {
  stopping_.store(true, std::memory_order_release);
  doorbell_.ring(1u << 20);
  for (auto& worker : workers_) worker->join();
  clock_.stop();  // it looks at the workers
}

Result<Mmu*> Machine::mmu() {
  // Besides what programs allocate: parameters, heaps, page tables.
  constexpr std::uint64_t kOwn = 4ull << 30;
  const std::lock_guard lock(mmu_mutex_);
  if (!mmu_) {
    TRY_ASSIGN(mmu_, Mmu::create(options_.mmu, shape(), round_up(capacity_, bytes_of(PageSize::huge)) + kOwn,
                                 contexts_.identifier_sets(), CopyEngines::kCount));
    if (options_.recorder != nullptr) options_.recorder->translates(mmu_);
  }
  return mmu_.get();
}

bool Machine::start(Task& task) {
  if (!options_.deterministic) clock_.attend();  // its thread is not to inherit a worker's core
  if (task.grid().time_limit_ns != 0) clock_.watch(task);
  if (!contexts_.queues()) return launch(task);
  const bool runs = contexts_.start(task);
  if (!options_.deterministic) clock_.attend();  // it counts the time for which contexts wait
  return runs;
}

bool Machine::launch(Task& task) {
  Worker* const self = current_worker();
  if (self != nullptr && self->take_over(task)) return true;
  const auto [workers, is_lone] = launches_.add(task);
  if (workers == 0) return false;
  // Whoever looks for work next anyway takes it: the bell would only bring another worker, to the same lines.
  if (!is_lone || self == nullptr || !self->unoccupied())
    doorbell_.ring(workers, self == nullptr ? this : nullptr);
  return true;
}

const Worker* Machine::neighbour_of_caller() const {
  const int cpu = sched_getcpu();
  for (const auto& worker : workers_)
    if (worker->cpu() == cpu) return worker.get();
  return nullptr;
}

bool Machine::stop(Task& task) {
  for (auto& worker : workers_) worker->raise_poll();
  if (contexts_.queues() && contexts_.drop(task)) return true;
  const bool is_over = launches_.stop(task);
  doorbell_.ring(worker_count());
  contexts_.look();
  return is_over;
}

bool Machine::follow(Task& task) {
  const auto [workers, is_over] = launches_.follow(task);
  if (workers != 0) {
    if (!options_.deterministic) clock_.attend();
    doorbell_.ring(workers);
    if (contexts_.queues()) contexts_.grew(task);
  }
  return is_over;
}

void Machine::confine(std::uint64_t space, const SmLimit& limit) {
  launches_.confine(space, limit);
  doorbell_.ring(worker_count());
}

void Machine::forget(const AddressSpace& space) {
  clock_.forget(space);
  for (const auto& worker : workers_)
    while (worker->completes()) std::this_thread::yield();
}

/// @returns whether some worker has work, or a device context waits for its turn
bool Machine::end_slices() {
  bool any = false;
  for (auto& worker : workers_) any |= worker->end_slice();
  return contexts_.tick() || any;
}

}  // namespace raddle::machine
