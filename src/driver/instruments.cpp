// Entry points for profilers and for dumps of failed contexts. There is no profiler to start: the calls are
// checked and do nothing. No dump is ever written; what failed is on stderr instead.
#include <unistd.h>

#include <array>
#include <cstring>
#include <mutex>
#include <string>

#include "driver/entry.h"
#include "driver/process.h"

namespace raddle::driver::entry {
namespace {

/// Attributes that can be asked for; all are what they are by default.
Status get_dump_attribute(int attribute, void* value, std::size_t* bytes) {
  if (value == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto give = [&](const void* data, std::size_t size) {
    if (*bytes < size) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, data, size);
    *bytes = size;
    return CUDA_SUCCESS;
  };
  const auto name = [&](const char* prefix) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const std::string text = std::string(prefix) + ".cuda." + host.data() + "." + std::to_string(getpid());
    return give(text.c_str(), text.size() + 1);
  };
  const bool no = false, yes = true;
  const int flags = 0;
  switch (attribute) {
    case COREDUMP_ENABLE_ON_EXCEPTION:
    case COREDUMP_LIGHTWEIGHT:
    case COREDUMP_ENABLE_USER_TRIGGER:
      return give(&no, sizeof no);
    case COREDUMP_TRIGGER_HOST:
      return give(&yes, sizeof yes);
    case COREDUMP_FILE:
      return name("core");
    case COREDUMP_PIPE:
      return name("corepipe");
    case COREDUMP_GENERATION_FLAGS:
      return give(&flags, sizeof flags);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

/// To leave dumps off is possible; to ask for them is not.
Status set_dump_attribute(int attribute, const void* value, const std::size_t* bytes) {
  if (value == nullptr || bytes == nullptr || *bytes == 0 || attribute < COREDUMP_ENABLE_ON_EXCEPTION ||
      attribute > COREDUMP_GENERATION_FLAGS)
    return CUDA_ERROR_INVALID_VALUE;
  const bool asks_for_dumps =
      attribute == COREDUMP_ENABLE_ON_EXCEPTION || attribute == COREDUMP_ENABLE_USER_TRIGGER;
  return asks_for_dumps && *static_cast<const char*>(value) == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

Status cuProfilerStart(Here) { return CUDA_SUCCESS; }
Status cuProfilerStop(Here) { return CUDA_SUCCESS; }
// Gone from CUDA since 11.
Status cuProfilerInitialize(const char*, const char*, int) { return CUDA_ERROR_NOT_SUPPORTED; }

Status cuCoredumpGetAttribute(Here, int attribute, void* value, std::size_t* bytes) {
  return get_dump_attribute(attribute, value, bytes);
}
Status cuCoredumpGetAttributeGlobal(int attribute, void* value, std::size_t* bytes) {
  return get_dump_attribute(attribute, value, bytes);
}
Status cuCoredumpSetAttribute(Here, int attribute, void* value, std::size_t* bytes) {
  return set_dump_attribute(attribute, value, bytes);
}
Status cuCoredumpSetAttributeGlobal(int attribute, void* value, std::size_t* bytes) {
  return set_dump_attribute(attribute, value, bytes);
}

}  // namespace raddle::driver::entry
