// Tensor maps from all their makers: the host's entries, found at run time as CUDA programs do, and kernels that edit a map
// or start from zeros (CUDA Programming Guide, "Encoding a tensor map on the device"). The bytes must agree.
// proves: T-2e, T-2f, T-2g, T-2h
// nvcc: -arch=sm_90a
#include <cuda.h>
#include <cuda/ptx>

#include <cstdint>
#include <cstring>

#include "program.h"

namespace ptx = cuda::ptx;

struct Parameters {
  void* address;
  int rank;
  uint32_t box[5], steps[5];
  uint64_t sizes[5], strides[4];
};

__constant__ CUtensorMap constant_map;
__device__ CUtensorMap global_map;

template <class Space>
__device__ void edit(Space space, CUtensorMap* map, const Parameters& p) {
  ptx::tensormap_replace_global_address(space, map, p.address);
  ptx::tensormap_replace_rank(space, map, p.rank - 1);
  const auto dimension = [&](auto d) {
    if (d < p.rank) {
      ptx::tensormap_replace_box_dim(space, map, d, p.box[d]);
      ptx::tensormap_replace_global_dim(space, map, d, static_cast<uint32_t>(p.sizes[d]));
      ptx::tensormap_replace_element_size(space, map, d, p.steps[d]);
    }
  };
  dimension(ptx::n32_t<0>{}), dimension(ptx::n32_t<1>{}), dimension(ptx::n32_t<2>{}), dimension(ptx::n32_t<3>{});
  dimension(ptx::n32_t<4>{});
  if (1 < p.rank) ptx::tensormap_replace_global_stride(space, map, ptx::n32_t<0>{}, p.strides[0]);
  if (2 < p.rank) ptx::tensormap_replace_global_stride(space, map, ptx::n32_t<1>{}, p.strides[1]);
  if (3 < p.rank) ptx::tensormap_replace_global_stride(space, map, ptx::n32_t<2>{}, p.strides[2]);
  if (4 < p.rank) ptx::tensormap_replace_global_stride(space, map, ptx::n32_t<3>{}, p.strides[3]);
  ptx::tensormap_replace_elemtype(space, map, ptx::n32_t<8>{});  // .f32.ftz
  ptx::tensormap_replace_interleave_layout(space, map, ptx::n32_t<0>{});
  ptx::tensormap_replace_swizzle_mode(space, map, ptx::n32_t<2>{});
  ptx::tensormap_replace_fill_mode(space, map, ptx::n32_t<1>{});
}

/// In shared memory from a map given as a parameter, or from zeros; then to global memory.
__global__ void in_shared(const __grid_constant__ CUtensorMap from, bool from_zero, const Parameters p, CUtensorMap* out) {
  __shared__ alignas(128) CUtensorMap map;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 16; ++i) map.opaque[i] = from_zero ? 0 : from.opaque[i];
    edit(ptx::space_shared, &map, p);
  }
  __syncwarp();
  ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, out, &map, ptx::n32_t<128>{});
}

__global__ void in_global(const Parameters p) {
  if (threadIdx.x == 0) edit(ptx::space_global, &global_map, p);
}

/// Maps lie in parameters, constants and global memory.
__global__ void prefetch(const __grid_constant__ CUtensorMap map, CUtensorMap* out) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
  asm volatile("prefetch.tensormap [%0];" ::"l"(&constant_map));
  asm volatile("prefetch.tensormap [%0];" ::"l"(&global_map));
  out[0] = map;
  out[1] = constant_map;
  out[2] = global_map;
}

/// One tile through maps of one tensor that lie in a parameter, in constant and in global memory, and in memory of
/// which the kernel knows no more than a pointer.
__global__ void store(const __grid_constant__ CUtensorMap map, const CUtensorMap* pointer) {
  __shared__ alignas(128) int tile[4][8];
  tile[threadIdx.x / 8][threadIdx.x % 8] = 100 + threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const CUtensorMap* const maps[] = {&map, &constant_map, &global_map, pointer};
  for (int i = 0; i < 4; ++i) {
    const int at[] = {8 * i, i};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, maps[i], at, tile);
  }
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
}

template <class Entry>
Entry find(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
  CHECK(found != nullptr && status == cudaDriverEntryPointSuccess);
  return reinterpret_cast<Entry>(found);
}

