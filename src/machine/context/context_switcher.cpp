// Who is selected, and when. Nothing here waits: whoever ends something, or counts time, comes by and looks.
#include "machine/context/context_switcher.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "machine/address_space.h"

namespace raddle::machine {

ContextSwitcher::ContextSwitcher(Machine& machine, const MachineOptions& options)
    : machine_(machine),
      mode_(options.contexts),
      identifiers_(options.mmu.asids),
      quantum_(options.context_quantum),
      engines_("", kMostContexts, identifiers_) {
  engines_.set_ = kMostContexts;
}

unsigned ContextSwitcher::identifier_sets() const {
  return !mode_ ? 1 : queues() ? kMostContexts + 1 : kMostContexts;
}

// --- spaces come and go ---

DeviceContext* ContextSwitcher::find(const std::string& name) {
  const auto known = std::ranges::find_if(contexts_, [&](const auto& one) { return one->name() == name; });
  return known == contexts_.end() ? nullptr : known->get();
}

/// One that does not queue is selected from the beginning.
Result<DeviceContext*> ContextSwitcher::make(const std::string& name) {
  if (!mode_ && !name.empty())
    return Error::invalid("no device context '{}': the machine has one (DeviceOptions::contexts)", name);
  unsigned number = 0;
  while (std::ranges::any_of(contexts_, [&](const auto& one) { return one->number() == number; })) ++number;
  if (number == kMostContexts)
    return Error::invalid("no device context '{}': there are {}, as many as there can be", name, number);
  DeviceContext& made = *contexts_.emplace_back(std::make_unique<DeviceContext>(name, number, identifiers_));
  if (queues()) {
    machine_.launches().hold(number, true);
  } else {
    made.set_ = number;
    made.selections_ = 1;
    made.done_ = true;
  }
  return &made;
}

Result<DeviceContext*> ContextSwitcher::enter(const std::string& name) {
  const std::lock_guard lock(mutex_);
  DeviceContext* context = find(name);
  if (context == nullptr) {
    TRY_ASSIGN(context, make(name));
  }
  ++context->spaces_;
  return context;
}

void ContextSwitcher::leave(DeviceContext& context) {
  const std::lock_guard lock(mutex_);
  if (--context.spaces_ == 0) erase(context);
}

/// Nothing of it is left.
void ContextSwitcher::erase(DeviceContext& context) {
  std::erase(queue_, &context);
  std::erase(lingering_, &context);
  if (selected_ == &context) selected_ = nullptr;
  std::erase_if(contexts_, [&](const auto& one) { return one.get() == &context; });
  if (queues()) consider();
}

Result<void> ContextSwitcher::add(DeviceContext& context, PagedSpace& table) {
  const std::lock_guard lock(mutex_);
  for (DeviceContext* each : {&context, &engines_}) {
    if (each == &engines_ && !queues()) continue;
    const auto free = std::ranges::find(each->tables_, nullptr);
    if (free == each->tables_.end())
      return Error::make(ErrorCode::out_of_memory, "all {} identifiers of address spaces are taken",
                         identifiers_);
    *free = &table;
    const auto number = static_cast<Asid>(free - each->tables_.begin() + 1);
    if (each == &engines_)
      table.bind_for_engines(asid(kMostContexts, number));
    else
      table.join(number);
  }
  if (context.set_) table.bind(asid(*context.set_, table.number()));
  return {};
}

void ContextSwitcher::remove(DeviceContext& context, PagedSpace& table) {
  const std::lock_guard lock(mutex_);
  table.unbind();
  std::ranges::replace(context.tables_, &table, nullptr);
  std::ranges::replace(engines_.tables_, &table, nullptr);
}

// --- tasks ---

void DeviceContext::Waiting::append(Task& task) {
  task.graph.next = nullptr;
  *end = &task;
  end = &task.graph.next;
}

Task* DeviceContext::Waiting::take() {
  Task* const task = first;
  if (task != nullptr && (first = task->graph.next) == nullptr) end = &first;
  return task;
}

bool DeviceContext::Waiting::remove(const Task& task) {
  for (Task** place = &first; *place != nullptr; place = &(*place)->graph.next) {
    if (*place != &task) continue;
    *place = task.graph.next;
    if (*place == nullptr) end = place;
    return true;
  }
  return false;
}

namespace {
DeviceContext& context_of(const Task& task) { return task.grid().space->context(); }
}  // namespace

// Whoever stops a task sets its `stop` and comes here then: it is seen here, or the task is seen there.
bool ContextSwitcher::start(Task& task) {
  const std::lock_guard lock(mutex_);
  DeviceContext& context = context_of(task);
  if (task.stop.load(std::memory_order_acquire) != 0) return false;
  if (context.is_done()) return machine_.launch(task);
  context.waiting_.append(task);
  enqueue(context);
  consider();
  return true;
}

/// It may not have come here yet: then nobody knows its space.
bool ContextSwitcher::drop(Task& task) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(contexts_, [&](const auto& one) { return one->waiting_.remove(task); });
}

