// The symbols that libcuda.so.1 exports, as a program that links it sees them; for tests and benchmarks.
#pragma once

#include "driver/abi.h"

namespace raddle::driver {

extern "C" {
#define ENTRY(name, symbol, since, parameters, arguments) CUresult symbol parameters;
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  CUresult symbol parameters;                                                            \
  CUresult symbol##_##variant parameters;
#define MISSING(name, symbol, since) CUresult symbol();
#define STREAM_MISSING(name, symbol, since, variant) \
  CUresult symbol();                                 \
  CUresult symbol##_##variant();
#include "driver/entries.def"
#include "driver/missing.def"
#undef STREAM_MISSING
#undef MISSING
#undef STREAM_ENTRY
#undef ENTRY
}

}  // namespace raddle::driver
