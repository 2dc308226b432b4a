#include "cudart/driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>

#include "cudart/thread.h"

namespace raddle::cudart {
namespace {

enum : unsigned long long { kLegacyStreams = 1, kPerThreadStreams = 2 };  // flags of cuGetProcAddress

DriverTable tables[2];  // for the legacy and for per-thread default streams
cudaError_t loaded = cudaErrorInitializationError;

using GetProcAddress = decltype(DriverTable::cuGetProcAddress);

cudaError_t complain(const char* reason) {
  std::fprintf(stderr,
               "raddle: libcuda.so.1 cannot be used (%s): set LD_LIBRARY_PATH to the folder of Raddle's "
               "libraries, or run "
               "the program by `raddle exec`\n",
               reason);
  return cudaErrorInsufficientDriver;
}

/// The name of the first function that is not there, or nullptr.
const char* fill(DriverTable& table, GetProcAddress look_up, unsigned long long streams) {
  int status = 0;
#define DRIVER(name, version, parameters)                                                                \
  if (look_up(#name, reinterpret_cast<void**>(&table.name), version, streams, &status) != cudaSuccess || \
      table.name == nullptr)                                                                             \
    return #name;
#include "cudart/driver.def"
#undef DRIVER
  return nullptr;
}

cudaError_t load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return complain(dlerror());
  const auto look_up = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (look_up == nullptr) return complain("it is older than CUDA 12");
  for (const char* missing :
       {fill(tables[0], look_up, kLegacyStreams), fill(tables[1], look_up, kPerThreadStreams)})
    if (missing != nullptr) return complain(missing);
  return tables[0].cuInit(0);
}

}  // namespace

cudaError_t load_driver() {
  static std::once_flag once;
  std::call_once(once, [] { loaded = load(); });
  return loaded;
}

const DriverTable& driver() { return tables[thread().null_is_per_thread ? 1 : 0]; }

}  // namespace raddle::cudart
