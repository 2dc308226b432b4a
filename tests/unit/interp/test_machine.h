// Kernels of a few lines on the interpreter and the test machine (isa/harness/cta.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/access.h"
#include "exec/executable.h"
#include "isa/harness/cta.h"
#include "ptx/module.h"

namespace raddle::interp {

class TestMachine {
 public:
  explicit TestMachine(exec::AccessListener* listener = nullptr);

  /// Parses a module of the text; a missing `.version` header is put in front.
  bool load(const std::string& text);
  /// Compiles and runs a kernel with one CTA. @returns the fault, FaultKind::none if it ended well
  exec::FaultKind run(const std::string& kernel, std::uint32_t threads,
                      const std::vector<std::uint64_t>& arguments = {}, std::uint32_t dynamic_shared = 0);

  std::string error;                     ///< of load or compile
  std::uint32_t block[3] = {0, 1, 1};    ///< x is set by run unless set before
  std::uint32_t cluster = 1, moved = 0;  ///< as CtaLaunch's
  testing::Outcome outcome;              ///< of run
  ptx::Module module;

 private:
  std::unique_ptr<exec::Engine> engine_;
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
