#include "base/gpu_driver.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>

namespace raddle {
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

bool is_library_of(const void* code, const char* path) {
  Dl_info own{};
  struct stat one{}, other{};
  return dladdr(code, &own) == 0 || stat(own.dli_fname, &one) != 0 || stat(path, &other) != 0 ||
         (one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

}  // namespace

void* open_gpu_driver(const void* self) {
  const char* chosen = std::getenv("RADDLE_GPU_DRIVER");
  if (chosen != nullptr && *chosen != '\0')
    return is_library_of(self, chosen) ? nullptr : dlopen(chosen, kFlags);
  for (const char* place : kUsualPlaces) {
    void* const driver = is_library_of(self, place) ? nullptr : dlopen(place, kFlags);
    if (driver != nullptr) return driver;
  }
  return nullptr;
}

}  // namespace raddle
