// User-level threads: a stack and a switch between stacks, no system call (K-2). Used by the machine for
// blocks and warps. A fiber may be abandoned: prepare() drops whatever ran on it, without unwinding. The
// floating-point control words (MXCSR, x87) are not saved by a switch: all fibers of a thread share them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::base {

class Fiber {
 public:
  using Entry = void (*)(void* argument);  ///< must not return

  /// A fiber without allocate() stands for the calling thread's own stack while another fiber runs.
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Maps a stack of at least `bytes` with a guard zone below it; keeps a large enough one.
  /// @param colour  shifts the top so that fibers used in turn do not share cache sets
  /// @returns false if the system has no memory for it
  bool allocate(std::size_t bytes, unsigned colour = 0);
  /// The next switch to this fiber starts entry(argument) on an empty stack.
  void prepare(Entry entry, void* argument);

  /// Saves the running context in `from` and continues `to`. Returns when something switches back to `from`.
  static void switch_to(Fiber& from, Fiber& to);

  bool has_stack() const { return low_ != nullptr; }
  std::byte* stack_top() const { return top_; }  ///< 16-byte aligned
  /// Whether an address lies in the stack's guard zone: the fiber overflowed.
  bool in_guard(std::uint64_t address) const;

 private:
  [[noreturn]] static void run(Fiber* fiber);
  void release();

  void* stack_pointer_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  std::byte* map_ = nullptr;  // guard zone, then the stack
  std::byte* low_ = nullptr;
  std::byte* top_ = nullptr;
  std::size_t bytes_ = 0;
  // Sanitizers: what they call this stack, and the fiber that switched here last.
  void* tsan_ = nullptr;
  bool tsan_owned_ = false;
  void* asan_fake_ = nullptr;
  const void* asan_low_ = nullptr;
  std::size_t asan_bytes_ = 0;
};

}  // namespace raddle::base
