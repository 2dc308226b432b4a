// Atoms of CuTe, NVIDIA's templates for tensor cores: products by mma.sync (with ldmatrix and cp.async) and by wgmma, with tiles in
// every order and swizzle that its descriptors know.
// headers: nvidia-cutlass==4.2.0.0 cutlass_library/source/include
// nvcc: -arch=sm_90a
// slow: its templates take nvcc half a minute
#include <cute/tensor.hpp>
// after its basis
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cutlass/numeric_types.h>

#include "program.h"

using namespace cute;

/// The block's tiles of a, along k, of b, and of c.
template <class A, class B, class Tile>
__device__ auto tiles(A a, B b, float* c, Tile tile) {
  auto coord = make_coord(blockIdx.y, blockIdx.x, _);
  Tensor whole = make_tensor(make_gmem_ptr(c), make_shape(size<0>(a), size<0>(b)), make_stride(size<0>(b), _1{}));
  return cute::make_tuple(local_tile(a, tile, coord, Step<_1, X, _1>{}), local_tile(b, tile, coord, Step<X, _1, _1>{}),
                          local_tile(whole, tile, coord, Step<_1, _1, X>{}));
}

template <class A, class B, class Mma, class Copy>
__global__ void by_warps(A a, B b, float* c, Mma mma, Copy copy_tile) {
  using Element = typename A::value_type;
  auto layout = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  __shared__ alignas(128) Element tile_a[64 * 64];
  __shared__ alignas(128) Element tile_b[64 * 64];
  auto [from_a, from_b, to] = tiles(a, b, c, Shape<_64, _64, _64>{});
  Tensor shared_a = make_tensor(make_smem_ptr(tile_a), layout);
  Tensor shared_b = make_tensor(make_smem_ptr(tile_b), layout);
  auto mine = mma.get_slice(threadIdx.x);
  auto copying = copy_tile.get_slice(threadIdx.x);
  Tensor fragment_a = mine.partition_fragment_A(shared_a);
  Tensor fragment_b = mine.partition_fragment_B(shared_b);
  Tensor result = mine.partition_C(to);
  Tensor sum = mine.make_fragment_C(result);
  clear(sum);
  Copy_Atom<SM75_U32x4_LDSM_N, Element> ldmatrix;
  auto load_a = make_tiled_copy_A(ldmatrix, mma);
  auto load_b = make_tiled_copy_B(ldmatrix, mma);
  auto slice_a = load_a.get_slice(threadIdx.x);
  auto slice_b = load_b.get_slice(threadIdx.x);
  for (int k = 0; k < size<2>(from_a); ++k) {
    copy(copy_tile, copying.partition_S(from_a(_, _, k)), copying.partition_D(shared_a));
    copy(copy_tile, copying.partition_S(from_b(_, _, k)), copying.partition_D(shared_b));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    copy(load_a, slice_a.partition_S(shared_a), slice_a.retile_D(fragment_a));
    copy(load_b, slice_b.partition_S(shared_b), slice_b.retile_D(fragment_b));
    cute::gemm(mma, fragment_a, fragment_b, sum);
    __syncthreads();
  }
  copy(sum, result);
}

template <class A, class B, class Mma, class LayoutA, class LayoutB>
__global__ void by_warpgroup(A a, B b, float* c, Mma mma, LayoutA layout_a, LayoutB layout_b) {
  using Element = typename A::value_type;
  alignas(1024) __shared__ char tile_a[cosize_v<LayoutA> * sizeof(Element)];
  alignas(1024) __shared__ char tile_b[cosize_v<LayoutB> * sizeof(Element)];
  auto [from_a, from_b, to] = tiles(a, b, c, make_shape(size<0>(layout_a), size<0>(layout_b), size<1>(layout_a)));
  Tensor shared_a = make_tensor(make_smem_ptr(reinterpret_cast<Element*>(tile_a)), layout_a);
  Tensor shared_b = make_tensor(make_smem_ptr(reinterpret_cast<Element*>(tile_b)), layout_b);
  auto mine = mma.get_slice(threadIdx.x);
  Tensor fragment_a = mine.make_fragment_A(mine.partition_A(shared_a));
  Tensor fragment_b = mine.make_fragment_B(mine.partition_B(shared_b));
  Tensor result = mine.partition_C(to);
  Tensor sum = mine.make_fragment_C(result);
  clear(sum);
  for (int k = 0; k < size<2>(from_a); ++k) {
    for (int i = threadIdx.x; i < size(shared_a); i += blockDim.x) shared_a(i) = from_a(_, _, k)(i);
    for (int i = threadIdx.x; i < size(shared_b); i += blockDim.x) shared_b(i) = from_b(_, _, k)(i);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    warpgroup_fence_operand(sum);
    warpgroup_arrive();
    cute::gemm(mma, fragment_a, fragment_b, sum);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(sum);
    __syncthreads();
  }
  copy(sum, result);
}

constexpr int kRows = 128, kDepth = 128;

/// Small numbers, whose sums are exact in every type. @param stride  of the rows, and of the elements along k
template <class Element, class Stride>
auto matrix(int rows, int seed, Stride stride) {
  Element* elements = nullptr;
  CUDA(cudaMallocManaged(&elements, rows * kDepth * sizeof(Element)));
  for (int i = 0; i < rows * kDepth; ++i) elements[i] = Element(float(i * seed % 17 - 8) / 8);
  return make_tensor(make_gmem_ptr(static_cast<const Element*>(elements)), make_shape(rows, kDepth), stride);
}

