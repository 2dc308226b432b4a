// Streams and events: a stream is the last task submitted to it, an event is a marker task.
#include <algorithm>

#include "runtime/device_impl.h"

namespace raddle {

using machine::Task;

Stream::Impl::Impl(Device::Impl& owner, int level) : device(owner), priority(level) {
  std::lock_guard lock(device.streams_mutex);
  device.streams.push_back(this);
}

Stream::Impl::~Impl() {
  if (last_ != nullptr) last_->wait();
  std::lock_guard lock(device.streams_mutex);
  std::erase(device.streams, this);
  device.tasks().release(last_);
}

namespace {
bool is_at_trigger(const Task& task) {
  const auto* marker = std::get_if<machine::MarkerWork>(&task.work);
  return marker != nullptr && marker->at_trigger;
}

/// The grid behind which a server starts another one by itself: it takes grids of a priority in their order.
struct Predecessor {
  std::uint64_t number = 0;  // 0: none
  int priority = 0;
  bool at_trigger = false;
};
Predecessor predecessor(const Task* before) {
  if (before == nullptr) return {};
  if (const auto* grid = std::get_if<machine::GridWork>(&before->work))
    return {grid->number, before->priority, false};
  const auto* marker = std::get_if<machine::MarkerWork>(&before->work);
  if (marker == nullptr || !marker->at_trigger) return {};
  return {marker->number, marker->priority, true};
}
}  // namespace

/// Numbers a grid, and says behind which one the server starts it. @returns whether there is one: then it may
/// be sent when that has been
bool Stream::Impl::chain(Task& task, const Task* before, bool begins_early) {
  machine::GridWork& grid = task.grid();
  const Predecessor known = predecessor(before);
  const bool is_chained = known.number != 0 && known.priority == task.priority;
  grid.number = device.server->next_number();
  grid.behind = is_chained ? known.number : 0;
  grid.behind_trigger = begins_early || known.at_trigger;
  return is_chained;
}

// A marker of a trigger is itself one for what comes after it: all of them trigger in turn, and are complete
// in turn, so that who waits for the end of one waits for the grid's.
void Stream::Impl::submit(Task& task, const How& how) {
  task.priority = how.priority.value_or(priority);
  const bool is_grid = std::holds_alternative<machine::GridWork>(task.work);
  const bool also_early = how.also != nullptr && is_at_trigger(*how.also);
  auto* const marker = std::get_if<machine::MarkerWork>(&task.work);
  Task* before;
  {
    std::lock_guard lock(mutex_);
    // The stream's, and for a task that nobody else has yet the scheduler's, too.
    if (how.is_given)
      machine::TaskScheduler::retain_given(task);
    else
      device.tasks().retain(task);
    before = last_;
    last_ = &task;
    // A wait for something else does not keep the launch behind it from beginning early.
    const bool goes_on = marker != nullptr && how.also != nullptr && last_at_trigger_;
    if (goes_on) marker->at_trigger = true;
    const bool early = is_grid && device.server != nullptr
                           ? chain(task, before, how.begins_early)
                           : how.begins_early || goes_on || (is_grid && last_at_trigger_);
    last_at_trigger_ = is_at_trigger(task);
    if (last_at_trigger_) {
      const Predecessor known = predecessor(also_early ? how.also : before);
      marker->number = known.number, marker->priority = known.priority;
    }
    Task* const after[] = {early ? nullptr : before, also_early ? nullptr : how.also};
    Task* const after_trigger[] = {early ? before : nullptr, also_early ? how.also : nullptr};
    const machine::TaskScheduler::Submission one{
        .task = &task, .after = after, .after_trigger = after_trigger, .is_retained = how.is_given};
    device.tasks().submit({&one, 1});
  }
  device.tasks().release(before);
}

Task* Stream::Impl::retain_last() {
  std::lock_guard lock(mutex_);
  if (last_ != nullptr) device.tasks().retain(*last_);
  return last_;
}

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

void Stream::Impl::submit(machine::Work work) {
  Task* task = device.tasks().acquire();
  task->work = std::move(work);
  submit(*task, {.is_given = true});
}

Result<void> Stream::write(DevicePtr to, const void* from, std::uint64_t bytes) {
  return impl_->copy({impl_->device.at(to), machine::of_host(from), bytes});
}

Result<void> Stream::read(void* to, DevicePtr from, std::uint64_t bytes) {
  return impl_->copy({machine::of_host(to), impl_->device.at(from), bytes});
}

Result<void> Stream::copy(DevicePtr to, DevicePtr from, std::uint64_t bytes) {
  return impl_->copy({impl_->device.at(to), impl_->device.at(from), bytes});
}

Result<void> Stream::fill(DevicePtr to, std::uint8_t value, std::uint64_t bytes) {
  return fill(RowFill{.to = to, .word = value, .width = bytes});
}

void Stream::wait(const WordCondition& condition) { impl_->submit(machine::WaitWork{condition}); }

void Stream::set_priority(int priority) { impl_->priority = priority; }

void Stream::call(std::function<void()> function) { impl_->submit(machine::CallWork{std::move(function)}); }

Event Stream::record() {
  Task* marker = impl_->device.tasks().acquire();
  impl_->submit(*marker);
  return Event(std::make_unique<Event::Impl>(impl_->device, *marker));  // takes over the reference
}

Event Stream::record_trigger() {
  Task* marker = impl_->device.tasks().acquire();
  marker->work = machine::MarkerWork{.at_trigger = true};
  impl_->submit(*marker, {.begins_early = true});
  return Event(std::make_unique<Event::Impl>(impl_->device, *marker));
}

// Beside the stream: nothing in it waits for this.
Event Stream::record_begin() {
  machine::TaskScheduler& tasks = impl_->device.tasks();
  Task* const marker = tasks.acquire();
  Task* const launch[] = {impl_->retain_last()};
  const machine::TaskScheduler::Submission one{.task = marker, .after = {}, .after_begin = launch};
  tasks.submit({&one, 1});
  tasks.release(launch[0]);
  return Event(std::make_unique<Event::Impl>(impl_->device, *marker));
}

void Stream::wait(const Event& event) {
  Task* marker = impl_->device.tasks().acquire();
  marker->work = machine::MarkerWork{.at_trigger = is_at_trigger(event.impl_->marker)};
  impl_->submit(*marker, {.also = &event.impl_->marker, .is_given = true});
}

bool Stream::Impl::done() {
  const std::lock_guard lock(mutex_);
  return last_ == nullptr || last_->done();
}

bool Stream::done() const { return impl_->done(); }

Result<void> Stream::synchronize() {
  if (!impl_->done()) {
    Task* last = impl_->retain_last();
    last->wait();
    impl_->device.tasks().release(last);
  }
  impl_->device.space->output().flush();
  impl_->device.end_what_is_done();
  return impl_->device.status();
}

Event::Event(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Event::Event(const Event& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Event& Event::operator=(const Event& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Event::~Event() = default;

void Event::wait() const { impl_->marker.wait(); }
bool Event::done() const { return impl_->marker.done(); }

WordCondition Event::condition() const {
  return {.word = &impl_->marker.state,
          .comparison = WordCondition::Comparison::equal,
          .value = machine::Task::kDone,
          .holds = std::make_shared<Event>(*this)};
}

double Event::elapsed_ms(const Event& start) const {
  if (!done() || !start.done()) return 0;
  return (static_cast<double>(impl_->marker.finished_ns) -
          static_cast<double>(start.impl_->marker.finished_ns)) *
         1e-6;
}

}  // namespace raddle
