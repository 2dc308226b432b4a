// Code in the making, one thread for each kernel. LLVM takes minutes for some kernels that look
// like any other, and cannot be interrupted inside a pass. So a launch waits for optimised code only for a
// while and then goes on with quick code, and a compilation that takes more than its budget ends with the
// pass. LLVM also ends the process when it cannot compile something; here only the compilation ends, with an
// error, and its thread stays where it was for good (docs/adr/0027).
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"

namespace raddle::jit {

/// Says whether a compilation may go on; its thread looks between LLVM's passes.
class Effort {
 public:
  /// @param budget  of the thread's processor time, seconds
  explicit Effort(double budget) : budget_(budget) {}
  /// Whether to stop: it was given up, or the calling thread, whose time counts, has used up the budget.
  bool is_over();
  void give_up() { over_.store(true, std::memory_order_relaxed); }

 private:
  const double budget_;
  std::atomic<bool> over_{false};
};

class Compilation {
 public:
  using Object = std::unique_ptr<llvm::MemoryBuffer>;
  /// Null if the effort was over before the code was made, an error if it cannot be made.
  using Outcome = Result<Object>;
  using Make = std::function<Outcome(Effort&)>;
  enum class Urgency : std::uint8_t {
    awaited,     ///< a launch waits for it
    background,  ///< one at a time, while kernels run
  };

  Compilation(Make make, Urgency urgency, double budget)
      : make_(std::move(make)), urgency_(urgency), effort_(budget) {}

  /// Waits until it is made or its thread has used that much processor time; in the latter case it goes on
  /// beside the kernels. Wall time would say more about the machine's load than about the kernel.
  /// @returns null if it is not made
  Outcome await(double seconds);
  /// Calls `use` with the result, unless the compilation is given up: on the compilation's thread or, if the
  /// result is there already, here.
  void then(std::function<void(Outcome)> use);
  /// Takes `use` back, or waits for its end; does not wait for LLVM.
  void give_up();

 private:
  friend class Compilations;
  void run(std::mutex& turn);
  void end(Outcome outcome, bool is_stuck);
  /// Waits for its end, and then for the end of its thread, if it has one.
  void join(std::thread& thread);
  double seconds_used() const;

  Make make_;
  const Urgency urgency_;
  Effort effort_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<pid_t> thread_{0};
  Outcome outcome_{Object()};
  std::function<void(Outcome)> use_;
  bool ended_ = false, is_stuck_ = false;
};

/// An engine's compilations.
class Compilations {
 public:
  Compilations();
  /// Gives all of them up and leaves them to the end of the process: a pass cannot be interrupted.
  ~Compilations();
  Compilations(const Compilations&) = delete;
  Compilations& operator=(const Compilations&) = delete;

  std::shared_ptr<Compilation> start(Compilation::Make make, Compilation::Urgency urgency, double budget);
  /// Gives all of them up and waits for the end of the pass that each is in; nothing is started from then on.
  void stop();
  /// The same for those that run now.
  void end_running();

 private:
  friend struct AtExit;
  struct Running {
    std::shared_ptr<Compilation> compilation;
    std::thread thread;
  };
  static void join_ended(std::list<Running>& all);
  static void join_all(std::list<Running>& all);

  std::mutex mutex_;
  std::list<Running> running_;
  std::shared_ptr<std::mutex> turn_ = std::make_shared<std::mutex>();  ///< of compilations in the background
  bool stopping_ = false;
};

}  // namespace raddle::jit
