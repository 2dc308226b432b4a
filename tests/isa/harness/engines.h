// The engines under test (interpreter first: the oracle) and a test kernel compiled by all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "isa/harness/cta.h"
#include "isa/harness/device.h"
#include "ptx/module.h"

namespace raddle::testing {

struct NamedEngine {
  /// "interp", "avx512", "avx2", "sse42" (optimised, however long that takes), "quick" (the quick tier at the
  /// host's width), "quick_avx2", "quick_sse42", "balanced", "balanced_avx2"; with the second form of
  /// jit/together.h wherever that is possible "together", balanced "together_avx2", and in the quick tier
  /// "together_sse42"; likewise with that of
  /// jit/one_by_one.h "one_by_one", "one_by_one_sse42".
  std::string name;
  std::shared_ptr<exec::Engine> engine;  ///< shared by the lists it is in
  std::shared_ptr<Device> device;        ///< instead of an engine: kernels run there
};

/// Engines by comma-separated names; "all": the interpreter and the JIT at each SIMD level that this build
/// and host have, and with threads one by one; "every": also with the other forms.
/// @errors not_found: an unknown name, or a level that the host lacks
Result<std::vector<NamedEngine>> make_engines(std::string_view names);

/// The engines for one batch of cases: the oracle and the host's own engine see every case; what else there
/// is (other vector widths, the quick tier) takes turns, for compiling for a width that the host would not
/// choose is slow.
std::vector<NamedEngine> engines_in_turn(const std::vector<NamedEngine>& engines, std::size_t turn);

/// A module and, per engine, one of its kernels compiled.
class CompiledKernel {
 public:
  /// @errors whatever the parser says; `not_found` without such a kernel. An engine that cannot compile is
  /// kept as an error of its own, see `compile_error`. @param cluster  CTAs that a run has
  static Result<CompiledKernel> create(const std::string& ptx, std::string_view kernel,
                                       const std::vector<NamedEngine>& engines, exec::BlockShape block,
                                       std::uint32_t cluster = 1);

  /// "" if the engine compiled the kernel.
  const std::string& compile_error(std::size_t engine) const { return errors_[engine]; }
  /// Runs on one engine; `arguments` by parameter, each truncated or zero-extended to the parameter's size.
  Outcome run(std::size_t engine, const std::vector<std::vector<std::byte>>& arguments) const;
  const ptx::Module& module() const { return *module_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unique_ptr<ptx::Module> module_;
  ptx::FunctionId kernel_ = 0;
  exec::BlockShape block_;
  std::uint32_t cluster_ = 1;
  std::vector<std::unique_ptr<exec::Executable>> code_;
  std::vector<std::string> errors_;
};

/// An integer argument's bytes.
std::vector<std::byte> argument(std::uint64_t value);

}  // namespace raddle::testing
