#include "ptx/device_runtime.h"

namespace raddle::ptx {

std::optional<DeviceRuntimeFunction> find_device_runtime(std::string_view name) {
  constexpr std::string_view kPerThread = "_ptsz";  // of code whose default stream is each thread's own
  if (name.ends_with(kPerThread)) name.remove_suffix(kPerThread.size());
#define DEVICE_RUNTIME(id, text) \
  if (name == text) return DeviceRuntimeFunction::id;
#include "ptx/device_runtime.def"
#undef DEVICE_RUNTIME
  return {};
}

}  // namespace raddle::ptx
