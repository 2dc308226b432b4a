// A convolution by im2col: for each place of a 3 x 3 filter the tensor memory access unit gathers the pixels that 64 pixels of the
// result need there, across the ends of rows and images, with zeros around each image.
#include "async.cuh"

constexpr int kPixels = 64, kChannels = 8, kResults = 8;

/// in: N x H x W x 8; filter: [3][3][channel][result]; out: N x H x W x 8. A block makes 64 pixels.
extern "C" __global__ void im2col(const __grid_constant__ TensorMap in, const float* filter, float* out, int width, int height,
                                  int pixels) {
  alignas(128) __shared__ float column[9][kPixels][kChannels];
  __shared__ Mbarrier loaded;
  const int first = blockIdx.x * kPixels;
  if (threadIdx.x == 0) {
    init(&loaded, 1);
    arrive_expecting(&loaded, sizeof column);
    // The filter's corner lies one pixel before that of the result.
    const int w = first % width - 1, h = first / width % height - 1, n = first / (width * height);
    for (int place = 0; place < 9; ++place)
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
          "[%6], {%7, %8};" ::"r"(shared_address(column[place])),
          "l"(&in), "r"(0), "r"(w), "r"(h), "r"(n), "r"(shared_address(&loaded)), "h"(static_cast<unsigned short>(place % 3)),
          "h"(static_cast<unsigned short>(place / 3))
          : "memory");
  }
  __syncthreads();
  wait(&loaded, 0);
#pragma unroll 1
  for (int i = threadIdx.x; i < kPixels * kResults; i += blockDim.x) {
    const int pixel = i / kResults, result = i % kResults;
    float sum = 0;
#pragma unroll 1
    for (int place = 0; place < 9; ++place)
      for (int c = 0; c < kChannels; ++c)
        sum += column[place][pixel][c] * filter[(place * kChannels + c) * kResults + result];
    if (first + pixel < pixels) out[(first + pixel) * kResults + result] = sum;
  }
}
