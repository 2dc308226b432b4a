// The kernels that a device has loaded for graphs.
#pragma once

#include <map>
#include <memory>

#include "raddle/graph/kernel_code.h"

namespace raddle::graph {

class Modules {
 public:
  explicit Modules(Device& device) : device_(device) {}
  /// Loads the program if it is the first kernel of it. @errors as Device::load and Module::kernel
  Result<Kernel> kernel(const KernelCode& code) {
    auto& module = modules_[code.program()];
    if (module == nullptr) {
      TRY_ASSIGN(Module loaded, device_.load(*code.program()));
      module = std::make_unique<Module>(std::move(loaded));
    }
    return module->kernel(code.name());
  }

 private:
  Device& device_;
  std::map<std::shared_ptr<const Program>, std::unique_ptr<Module>> modules_;
};

}  // namespace raddle::graph
