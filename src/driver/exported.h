// The symbols that libcuda.so.1 exports, as a program that links it sees them; for tests and benchmarks.
#pragma once

#include "driver/parameters.h"

namespace raddle::driver {
namespace exported {

extern "C" {
#define EARLY_ENTRY(name, symbol, since, parameters, arguments) CUresult symbol parameters;
#define ENTRY EARLY_ENTRY
#define CONTEXT_ENTRY EARLY_ENTRY
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
#undef CONTEXT_ENTRY
#undef ENTRY
#undef EARLY_ENTRY
}

}  // namespace exported

using namespace exported;

}  // namespace raddle::driver
