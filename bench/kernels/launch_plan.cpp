// Grids and blocks as the CUDA programmer chose them; see examples/kernels for the kernels.
#include "launch_plan.h"

namespace bench {
namespace {

unsigned blocks(long elements, long per_block) {
  return static_cast<unsigned>((elements + per_block - 1) / per_block);
}

}  // namespace

std::vector<Launch> launch_plan(const Workload& workload) {
  const std::int32_t n = static_cast<std::int32_t>(workload.size);
  const auto buffer = [](int index, long offset = 0) { return BufferArgument{index, offset}; };
  switch (workload.kernel) {
    case Kernel::saxpy:
      return {
          {"saxpy", "saxpy", {blocks(n, 256), 1, 1}, {256, 1, 1}, {n, kSaxpyFactor, buffer(0), buffer(1)}}};
    case Kernel::black_scholes:
      return {{"black_scholes",
               "black_scholes",
               {blocks(n, 256), 1, 1},
               {256, 1, 1},
               {buffer(0), buffer(1), buffer(2), buffer(3), buffer(4), kRate, kVolatility, n}}};
    case Kernel::sgemm_16:
      return {{"sgemm_tiled",
               "sgemm_16",
               {blocks(n, 16), blocks(n, 16), 1},
               {16, 16, 1},
               {buffer(0), buffer(1), buffer(2), n}}};
    case Kernel::sgemm_32:
      return {{"sgemm_tiled",
               "sgemm_32",
               {blocks(n, 32), blocks(n, 32), 1},
               {32, 32, 1},
               {buffer(0), buffer(1), buffer(2), n}}};
    case Kernel::sgemm_64x32:
      return {{"sgemm_tiled",
               "sgemm_64x32",
               {blocks(n, 32), blocks(n, 64), 1},
               {32, 8, 1},
               {buffer(0), buffer(1), buffer(2), n}}};
    case Kernel::reduction:
      return {{"reduction", "reduce_sum", {kReductionBlocks, 1, 1}, {256, 1, 1}, {buffer(0), buffer(1), n}},
              {"reduction",
               "reduce_sum",
               {1, 1, 1},
               {256, 1, 1},
               {buffer(1), buffer(1, kReductionBlocks * sizeof(float)), kReductionBlocks}}};
    case Kernel::stencil:
      return {
          {"stencil", "stencil", {blocks(n, 32), blocks(n, 8), 1}, {32, 8, 1}, {buffer(0), buffer(1), n, n}}};
    case Kernel::nbody:
      return {{"nbody", "nbody", {blocks(n, 256), 1, 1}, {256, 1, 1}, {buffer(0), buffer(1), n, kSoftening}}};
    case Kernel::histogram:
      return {
          {"histogram", "histogram", {kHistogramBlocks, 1, 1}, {256, 1, 1}, {buffer(0), buffer(1), n / 4}}};
    case Kernel::mandelbrot:
      return {{"mandelbrot",
               "mandelbrot",
               {blocks(n, 32), blocks(n, 8), 1},
               {32, 8, 1},
               {buffer(0), n, n, kMandelbrotLeft, kMandelbrotTop, kMandelbrotExtent / static_cast<float>(n),
                kMandelbrotLimit}}};
    case Kernel::bitonic_sort:
      return {{"bitonic_sort", "bitonic_sort", {blocks(n, kSortRun), 1, 1}, {512, 1, 1}, {buffer(0)}}};
  }
  return {};
}

}  // namespace bench