void ContextSwitcher::grew(const Task& task) {
  const std::lock_guard lock(mutex_);
  DeviceContext& context = context_of(task);
  if (context.is_done()) return;
  enqueue(context);
  consider();
}

// --- the queue ---

/// The selected one comes back to it when it is deselected.
void ContextSwitcher::enqueue(DeviceContext& context) {
  if (&context == selected_ || std::exchange(context.is_queued_, true)) return;
  queue_.push_back(&context);
  others_wait_.store(true, std::memory_order_release);
}

void ContextSwitcher::select_others() {
  const std::lock_guard lock(mutex_);
  consider();
}

void ContextSwitcher::consider() {
  look_at_lingering();
  while (!queue_.empty() && may_leave()) {
    if (selected_ != nullptr) deselect();
    DeviceContext& next = *queue_.front();
    queue_.pop_front();
    next.is_queued_ = false;
    select(next);
  }
  if (queue_.empty() && selected_ != nullptr && !selected_->is_done())
    take_tasks(*selected_);  // whoever waited has gone
  others_wait_.store(!queue_.empty() || !lingering_.empty(), std::memory_order_release);
}

/// What runs of a context that was switched from may end, or get on and want more.
void ContextSwitcher::look_at_lingering() {
  std::erase_if(lingering_, [this](DeviceContext* context) {
    const ContextLoad load = machine_.launches().load_of(context->number());
    if (load.is_waiting) enqueue(*context);
    if (load.is_resident) return false;
    unbind(*context);
    return true;
  });
}

/// Whether the selected context, if there is one, has nothing running, and nothing ready or no more time.
bool ContextSwitcher::may_leave() const {
  if (selected_ == nullptr) return true;
  const ContextLoad load = machine_.launches().load_of(selected_->number());
  return !load.is_resident && !(load.is_waiting && selected_->is_done());
}

/// Its tables are bound before its tasks are taken (A-5h, A-5i).
void ContextSwitcher::select(DeviceContext& context) {
  if (std::erase(lingering_, &context) == 0) bind(context, free_set());
  selected_ = &context;
  ticks_ = 0;
  context.selections_.fetch_add(1, std::memory_order_relaxed);
  take_tasks(context);
}

void ContextSwitcher::take_tasks(DeviceContext& context) {
  context.done_.store(true, std::memory_order_release);
  machine_.launches().hold(context.number(), false);
  DeviceContext::Waiting stopped;  // whoever stops them is about to drop them
  while (Task* const task = context.waiting_.take())
    if (!machine_.launch(*task)) stopped.append(*task);
  while (Task* const task = stopped.take()) context.waiting_.append(*task);
  machine_.doorbell().ring(machine_.worker_count());
}

/// Its time is over: what is resident ends, nothing more begins.
void ContextSwitcher::stop_launching() {
  selected_->done_.store(false, std::memory_order_release);
  machine_.launches().hold(selected_->number(), true);
}

void ContextSwitcher::deselect() {
  stop_launching();
  DeviceContext& context = *std::exchange(selected_, nullptr);
  const ContextLoad load = machine_.launches().load_of(context.number());
  if (load.is_waiting || !context.waiting_.empty()) enqueue(context);
  if (load.is_resident)
    lingering_.push_back(&context);
  else
    unbind(context);
}

/// One that only waits, perhaps for what another context or the program does meanwhile, keeps its place on
/// its SMs and its identifiers; the next is selected beside it.
bool ContextSwitcher::tick() {
  if (!others_wait_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  if (selected_ != nullptr && !queue_.empty()) {
    if (++ticks_ == quantum_) stop_launching();
    if (ticks_ / 2 >= quantum_) deselect();
  }
  consider();
  return !queue_.empty();
}

// --- identifiers ---

unsigned ContextSwitcher::free_set() const {
  unsigned set = 0;
  while (std::ranges::any_of(contexts_, [&](const auto& one) { return one->set_ == set; })) ++set;
  return set;
}

void ContextSwitcher::bind(DeviceContext& context, unsigned set) {
  context.set_ = set;
  for (PagedSpace* const table : context.tables_)
    if (table != nullptr) table->bind(asid(set, table->number()));
}

void ContextSwitcher::unbind(DeviceContext& context) {
  context.set_.reset();
  for (PagedSpace* const table : context.tables_)
    if (table != nullptr) table->unbind();
}

// --- places ---

Result<ContextPlace> ContextPlace::take(ContextSwitcher& switcher, const std::string& name) {
  TRY_ASSIGN(DeviceContext* const context, switcher.enter(name));
  return ContextPlace(switcher, *context);
}

ContextPlace::ContextPlace(ContextPlace&& other) noexcept
    : switcher_(other.switcher_),
      context_(std::exchange(other.context_, nullptr)),
      table_(std::exchange(other.table_, nullptr)) {}

ContextPlace::~ContextPlace() {
  if (table_ != nullptr) switcher_->remove(*context_, *table_);
  if (context_ != nullptr) switcher_->leave(*context_);
}

Result<void> ContextPlace::bring(PagedSpace& table) {
  table_ = &table;
  return switcher_->add(*context_, table);
}

}  // namespace raddle::machine
