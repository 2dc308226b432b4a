#include "jit/compilation.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>

namespace raddle::jit {
namespace {

constexpr int kBehindKernels = 10;  // nice value

/// The processor time of any thread of this process: Linux derives the clock's number from the thread's.
double seconds_of(pid_t thread) {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6u);
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// A program that ends while LLVM works would destroy LLVM's options under it: the end of the process waits.
/// Never destroyed, as engines may outlive it.
struct AtExit {
  std::mutex mutex;
  std::set<Compilations*> live;

  static AtExit& instance() {
    static AtExit& all = *new AtExit;
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { instance().stop_all(); }); });
    return all;
  }
  void stop_all() {
    std::lock_guard lock(mutex);
    for (Compilations* compilations : live) compilations->stop();
  }
};

}  // namespace

bool Effort::is_over() {
  if (!over_.load(std::memory_order_relaxed) && seconds_of(gettid()) > budget_) give_up();
  return over_.load(std::memory_order_relaxed);
}

void Compilation::run(std::mutex& turn) {
  thread_.store(gettid(), std::memory_order_relaxed);
  std::unique_lock<std::mutex> mine;
  if (urgency_ == Urgency::background) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBehindKernels);
    mine = std::unique_lock(turn);
  }
  Object object = effort_.is_over() ? nullptr : make_(effort_);
  make_ = nullptr;  // what it holds may be large
  std::lock_guard lock(mutex_);
  object_ = std::move(object);
  if (use_ && object_) use_(std::move(object_));
  ended_ = true;
  changed_.notify_all();
}

double Compilation::seconds_used() const {
  const pid_t thread = thread_.load(std::memory_order_relaxed);
  return thread == 0 ? 0 : seconds_of(thread);
}

Compilation::Object Compilation::await(double seconds) {
  constexpr auto kLook = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex_);
  while (!ended_ && seconds_used() < seconds) changed_.wait_for(lock, kLook);
  const pid_t thread = thread_.load(std::memory_order_relaxed);
  if (!ended_ && thread != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(thread), kBehindKernels);
  return std::move(object_);
}

void Compilation::then(std::function<void(Object)> use) {
  std::lock_guard lock(mutex_);
  if (!ended_)
    use_ = std::move(use);
  else if (object_)
    use(std::move(object_));
}

void Compilation::give_up() {
  effort_.give_up();
  std::lock_guard lock(mutex_);
  use_ = nullptr;
}

Compilations::Compilations() {
  AtExit& all = AtExit::instance();
  std::lock_guard lock(all.mutex);
  all.live.insert(this);
}

Compilations::~Compilations() {
  AtExit& all = AtExit::instance();
  {
    std::lock_guard lock(all.mutex);
    all.live.erase(this);
  }
  stop();
}

std::shared_ptr<Compilation> Compilations::start(Compilation::Make make, Compilation::Urgency urgency,
                                                 double budget) {
  auto compilation = std::make_shared<Compilation>(std::move(make), urgency, budget);
  std::lock_guard lock(mutex_);
  join_ended();
  if (stopping_) compilation->give_up();
  running_.push_back({compilation, std::thread([this, compilation] { compilation->run(turn_); })});
  return compilation;
}

void Compilations::join_ended() {
  std::erase_if(running_, [](Running& running) {
    {
      std::lock_guard lock(running.compilation->mutex_);
      if (!running.compilation->ended_) return false;
    }
    running.thread.join();
    return true;
  });
}

void Compilations::stop() {
  std::list<Running> running;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    running.swap(running_);
  }
  for (Running& r : running) r.compilation->give_up();
  for (Running& r : running) r.thread.join();
}

}  // namespace raddle::jit
