// The test machine: runs one CTA of a compiled kernel, or the CTAs of one cluster, on the calling thread:
// warps as ucontext coroutines over exec/abi.h, without the machine. For tests of engines; the machine has
// tests of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "exec/fault.h"
#include "ptx/module.h"

namespace raddle::testing {

/// The outcome of a run. `problem` is empty when the CTA ran to its end.
struct Outcome {
  std::string problem;
  exec::FaultKind fault = exec::FaultKind::none;
  std::uint64_t address = 0;
  std::uint32_t lane = 0, line = 0;
  std::string printed;  ///< by vprintf
  unsigned yields = 0;

  bool ok() const { return problem.empty(); }
};

/// Runs `body`, turning SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT into a message ("" if it returned).
/// Leaks what the body held: good enough to name the culprit and go on with the next test.
std::string guarded(const std::function<void()>& body);

/// Memory of module-scope .global and .const variables, initialised; one per module and run, so that runs
/// start equal.
class ModuleMemory {
 public:
  explicit ModuleMemory(const ptx::Module& module);
  std::span<const std::uint64_t> addresses() const { return addresses_; }

 private:
  std::unique_ptr<std::byte[]> storage_;
  std::vector<std::uint64_t> addresses_;
};

struct CtaLaunch {
  const ptx::Module* module = nullptr;
  ptx::FunctionId kernel = 0;
  exec::Executable* executable = nullptr;
  exec::BlockShape block{32, 1, 1};
  std::span<const std::byte> parameters;  ///< laid out as the kernel's parameter block
  std::uint32_t dynamic_shared = 0;
  std::uint32_t cluster = 1;  ///< CTAs, side by side in x
  /// Bytes by which the memory of the last one lies above its usual place; compiled code does not find it.
  std::uint32_t moved = 0;
};

/// Runs a grid of one CTA, or of one cluster.
Outcome run_cta(const CtaLaunch& launch);

}  // namespace raddle::testing
