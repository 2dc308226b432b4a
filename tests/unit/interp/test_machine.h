// A machine just large enough to test the interpreter: one CTA, its warps as coroutines on one thread, round
// robin.
#pragma once

#include <ucontext.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "ptx/module.h"

namespace raddle::interp {

class TestMachine {
 public:
  TestMachine();
  ~TestMachine();

  /// Parses a module of the text; a missing `.version` header is put in front.
  bool load(const std::string& text);
  /// Compiles and runs a kernel with one CTA. @returns the fault, FaultKind::none if it ended well
  exec::FaultKind run(const std::string& kernel, std::uint32_t threads,
                      const std::vector<std::uint64_t>& arguments = {}, std::uint32_t dynamic_shared = 0);

  std::string error;                   ///< of load or compile
  std::uint32_t block[3] = {0, 1, 1};  ///< x is set by run unless set before
  std::uint32_t fault_lane = 0, fault_line = 0;
  std::uint64_t fault_address = 0;
  std::string printed;
  unsigned yields = 0, barriers_blocked = 0;
  std::uint32_t max_steps = 100000;  ///< switches before the machine gives up with FaultKind::timeout
  std::vector<std::vector<std::byte>> globals;  ///< by VariableId
  ptx::Module module;

 private:
  struct Coroutine;
  friend struct TestServices;
  void link();
  void resume(Coroutine& coroutine);
  void yield(exec::WarpContext* warp);

  std::unique_ptr<exec::Engine> engine_;
  std::vector<std::unique_ptr<Coroutine>> coroutines_;
  std::vector<std::uint64_t> variables_;
  exec::LaunchContext launch_{};
  exec::CtaContext cta_{};
  exec::ClusterContext cluster_{};
  std::atomic<std::uint32_t> poll_{0};
  ucontext_t main_{};
  exec::FaultKind fault_ = exec::FaultKind::none;
};

/// Loads and runs a kernel `k(.param .u64 out)`; fails the test if it faults. @returns the words at `out`
std::vector<std::uint32_t> run(const std::string& text, std::uint32_t threads, std::size_t words,
                               std::uint32_t dynamic_shared = 0);

/// Address of a host array as a kernel argument.
template <class T>
std::uint64_t address_of(std::vector<T>& values) {
  return reinterpret_cast<std::uint64_t>(values.data());
}

}  // namespace raddle::interp
