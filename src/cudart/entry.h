// The runtime API's entries as functions: `entry::cudaMalloc` is what the exported symbol of that name does.
// Each chapter of the API has a file (memory.cpp, stream.cpp, ...).
#pragma once

#include <cstddef>

#include "cudart/driver.h"
#include "cudart/thread.h"

namespace raddle::cudart {

/// Leaves the calling entry with an error.
#define CHECK(call) \
  if (const cudaError_t check_error = (call); check_error != cudaSuccess) return check_error

/// Addresses, as the driver spells them.
inline unsigned long long address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
inline unsigned long long* address(void** pointer) { return reinterpret_cast<unsigned long long*>(pointer); }

namespace entry {

#define ENTRY(name, parameters, arguments) cudaError_t name parameters;
#define STREAM_ENTRY(name, variant, parameters, arguments) cudaError_t name parameters;
#define EXPORT(name)
#include "cudart/entries.def"
#undef EXPORT
#undef STREAM_ENTRY
#undef ENTRY

}  // namespace entry
}  // namespace raddle::cudart
