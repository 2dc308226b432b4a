// A mutex for what is held for a microsecond or two: who finds it taken spins before it sleeps, since waking
// a sleeper costs both sides more than the wait (base/futex.h). Works with std::lock_guard.
#pragma once

#include <mutex>

#include "base/futex.h"

namespace raddle::base {

class SpinningMutex {
 public:
  void lock() {
    if (!spin_until([this] { return mutex_.try_lock(); })) mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace raddle::base