int main() {
  const auto encode_tiled = find<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  const auto encode_im2col = find<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  const auto replace_address = find<decltype(&cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
  char* tensor = nullptr;
  CUtensorMap* out = nullptr;
  CUDA(cudaMalloc(&tensor, 1 << 20));
  CUDA(cudaMallocManaged(&out, 3 * sizeof *out));
  for (int rank = 1; rank <= 5; ++rank) {
    const Parameters p{tensor + 1024,       rank, {16, 4, 3, 2, 256}, {1, 1, 2, 3, 8}, {64, 32, 4, 2, uint64_t{1} << 20},
                       {256, 8192, 0, 65536}};
    CUtensorMap wanted, other;
    const auto encode = [&](CUtensorMap* map, const Parameters& q, CUtensorMapDataType type, CUtensorMapSwizzle swizzle,
                            CUtensorMapFloatOOBfill fill) {
      return encode_tiled(map, type, q.rank, q.address, q.sizes, q.strides, q.box, q.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                          swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
    };
    CHECK(encode(&wanted, p, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, CU_TENSOR_MAP_SWIZZLE_64B,
                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) == CUDA_SUCCESS);
    Parameters q{tensor, rank, {32, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {8, 8, 8, 8, 8}, {16, 32, 48, 64}};
    CHECK(encode(&other, q, CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) ==
          CUDA_SUCCESS);
    for (bool from_zero : {false, true}) {
      in_shared<<<1, 32>>>(other, from_zero, p, out);
      CUDA(cudaDeviceSynchronize());
      CHECK(std::memcmp(out, &wanted, sizeof wanted) == 0);
    }
    CUDA(cudaMemcpyToSymbol(global_map, &other, sizeof other));
    in_global<<<1, 32>>>(p);
    CUDA(cudaMemcpyFromSymbol(&other, global_map, sizeof other));
    CHECK(std::memcmp(&other, &wanted, sizeof wanted) == 0);

    CHECK(replace_address(&wanted, tensor + 48) == CUDA_SUCCESS);
    CHECK(replace_address(&wanted, tensor + 8) == CUDA_ERROR_INVALID_VALUE);
    CUDA(cudaMemcpyToSymbol(constant_map, &wanted, sizeof wanted));
    prefetch<<<1, 1>>>(wanted, out);
    CUDA(cudaDeviceSynchronize());
    CHECK(std::memcmp(out, &wanted, sizeof wanted) == 0);
    CHECK(std::memcmp(out + 1, &wanted, sizeof wanted) == 0);
    CHECK(std::memcmp(out + 2, &other, sizeof other) == 0);
  }
  {
    const uint64_t sizes[] = {32, 8}, strides[] = {128};
    const uint32_t boxes[4][2] = {{8, 4}, {8, 2}, {4, 1}, {8, 4}}, steps[] = {1, 1};
    CUtensorMap maps[4];  // of one tensor, by different boxes
    for (int i = 0; i < 4; ++i)
      CHECK(encode_tiled(&maps[i], CU_TENSOR_MAP_DATA_TYPE_INT32, 2, tensor, sizes, strides, boxes[i], steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    CUDA(cudaMemset(tensor, 0, 1024));
    CUDA(cudaMemcpyToSymbol(constant_map, &maps[1], sizeof maps[1]));
    CUDA(cudaMemcpyToSymbol(global_map, &maps[2], sizeof maps[2]));
    out[2] = maps[3];
    store<<<1, 32>>>(maps[0], &out[2]);
    int stored[8][32];
    CUDA(cudaMemcpy(stored, tensor, sizeof stored, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 32; ++x) {
        const int i = x / 8, row = y - i, column = x % 8;
        const bool inside = row >= 0 && row < static_cast<int>(boxes[i][1]) && column < static_cast<int>(boxes[i][0]);
        CHECK(stored[y][x] == (inside ? 100 + row * static_cast<int>(boxes[i][0]) + column : 0));
      }
  }
  CUtensorMap map;
  const uint64_t sizes[] = {64, 9, 14, 64}, strides[] = {128, 1152, 16128};
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const uint32_t steps[] = {1, 1, 1, 1};
  const auto im2col = [&](uint32_t rank, uint32_t pixels) {
    return encode_im2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, tensor, sizes, strides, lower, upper, 8, pixels, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CHECK(im2col(4, 64) == CUDA_SUCCESS);
  CHECK(im2col(2, 64) == CUDA_ERROR_INVALID_VALUE);
  CHECK(im2col(4, 1025) == CUDA_ERROR_INVALID_VALUE);
  CUDA(cudaFree(tensor));
  CUDA(cudaFree(out));
}
