// See driver.h.
#include "nvml/driver.h"

#include <dlfcn.h>

#include <string>

namespace raddle::nvml {
namespace {

/// The driver that the process has, or the one beside this library.
void* open_driver() {
  if (void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return library;
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&open_driver), &here) == 0 || here.dli_fname == nullptr) return nullptr;
  const std::string path = here.dli_fname;
  return dlopen((path.substr(0, path.rfind('/') + 1) + "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
}

template <class Function>
bool find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool load_into(Driver& driver) {
  void* const library = open_driver();
  return library != nullptr && find(library, "cuInit", driver.init) &&
         find(library, "cuDriverGetVersion", driver.version) &&
         find(library, "cuDeviceGetCount", driver.count) && find(library, "cuDeviceGetName", driver.name) &&
         find(library, "cuDeviceGetUuid", driver.uuid) &&
         find(library, "cuDeviceGetPCIBusId", driver.bus_id) &&
         find(library, "cuDeviceGetAttribute", driver.attribute) &&
         find(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
         find(library, "cuDevicePrimaryCtxRelease_v2", driver.release) &&
         find(library, "cuCtxPushCurrent_v2", driver.push) &&
         find(library, "cuCtxPopCurrent_v2", driver.pop) && find(library, "cuMemGetInfo_v2", driver.memory) &&
         driver.init(0) == 0;
}

}  // namespace

const Driver* Driver::load() {
  static const Driver* const loaded = [] {
    auto& driver = *new Driver{};
    return load_into(driver) ? &driver : nullptr;
  }();
  return loaded;
}

}  // namespace raddle::nvml
