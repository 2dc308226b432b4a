// Touching memory that may not be there, as a program may unmap it at any time: the fault is the caller's to
// handle, and does not end the process.
#pragma once

#include <setjmp.h>

#include <cstdint>
#include <optional>

namespace raddle::machine {

/// Where memory was missing.
struct MissingMemory {
  std::uint64_t address = 0;
  bool is_write = false;
};

class GuardedAccess {
 public:
  /// Calls a function that touches such memory and does nothing else: it is left in its middle, so it takes
  /// no lock and owns nothing. After install_fault_handlers() (machine/sm/signals.h).
  /// @returns nothing: all of it was there
  template <class Access>
  static std::optional<MissingMemory> attempt(const Access& access) {
    GuardedAccess guard;
    // The signal's handler returns before the jump, so the mask of signals is as it was.
    if (sigsetjmp(guard.before_, 0) != 0) return guard.missing_;
    access();
    return std::nullopt;
  }

  // For the handler of signals: of the thread that was interrupted; null: it is in no such function.
  static GuardedAccess* current();
  void note(const MissingMemory& missing) { missing_ = missing; }
  /// Leaves the function.
  [[noreturn]] static void leave();

  GuardedAccess(const GuardedAccess&) = delete;
  GuardedAccess& operator=(const GuardedAccess&) = delete;

 private:
  GuardedAccess();
  ~GuardedAccess();

  sigjmp_buf before_;
  MissingMemory missing_;
};

}  // namespace raddle::machine
