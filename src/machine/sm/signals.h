// Memory faults of kernels: signal handlers that turn SIGSEGV, SIGBUS, SIGFPE and SIGILL of a worker inside
// kernel code into an abandoned block. Every other signal goes to the handler that was there before.
#pragma once

#include <cstddef>

namespace raddle::machine {

/// Installs the handlers once per process.
void install_fault_handlers();

/// The alternate signal stack and signal mask of a worker thread, for as long as this object lives.
class ThreadSignals {
 public:
  ThreadSignals();
  ~ThreadSignals();
  ThreadSignals(const ThreadSignals&) = delete;
  ThreadSignals& operator=(const ThreadSignals&) = delete;

 private:
  void* stack_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace raddle::machine
