// The problems as a good C++ programmer writes them with OpenMP: the rival that Raddle is measured against.
// Built several times (clang and gcc, strict and fast-math) as plugins; the benchmark takes the best of
// them.
#pragma once

#include "../parameters.h"

namespace bench::openmp {

#define BENCH_KERNEL(name, headline) void name(const PluginCall& call);
#include "../kernels.def"
#undef BENCH_KERNEL

template <class T>
T* buffer(const PluginCall& call, int index) {
  return static_cast<T*>(call.buffers[index]);
}

}  // namespace bench::openmp
