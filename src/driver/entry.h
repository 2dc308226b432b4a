// The driver API's entries as functions: `entry::cuMemAlloc_v2` is what the exported symbol of that name
// does. Each chapter of the API has a file (device.cpp, memory.cpp, ...).
#pragma once

#include "driver/abi.h"

namespace raddle::driver::entry {

#define ENTRY(name, symbol, since, parameters, arguments) CUresult symbol parameters;
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  CUresult symbol parameters;
#include "driver/entries.def"
#undef STREAM_ENTRY
#undef ENTRY

}  // namespace raddle::driver::entry
