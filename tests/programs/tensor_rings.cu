// The rings of tests/kernels/rings.cu on a tensor of a thousand tiles: one CTA, several, and clusters that multicast to each other.
// proves: T-4b, T-5f, T-11a, T-11c, T-12a, T-12b, T-15a, T-15d, T-15e
#include "../kernels/rings.cu"
#include "program.h"

constexpr Tensor kTensor{25, 41};
const int kPlane = kTensor.elements();

CUtensorMap map_of(const unsigned* tensor, int rank, unsigned depth, unsigned rows) {
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult status;
  CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &status));
  CUtensorMap map;
  const cuuint64_t sizes[] = {cuuint64_t(kTensor.width()), cuuint64_t(kTensor.height()), depth};
  const cuuint64_t strides[] = {sizes[0] * 4, cuuint64_t(kPlane) * 4};
  const cuuint32_t box[] = {kColumns, rows, 1}, steps[] = {1, 1, 1};
  CHECK(reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
            &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, rank, const_cast<unsigned*>(tensor), sizes, strides, box, steps,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

int main() {
  constexpr int kBlocks = 8;
  unsigned *in = nullptr, *out = nullptr, *back = nullptr;
  CUDA(cudaMallocManaged(&in, kPlane * 4));
  CUDA(cudaMallocManaged(&out, kBlocks * kPlane * 4));
  CUDA(cudaMallocManaged(&back, 2 * kBlocks * 4));
  for (int i = 0; i < kPlane; ++i) in[i] = i * 2654435761u >> 7;
  std::vector<unsigned> expected(kPlane);

  for (int blocks : {1, 7}) {
    CUDA(cudaMemset(out, 0xff, kPlane * 4));
    ring<<<blocks, kThreads>>>(map_of(in, 2, 1, kRows), map_of(out, 2, 1, kRows / 2), out, back, kTensor.width(),
                               kTensor.tiles_x, kTensor.tiles());
    CUDA(cudaDeviceSynchronize());
    for (int block = 0; block < blocks; ++block)
      CHECK(compute(kTensor, in, expected.data(), 1, block, blocks) == std::pair(back[2 * block], back[2 * block + 1]));
    CHECK(std::equal(expected.begin(), expected.end(), out));
  }

  for (unsigned size : {1, 2, 4}) {
    CUDA(cudaMemset(out, 0xff, kBlocks * kPlane * 4));
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {size, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = kBlocks, config.blockDim = kThreads, config.attrs = &cluster, config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, multicast_ring, map_of(in, 2, 1, kRows / size), map_of(out, 3, kBlocks, kRows / 2),
                            static_cast<const unsigned*>(out), back, kTensor.width(), kPlane, kTensor.tiles_x,
                            kTensor.tiles()));
    CUDA(cudaDeviceSynchronize());
    for (int block = 0; block < kBlocks; ++block) {
      CHECK(compute(kTensor, in, expected.data(), 1 + block, 0, 1) == std::pair(back[2 * block], back[2 * block + 1]));
      CHECK(std::equal(expected.begin(), expected.end(), out + block * kPlane));
    }
  }
}