template <class Launch, class A, class B>
void check(Launch launch, A a, B b) {
  const int columns = size<0>(b);
  float* c = nullptr;
  CUDA(cudaMallocManaged(&c, kRows * columns * 4));
  launch(c);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < columns; ++j) {
      float sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += float(a(i, k)) * float(b(j, k));
      CHECK(c[i * columns + j] == sum);
    }
}

/// @param order  of b in memory: its rows' stride and that along k
template <class Element, class Atom, class LayoutA, class LayoutB, class Order>
void check_warpgroup(Atom, LayoutA layout_a, LayoutB layout_b, Order order) {
  auto mma = make_tiled_mma(Atom{});
  auto a = matrix<Element>(kRows, 37, make_stride(kDepth, _1{}));
  auto b = matrix<Element>(2 * size<0>(layout_b), 29, order);
  const dim3 grid(2, kRows / int(size<0>(layout_a)));
  check([&](float* c) { by_warpgroup<<<grid, int(size(mma))>>>(a, b, c, mma, layout_a, layout_b); }, a, b);
}

template <template <class> class Swizzled, class Element, int kTileRows, int kTileDepth>
auto tile() {
  return tile_to_shape(Swizzled<Element>{}, Shape<Int<kTileRows>, Int<kTileDepth>>{});
}

int main() {
  using Half = cutlass::half_t;
  using Bf16 = cutlass::bfloat16_t;
  using E4m3 = cutlass::float_e4m3_t;
  using Tf32 = cutlass::tfloat32_t;
  constexpr auto kK = GMMA::Major::K, kMn = GMMA::Major::MN;
  const auto along_k = make_stride(kDepth, _1{});

  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2>>{}, Tile<_32, _32, _16>{});
  auto copies = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, Half>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                Layout<Shape<_1, _8>>{});
  auto a = matrix<Half>(kRows, 37, along_k), b = matrix<Half>(192, 29, along_k);
  check([&](float* c) { by_warps<<<dim3(3, 2), int(size(mma))>>>(a, b, c, mma, copies); }, a, b);

  using GMMA::Layout_K_INTER_Atom, GMMA::Layout_K_SW32_Atom, GMMA::Layout_K_SW64_Atom, GMMA::Layout_K_SW128_Atom;
  using GMMA::Layout_MN_INTER_Atom, GMMA::Layout_MN_SW32_Atom, GMMA::Layout_MN_SW64_Atom, GMMA::Layout_MN_SW128_Atom;
  const auto rows_64 = make_stride(_1{}, 128), rows_128 = make_stride(_1{}, 256);
  check_warpgroup<Half>(SM90_64x64x16_F32F16F16_SS<kK, kK>{}, tile<Layout_K_SW128_Atom, Half, 64, 64>(),
                        tile<Layout_K_SW128_Atom, Half, 64, 64>(), along_k);
  check_warpgroup<Bf16>(SM90_64x64x16_F32BF16BF16_SS<kK, kK>{}, tile<Layout_K_SW64_Atom, Bf16, 64, 64>(),
                        tile<Layout_K_SW32_Atom, Bf16, 64, 64>(), along_k);
  check_warpgroup<Half>(SM90_64x32x16_F32F16F16_SS<kK, kK>{}, tile<Layout_K_INTER_Atom, Half, 64, 64>(),
                        tile<Layout_K_INTER_Atom, Half, 32, 64>(), along_k);
  check_warpgroup<Half>(SM90_64x128x16_F32F16F16_SS<kK, kMn>{}, tile<Layout_K_SW128_Atom, Half, 64, 64>(),
                        tile<Layout_MN_SW128_Atom, Half, 128, 64>(), rows_128);
  check_warpgroup<Half>(SM90_64x64x16_F32F16F16_SS<kK, kMn>{}, tile<Layout_K_SW128_Atom, Half, 64, 64>(),
                        tile<Layout_MN_SW64_Atom, Half, 64, 64>(), rows_64);
  check_warpgroup<Half>(SM90_64x64x16_F32F16F16_SS<kK, kMn>{}, tile<Layout_K_SW128_Atom, Half, 64, 64>(),
                        tile<Layout_MN_SW32_Atom, Half, 64, 64>(), rows_64);
  check_warpgroup<Half>(SM90_64x64x16_F32F16F16_SS<kMn, kMn>{}, tile<Layout_MN_SW128_Atom, Half, 64, 64>(),
                        tile<Layout_MN_INTER_Atom, Half, 64, 64>(), rows_64);
  check_warpgroup<E4m3>(SM90_64x64x32_F32E4M3E4M3_SS_TN<>{}, tile<Layout_K_SW128_Atom, E4m3, 64, 128>(),
                        tile<Layout_K_SW128_Atom, E4m3, 64, 128>(), along_k);
  check_warpgroup<Tf32>(SM90_64x64x8_F32TF32TF32_SS_TN<>{}, tile<Layout_K_SW128_Atom, Tf32, 64, 32>(),
                        tile<Layout_K_SW64_Atom, Tf32, 64, 32>(), along_k);
}
