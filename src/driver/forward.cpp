// See forward.h.
#include "driver/forward.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/gpu_driver.h"
#include "driver/abi.h"

namespace raddle::driver {
namespace {

bool has_gpu(void* driver) {
  const auto initialise = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<CUresult (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  return initialise != nullptr && count != nullptr && initialise(0) == CUDA_SUCCESS &&
         count(&devices) == CUDA_SUCCESS && devices > 0;
}

/// Decided at the first call of any entry, once for the process.
struct Target {
  void* driver = nullptr;
  bool missing = false;

  Target() {
    const char* value = std::getenv("RADDLE_TARGET");
    const std::string_view wanted = value == nullptr ? "" : value;
    if (wanted.empty() || wanted == "cpu") return;
    if (wanted != "gpu" && wanted != "auto") {
      fmt::print(stderr, "raddle: RADDLE_TARGET is \"{}\"; it may be cpu, gpu or auto\n", wanted);
      missing = true;
      return;
    }
    driver = open_gpu_driver(reinterpret_cast<const void*>(&gpu_is_missing));
    if (driver != nullptr && has_gpu(driver)) return;
    driver = nullptr;
    if (wanted == "auto") return;
    missing = true;
    fmt::print(stderr,
               "raddle: RADDLE_TARGET asks for a GPU, of which this machine has none (RADDLE_GPU_DRIVER "
               "names its driver)\n");
  }
};

const Target& target() {
  static const Target target;
  return target;
}

}  // namespace

namespace {
/// In place of what an older driver does not have; what arguments there are does not matter to it.
CUresult not_there() { return CUDA_ERROR_NOT_SUPPORTED; }
}  // namespace

void* gpu_function(const char* symbol) {
  void* const driver = target().driver;
  if (driver == nullptr) return nullptr;
  void* const function = dlsym(driver, symbol);
  return function != nullptr ? function : reinterpret_cast<void*>(&not_there);
}

bool gpu_is_missing() { return target().missing; }

}  // namespace raddle::driver
