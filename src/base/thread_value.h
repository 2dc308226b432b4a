// A value of each thread that can be used until the process ends. A plain thread_local object with a
// destructor cannot: the main thread's are destroyed before a program's static objects, whose destructors
// still call the API.
#pragma once

#include <utility>

namespace raddle {

/// The calling thread's value for `Tag`, made at its first use and destroyed with the thread. A use
/// after that makes another value, which stays.
template <class T, class Tag>
T& thread_value() {
  static thread_local T* value = nullptr;
  if (value == nullptr) [[unlikely]] {
    value = new T;
    struct End {
      ~End() { delete std::exchange(value, nullptr); }
    };
    static thread_local End end;
    (void)&end;
  }
  return *value;
}

}  // namespace raddle
