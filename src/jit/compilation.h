// Optimised code in the making, each kernel's on a thread of its own. LLVM takes minutes for some kernels
// that look like any other, and cannot be interrupted inside a pass: so a launch waits for a compilation only
// for a while, and goes on with quick code; and what takes more than its budget is given up at the end of the
// pass.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace raddle::jit {

/// What a compilation may still do; its thread looks between LLVM's passes.
class Effort {
 public:
  /// @param budget  of the thread's processor time, seconds
  explicit Effort(double budget) : budget_(budget) {}
  /// Whether to stop: given up, or the calling thread, whose time this is, has used the budget up.
  bool is_over();
  void give_up() { over_.store(true, std::memory_order_relaxed); }

 private:
  const double budget_;
  std::atomic<bool> over_{false};
};

class Compilation {
 public:
  using Object = std::unique_ptr<llvm::MemoryBuffer>;
  using Make = std::function<Object(Effort&)>;  ///< null when the effort was over before it was made
  enum class Urgency : std::uint8_t {
    awaited,     ///< a launch waits for it
    background,  ///< one at a time, while kernels run
  };

  Compilation(Make make, Urgency urgency, double budget)
      : make_(std::move(make)), urgency_(urgency), effort_(budget) {}

  /// Waits until it is made or its thread has used that much processor time; in the latter case it goes on
  /// behind the kernels. Time on the clock would say more of the machine's load than of the kernel.
  /// @returns null if it is not made
  Object await(double seconds);
  /// Calls `use` with the object when it is made, on the compilation's thread or, if that is so already,
  /// here.
  void then(std::function<void(Object)> use);
  /// Takes `use` back, or waits for its end; does not wait for LLVM.
  void give_up();

 private:
  friend class Compilations;
  void run(std::mutex& turn);
  double seconds_used() const;

  Make make_;
  const Urgency urgency_;
  Effort effort_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<pid_t> thread_{0};
  Object object_;
  std::function<void(Object)> use_;
  bool ended_ = false;
};

/// An engine's compilations.
class Compilations {
 public:
  Compilations();
  /// Gives all of them up and waits for their threads: for the end of the pass that each is in.
  ~Compilations();
  Compilations(const Compilations&) = delete;
  Compilations& operator=(const Compilations&) = delete;

  std::shared_ptr<Compilation> start(Compilation::Make make, Compilation::Urgency urgency, double budget);
  /// Waits as the destructor does; nothing is started from then on.
  void stop();

 private:
  struct Running {
    std::shared_ptr<Compilation> compilation;
    std::thread thread;
  };
  void join_ended();

  std::mutex mutex_;
  std::list<Running> running_;
  std::mutex turn_;  ///< of what runs in the background
  bool stopping_ = false;
};

}  // namespace raddle::jit
