// The driver API's entries as functions: `entry::cuMemAlloc_v2` is what the exported symbol of that name
// does, once the adaptor has checked and resolved what entries.def declares (adaptor.h). Each chapter of the
// API has a file (device.cpp, memory.cpp, ...).
#pragma once

#include "driver/parameters.h"
#include "driver/status.h"

namespace raddle::driver::entry {

#define UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
#define EARLY_ENTRY(name, symbol, since, parameters, arguments) Status symbol parameters;
#define ENTRY(name, symbol, since, parameters, arguments) Status symbol parameters;
#define CONTEXT_ENTRY(name, symbol, since, parameters, arguments) Status symbol(Here UNPACK parameters);
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  Status symbol(Here UNPACK parameters);
#include "driver/entries.def"
#undef STREAM_ENTRY
#undef CONTEXT_ENTRY
#undef ENTRY
#undef EARLY_ENTRY
#undef UNPACK

}  // namespace raddle::driver::entry
