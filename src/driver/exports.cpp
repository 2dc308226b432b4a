// The symbols of libcuda.so.1, and the table by which cuGetProcAddress finds them; both from entries.def and
// missing.def.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/call_trace.h"
#include "driver/entry.h"
#include "driver/forward.h"
#include "driver/process.h"
#include "driver/results.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace raddle::driver {
namespace {

/// While it lives, no stream means the thread's own.
struct PerThread {
  PerThread() { null_is_per_thread() = true; }
  ~PerThread() { null_is_per_thread() = false; }
};

/// What an entry calls: our function, or the one of the GPU's driver where the program is to run there.
template <class Function>
Function* choose(const char* symbol, Function* ours) {
  void* const gpu = gpu_function(symbol);
  return gpu == nullptr ? ours : reinterpret_cast<Function*>(gpu);
}

CUresult missing(const char* symbol, std::atomic<bool>& said) {
  if (!said.exchange(true))
    fmt::print(stderr, "raddle: {} is not there yet: CUDA_ERROR_NOT_SUPPORTED\n", symbol);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

#define UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
#define ENTRY(name, symbol, since, parameters, arguments)                            \
  EXPORTED CUresult symbol parameters {                                              \
    static const auto target = choose(#symbol, &entry::symbol);                      \
    return base::traced(#symbol, #arguments, &result_name, target UNPACK arguments); \
  }
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments)          \
  ENTRY(name, symbol, since, parameters, arguments)                                               \
  EXPORTED CUresult symbol##_##variant parameters {                                               \
    static const auto target = choose(#symbol "_" #variant, &entry::symbol);                      \
    const PerThread scope;                                                                        \
    return base::traced(#symbol "_" #variant, #arguments, &result_name, target UNPACK arguments); \
  }
#include "driver/entries.def"
#undef STREAM_ENTRY
#undef ENTRY

// In a section of their own, by which `raddle doctor` tells them.
#define MISSING(name, symbol, since)                                      \
  EXPORTED __attribute__((section("raddle_missing"))) CUresult symbol() { \
    static std::atomic<bool> said{false};                                 \
    return missing(#symbol, said);                                        \
  }
#define STREAM_MISSING(name, symbol, since, variant) \
  MISSING(name, symbol, since) MISSING(name, symbol##_##variant, since)
#include "driver/missing.def"
#undef STREAM_MISSING
#undef MISSING

namespace {

struct Export {
  const char *name, *symbol;
  int since, streams_since;  ///< streams_since: 0 where there is no such variant
  void *function, *per_thread;
};

const Export kExports[] = {
#define ENTRY(name, symbol, since, parameters, arguments) \
  {#name, #symbol, since, 0, reinterpret_cast<void*>(&driver::symbol), nullptr},
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  {#name,                                                                                \
   #symbol,                                                                              \
   since,                                                                                \
   streams_since,                                                                        \
   reinterpret_cast<void*>(&driver::symbol),                                             \
   reinterpret_cast<void*>(&driver::symbol##_##variant)},
#define MISSING(name, symbol, since) \
  {#name, #symbol, since, 0, reinterpret_cast<void*>(&driver::symbol), nullptr},
#define STREAM_MISSING(name, symbol, since, variant) MISSING(name, symbol, since)
#include "driver/entries.def"
#include "driver/missing.def"
#undef STREAM_MISSING
#undef MISSING
#undef STREAM_ENTRY
#undef ENTRY
};

constexpr std::uint64_t kPerThreadFlag = 2;  ///< CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

}  // namespace

namespace entry {

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Export* best = nullptr;
  bool known = false;
  for (const Export& candidate : kExports) {
    if (std::string_view(candidate.name) != symbol) continue;
    known = true;
    if (candidate.since <= version && (best == nullptr || best->since < candidate.since)) best = &candidate;
  }
  const auto answer = best != nullptr ? PROC_SUCCESS : known ? PROC_VERSION_NOT_SUFFICIENT : PROC_NOT_FOUND;
  if (status != nullptr) *status = answer;
  *function = nullptr;
  if (best == nullptr) return status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  const bool per_thread =
      (flags & kPerThreadFlag) != 0 && best->per_thread != nullptr && best->streams_since <= version;
  *function = per_thread ? best->per_thread : best->function;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // namespace entry
}  // namespace raddle::driver
