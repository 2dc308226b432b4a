// Errors: their names and texts, the thread's last one, and the message of missing entries.
#include <atomic>
#include <cstdio>
#include <utility>

#include "base/quiet.h"
#include "cudart/thread.h"
#include "cudart/trace.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace raddle::cudart {
namespace {

constexpr const char* kUnknown = "unrecognized error code";

const char* name_of(int error) {
  switch (error) {
#define ERROR(name) \
  case name:        \
    return #name;
#define OWN_ERROR(name, text) ERROR(name)
#include "cudart/errors.def"
#undef OWN_ERROR
#undef ERROR
    default:
      return kUnknown;
  }
}

const char* text_of(int error) {
  switch (error) {
#define ERROR(name)
#define OWN_ERROR(name, text) \
  case name:                  \
    return text;
#define RESULT(name, number, text) \
  case number:                     \
    return text;
#include "cudart/errors.def"
#include "driver/results.def"
#undef RESULT
#undef OWN_ERROR
#undef ERROR
    default:
      return kUnknown;
  }
}

}  // namespace

cudaError_t missing(const char* symbol, std::atomic<bool>& said) {
  if (!said.exchange(true) && base::notices_wanted())
    std::fprintf(stderr, "raddle: %s is not there yet: cudaErrorNotSupported (docs/generated/cudart.md)\n",
                 symbol);
  thread().last_error = cudaErrorNotSupported;
  return cudaErrorNotSupported;
}

const char* error_name(cudaError_t error) { return name_of(error); }

EXPORTED const char* cudaGetErrorName(cudaError_t error) { return name_of(error); }
EXPORTED const char* cudaGetErrorString(cudaError_t error) { return text_of(error); }
EXPORTED cudaError_t cudaPeekAtLastError() { return thread().last_error; }
EXPORTED cudaError_t cudaGetLastError() { return std::exchange(thread().last_error, cudaSuccess); }

}  // namespace raddle::cudart
