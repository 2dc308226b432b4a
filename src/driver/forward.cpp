// See forward.h.
#include "driver/forward.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "driver/abi.h"

namespace raddle::driver {
namespace {

/// Where distributions put NVIDIA's driver. Its name alone would find this library.
constexpr const char* kUsualPlaces[] = {
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
};

/// Deep: its own calls to entries are not to come back to us. Sanitizers do not allow it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RADDLE_SHALLOW
#endif
#endif
#if defined(RADDLE_SHALLOW) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

bool is_this_library(const char* path) {
  Dl_info own{};
  struct stat one{}, other{};
  return dladdr(reinterpret_cast<void*>(&gpu_is_missing), &own) == 0 || stat(own.dli_fname, &one) != 0 ||
         stat(path, &other) != 0 || (one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

void* open_driver() {
  const char* chosen = std::getenv("RADDLE_GPU_DRIVER");
  if (chosen != nullptr && *chosen != '\0') return is_this_library(chosen) ? nullptr : dlopen(chosen, kFlags);
  for (const char* place : kUsualPlaces) {
    void* const driver = is_this_library(place) ? nullptr : dlopen(place, kFlags);
    if (driver != nullptr) return driver;
  }
  return nullptr;
}

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
    driver = open_driver();
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
