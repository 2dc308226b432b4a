#include "jit/compilation.h"

#include <llvm/Support/ErrorHandling.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>

namespace raddle::jit {
namespace {

/// The processor time of any thread of this process: Linux derives the clock's number from the thread's.
double seconds_of(pid_t thread) {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6u);
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

/// A program that ends while LLVM works would destroy LLVM's options and tables under it: the end of the
/// process waits. Never destroyed, as engines may outlive it.
struct AtExit {
  const pid_t process = getpid();
  std::mutex mutex;
  std::set<Compilations*> live;
  std::list<Compilations::Running> left;  // by engines that went

  static AtExit& instance() {
    static AtExit& all = *new AtExit;
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { instance().end(&Compilations::stop); }); });
    return all;
  }
  void end(void (Compilations::*how)()) {
    if (getpid() != process) return;  // a forked child has none of these threads
    std::lock_guard lock(mutex);
    for (Compilations* compilations : live) (compilations->*how)();
    Compilations::join_all(left);
  }
};

namespace {

/// Tables that LLVM made after the handler above was registered are destroyed before it is called. What the
/// main thread has of its own goes before both.
struct MainThread {
  ~MainThread() {
    if (gettid() == getpid()) AtExit::instance().end(&Compilations::end_running);
  }
};

/// @returns true
bool wait_at_end_of_main_thread() {
  static thread_local MainThread end;
  (void)&end;
  return true;
}

/// Mostly the main thread loads the library.
[[maybe_unused]] const bool kWaitsAtEnd = wait_at_end_of_main_thread();

/// What this thread does when LLVM finds a fatal error in its work; null: LLVM ends the process, as it does.
thread_local const std::function<void(const char*)>* fatal = nullptr;

/// Called by LLVM where it would end the process. Neither return nor exception may lead back through LLVM,
/// whose state is unknown, so the thread goes no further.
void on_fatal_error(void*, const char* reason, bool) {
  if (fatal == nullptr) return;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // what is meant for the process finds another thread
  (*fatal)(reason);
  for (;;) pause();
}

void catch_fatal_errors() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
}

}  // namespace

bool Effort::is_over() {
  if (!over_.load(std::memory_order_relaxed) && seconds_of(gettid()) > budget_) give_up();
  return over_.load(std::memory_order_relaxed);
}

void Compilation::run(std::mutex& turn) {
  thread_.store(gettid(), std::memory_order_relaxed);
  std::unique_lock<std::mutex> mine;
  if (urgency_ == Urgency::background) mine = std::unique_lock(turn);
  const std::function<void(const char*)> stuck = [&](const char* reason) {
    if (mine.owns_lock()) mine.unlock();
    end(Error::unsupported("LLVM cannot compile it: {}", reason), true);
  };
  fatal = &stuck;
  Outcome outcome = effort_.is_over() ? Outcome(Object()) : make_(effort_);
  fatal = nullptr;
  make_ = nullptr;  // what it holds may be large
  end(std::move(outcome), false);
}

void Compilation::end(Outcome outcome, bool is_stuck) {
  std::lock_guard lock(mutex_);
  if (use_ && !(outcome && *outcome == nullptr))
    use_(std::move(outcome));
  else
    outcome_ = std::move(outcome);
  ended_ = true;
  is_stuck_ = is_stuck;
  changed_.notify_all();
}

void Compilation::join(std::thread& thread) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_; });
  const bool is_stuck = is_stuck_;
  lock.unlock();
  if (is_stuck)
    thread.detach();
  else
    thread.join();
}

double Compilation::seconds_used() const {
  const pid_t thread = thread_.load(std::memory_order_relaxed);
  return thread == 0 ? 0 : seconds_of(thread);
}

Compilation::Outcome Compilation::await(double seconds) {
  constexpr auto kLook = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex_);
  while (!ended_ && seconds_used() < seconds) changed_.wait_for(lock, kLook);
  return std::exchange(outcome_, Object());
}

void Compilation::then(std::function<void(Outcome)> use) {
  std::lock_guard lock(mutex_);
  if (!ended_)
    use_ = std::move(use);
  else if (!(outcome_ && *outcome_ == nullptr))
    use(std::exchange(outcome_, Object()));
}

void Compilation::give_up() {
  effort_.give_up();
  std::lock_guard lock(mutex_);
  use_ = nullptr;
}

Compilations::Compilations() {
  catch_fatal_errors();
  AtExit& all = AtExit::instance();
  std::lock_guard lock(all.mutex);
  all.live.insert(this);
}

Compilations::~Compilations() {
  AtExit& all = AtExit::instance();
  std::lock_guard lock(all.mutex);  // from here on the end of the process does not stop these
  all.live.erase(this);
  for (Running& r : running_) r.compilation->give_up();
  all.left.splice(all.left.end(), running_);
  join_ended(all.left);
}

std::shared_ptr<Compilation> Compilations::start(Compilation::Make make, Compilation::Urgency urgency,
                                                 double budget) {
  auto compilation = std::make_shared<Compilation>(std::move(make), urgency, budget);
  std::lock_guard lock(mutex_);
  join_ended(running_);
  if (stopping_) compilation->give_up();
  running_.push_back({compilation, std::thread([turn = turn_, compilation] { compilation->run(*turn); })});
  return compilation;
}

void Compilations::join_ended(std::list<Running>& all) {
  std::erase_if(all, [](Running& running) {
    {
      std::lock_guard lock(running.compilation->mutex_);
      if (!running.compilation->ended_) return false;
    }
    running.compilation->join(running.thread);
    return true;
  });
}

void Compilations::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  end_running();
}

void Compilations::end_running() {
  std::list<Running> running;
  {
    std::lock_guard lock(mutex_);
    running.swap(running_);
  }
  for (Running& r : running) r.compilation->give_up();
  join_all(running);
}

void Compilations::join_all(std::list<Running>& all) {
  for (Running& r : all) r.compilation->join(r.thread);
  all.clear();
}

}  // namespace raddle::jit
