// How work and what it uses end: things go when the work that may use them is done; a device's work can be
// cancelled as a whole.
#include <thread>

#include "runtime/device_impl.h"

namespace raddle {

machine::Task* Device::Impl::point() {
  std::vector<machine::Task*> last;
  {
    const std::lock_guard lock(streams_mutex);
    for (Stream::Impl* stream : streams) last.push_back(stream->retain_last());
  }
  machine::Task* marker = tasks().acquire();
  tasks().submit(*marker, last);
  for (machine::Task* task : last) tasks().release(task);
  return marker;
}

void Device::Impl::after_work(std::function<void()> function) {
  end_what_is_done();
  machine::Task* after = point();
  if (after->done()) {
    tasks().release(after);
    return function();
  }
  const std::lock_guard lock(endings_mutex_);
  endings_.push_back({after, std::move(function)});
  has_endings_.store(true, std::memory_order_release);
}

// The functions are called, and destroyed, without the lock: they may bring about others.
void Device::Impl::end_what_is_done() {
  if (!has_endings_.load(std::memory_order_acquire)) return;  // every wait asks
  std::vector<Ending> done;
  {
    const std::lock_guard lock(endings_mutex_);
    std::erase_if(endings_, [&](Ending& ending) {
      if (!ending.after->done()) return false;
      done.push_back(std::move(ending));
      return true;
    });
    has_endings_.store(!endings_.empty(), std::memory_order_relaxed);
  }
  for (const Ending& ending : done) {
    tasks().release(ending.after);
    ending.function();
  }
}

namespace {
/// Between two looks at work that nobody can be told about.
constexpr std::chrono::microseconds kPause{100};
}  // namespace

/// Waits until all is done, or nothing has ended for so long.
void Device::Impl::let_finish(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto ended = [this] { return tasks().completed() + space->blocks_completed(); };
  std::uint64_t before = ended();
  for (auto since = Clock::now(); !tasks().idle() && Clock::now() - since < patience;) {
    std::this_thread::sleep_for(kPause);
    if (const std::uint64_t now = ended(); now != before) before = now, since = Clock::now();
  }
}

bool Device::Impl::cancel(std::chrono::milliseconds patience) {
  let_finish(patience);
  space->cancel();
  while (!tasks().only_callbacks_left()) std::this_thread::sleep_for(kPause);
  space->output().flush();
  end_what_is_done();
  return tasks().idle();
}

Event Device::record() { return Event(std::make_unique<Event::Impl>(*impl_, *impl_->point())); }
void Device::after_work(std::function<void()> function) { impl_->after_work(std::move(function)); }
bool Device::cancel(std::chrono::milliseconds patience) { return impl_->cancel(patience); }
bool Device::cancelled() const { return impl_->space->cancelled(); }
bool Device::idle() const { return impl_->tasks().idle(); }

}  // namespace raddle
