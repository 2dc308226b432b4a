// The symbols of libcudart, from entries.def.
#include "cudart/entry.h"
#include "cudart/trace.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace raddle::cudart {
namespace {

/// cudaGetLastError answers with the last error of any call. That something is not ready is none: an H200
/// forgets it.
cudaError_t remembered(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) [[unlikely]]
    thread().last_error = error;
  return error;
}

}  // namespace

#define UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
#define ENTRY(name, parameters, arguments)                                                          \
  EXPORTED cudaError_t name parameters {                                                            \
    return remembered(base::traced(#name, #arguments, &error_name, &entry::name UNPACK arguments)); \
  }
#define STREAM_ENTRY(name, variant, parameters, arguments)                                         \
  ENTRY(name, parameters, arguments)                                                               \
  EXPORTED cudaError_t name##_##variant parameters {                                               \
    const PerThreadStreams scope;                                                                  \
    return remembered(                                                                             \
        base::traced(#name "_" #variant, #arguments, &error_name, &entry::name UNPACK arguments)); \
  }
#define EXPORT(name)
#include "cudart/entries.def"

}  // namespace raddle::cudart
