// A 3 x 3 convolution as a product of matrices that nobody builds: for each place of the filter, TMA gathers 64 pixels (im2col), and
// wgmma multiplies them by the filter's matrix of that place.
// arch: sm_90a
#include "tensor_core.cuh"

constexpr int kPixels = 64, kChannels = 64, kPlaces = 9, kStages = 2;

/// in: N x H x W x 64 bf16, im2col of 64 pixels; filter: [place * 64 + result][channel], boxes of 64 x 64; both with 128-byte
/// swizzle. out: N x H x W x 64, for whole groups of 64 pixels. A block of 128 threads makes 64 pixels.
extern "C" __global__ __launch_bounds__(128) void implicit_gemm(const __grid_constant__ TensorMap in,
                                                                const __grid_constant__ TensorMap filter, float* out, int width,
                                                                int height) {
  __shared__ Pipeline<kStages> pipeline;
  init(pipeline);
  RingPlace<kStages> place;
  const int first = blockIdx.x * kPixels;
  // The filter's corner lies one pixel before that of the result.
  const int w = first % width - 1, h = first / width % height - 1, n = first / (width * height);
  float d[32];
  multiply(d, pipeline, place, kPlaces, [&](TilePair& to, Mbarrier* filled, int tap) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
        "[%6], {%7, %8};" ::"r"(shared_address(to.a)),
        "l"(&in), "r"(0), "r"(w), "r"(h), "r"(n), "r"(shared_address(filled)), "h"(static_cast<unsigned short>(tap % 3)),
        "h"(static_cast<unsigned short>(tap / 3))
        : "memory");
    load_tile(to.b, &filter, 0, tap * kChannels, filled);
  });
  store_results(d, out + first * kChannels, kChannels);
}
