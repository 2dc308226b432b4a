// One way to run the benchmark's kernels. A system that cannot run here says why; it is never left out
// silently.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workload.h"

namespace bench {

class System {
 public:
  virtual ~System() = default;
  virtual std::string_view name() const = 0;
  /// Why nobody would write this kernel for this system; empty: it has a version.
  virtual std::string why_not(Kernel) const { return {}; }
  /// Builds to choose the best from ("g++-12 -O3 ..."); most systems have one.
  virtual std::vector<std::string> variants() const { return {""}; }
  /// Compiles and binds the workload's kernel and buffers. The workload outlives the preparation.
  /// @errors unsupported: what it takes is not here
  virtual Result<void> prepare(Workload& workload, const std::string& variant) = 0;
  /// Makes the host's buffers the kernel's input.
  virtual Result<void> upload() { return {}; }
  /// Runs once; returns when the results are complete. The benchmark times this call.
  virtual Result<void> run() = 0;
  virtual Result<void> download() { return {}; }
  /// What a reader should know about the code that ran: engine, block kind, flags.
  virtual std::string remark() const { return {}; }
  /// Frees the resources of prepare().
  virtual void release() {}
};

/// @param name one of system_names()
/// @errors     why it is not here
Result<std::unique_ptr<System>> make_system(std::string_view name);

// What make_system() chooses from, each in a file of its own. `simd` as in raddle::DeviceOptions.
Result<std::unique_ptr<System>> make_raddle_system(std::string_view name, std::string_view simd,
                                                   bool windowed);
Result<std::unique_ptr<System>> make_pocl_system();
Result<std::unique_ptr<System>> make_openmp_system(std::string_view name, std::string_view simd);
Result<std::unique_ptr<System>> make_library_system();

}  // namespace bench
