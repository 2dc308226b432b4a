// Numbers that every system and the reference share, so that all of them compute the same thing.
// Plain C++ without includes: the OpenMP plugins, built by other compilers, read it too.
#pragma once

namespace bench {

enum class Kernel : int {
#define BENCH_KERNEL(name, headline) name,
#include "kernels.def"
#undef BENCH_KERNEL
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
inline constexpr int kScanThreads = 512, kScanItems = 16;  ///< of a block of the two scans; elements of each
inline constexpr int kClusterRun =
    8 * kScanThreads * kScanItems;        ///< elements that a cluster of 8 blocks scans
inline constexpr int kTransform = 1024;   ///< points of a Fourier transform
inline constexpr int kColumns = 1024;     ///< of the matrices whose rows softmax and layer_norm work on
inline constexpr float kEpsilon = 1e-5f;  ///< of layer_norm
inline constexpr int kHead = 64;          ///< numbers in a query, key or value of attention
inline constexpr int kHeads = 8;
inline constexpr int kStormBlocks = 100;  ///< of each launch of launch_storm
inline constexpr int kStormThreads = 64;  ///< of each of its blocks
inline constexpr int kRandomReads = 1
                                    << 21;  ///< numbers among which bfs and the limit of random reads choose

/// What an OpenMP plugin receives: buffers in the order of the CUDA kernel's pointer parameters.
struct PluginCall {
  Kernel kernel;
  void* buffers[8];
  long size;  ///< elements, rows, or the side of a square problem
};

}  // namespace bench
