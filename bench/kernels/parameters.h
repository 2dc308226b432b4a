// Numbers that every system and the reference share, so that all of them compute the same thing.
// Plain C++ without includes: the OpenMP plugins, built by other compilers, read it too.
#pragma once

namespace bench {

enum class Kernel : int {
  saxpy,
  black_scholes,
  sgemm_16,
  sgemm_32,
  sgemm_64x32,
  reduction,
  stencil,
  nbody,
  histogram,
  mandelbrot,
  bitonic_sort,
};

inline constexpr float kSaxpyFactor = 0.5f;
inline constexpr float kRate = 0.02f;
inline constexpr float kVolatility = 0.3f;
inline constexpr float kSoftening = 0.01f;
inline constexpr float kMandelbrotLeft = -2.0f;
inline constexpr float kMandelbrotTop = -1.25f;
inline constexpr float kMandelbrotExtent = 2.5f;  ///< step = extent / side
inline constexpr int kMandelbrotLimit = 256;
inline constexpr int kSortRun = 1024;          ///< keys per independently sorted run
inline constexpr int kReductionBlocks = 1024;  ///< blocks of the first pass; one block of 256 adds their sums
inline constexpr int kHistogramBlocks = 1024;

/// What an OpenMP plugin receives: buffers in the order of the CUDA kernel's pointer parameters.
struct PluginCall {
  Kernel kernel;
  void* buffers[8];
  long size;  ///< elements, or the side of a square problem
};

}  // namespace bench
