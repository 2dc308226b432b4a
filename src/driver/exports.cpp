// The symbols of libcuda.so.1, and the table by which cuGetProcAddress finds them; both from entries.def and
// missing.def.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/call_trace.h"
#include "base/notice.h"
#include "driver/adaptor.h"
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
    base::notice("raddle: {} is not there yet: CUDA_ERROR_NOT_SUPPORTED (docs/generated/driver.md)\n",
                 symbol);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

namespace declared {
#define EARLY_ENTRY(name, symbol, since, parameters, arguments) using symbol = CUresult parameters;
#define ENTRY EARLY_ENTRY
#define CONTEXT_ENTRY EARLY_ENTRY
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  using symbol = CUresult parameters;
#include "driver/entries.def"
#undef STREAM_ENTRY
#undef CONTEXT_ENTRY
#undef ENTRY
#undef EARLY_ENTRY
}  // namespace declared

namespace exported {

#define UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
#define FORWARD(needs, symbol, name, arguments)                                                            \
  static const auto target = choose(name, &Adaptor<Needs::needs, &entry::symbol, declared::symbol>::call); \
  return base::traced(name, #arguments, &result_name, target UNPACK arguments);
#define EARLY_ENTRY(name, symbol, since, parameters, arguments) \
  EXPORTED CUresult symbol parameters { FORWARD(nothing, symbol, #symbol, arguments) }
#define ENTRY(name, symbol, since, parameters, arguments) \
  EXPORTED CUresult symbol parameters { FORWARD(driver, symbol, #symbol, arguments) }
#define CONTEXT_ENTRY(name, symbol, since, parameters, arguments) \
  EXPORTED CUresult symbol parameters { FORWARD(context, symbol, #symbol, arguments) }
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  CONTEXT_ENTRY(name, symbol, since, parameters, arguments)                              \
  EXPORTED CUresult symbol##_##variant parameters {                                      \
    const PerThread scope;                                                               \
    FORWARD(context, symbol, #symbol "_" #variant, arguments)                            \
  }
#include "driver/entries.def"
#undef STREAM_ENTRY
#undef CONTEXT_ENTRY
#undef ENTRY
#undef EARLY_ENTRY

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

}  // namespace exported

namespace {

struct Export {
  const char *name, *symbol;
  int since, streams_since;  ///< streams_since: 0 where there is no such variant
  void *function, *per_thread;
};

const Export kExports[] = {
#define EARLY_ENTRY(name, symbol, since, parameters, arguments) \
  {#name, #symbol, since, 0, reinterpret_cast<void*>(&exported::symbol), nullptr},
#define ENTRY EARLY_ENTRY
#define CONTEXT_ENTRY EARLY_ENTRY
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  {#name,                                                                                \
   #symbol,                                                                              \
   since,                                                                                \
   streams_since,                                                                        \
   reinterpret_cast<void*>(&exported::symbol),                                           \
   reinterpret_cast<void*>(&exported::symbol##_##variant)},
#define MISSING(name, symbol, since) \
  {#name, #symbol, since, 0, reinterpret_cast<void*>(&exported::symbol), nullptr},
#define STREAM_MISSING(name, symbol, since, variant) MISSING(name, symbol, since)
#include "driver/entries.def"
#include "driver/missing.def"
#undef STREAM_MISSING
#undef MISSING
#undef STREAM_ENTRY
#undef CONTEXT_ENTRY
#undef ENTRY
#undef EARLY_ENTRY
};

constexpr std::uint64_t kPerThreadFlag = 2;  ///< CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

}  // namespace

namespace entry {

Status cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                           CUdriverProcAddressQueryResult* status) {
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

Status cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // namespace entry
}  // namespace raddle::driver
