// A product of matrices of bf16, 1024 each way, by mma.sync and by wgmma (the persistent kernel of the
// examples), against a hand-written product of floats with AVX-512 (target: at least 60 % of its speed), one
// thread each, in the same run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/tensor_map.h"
#include "raddle/raddle.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace bench {
namespace {

constexpr unsigned kSide = 1024, kTileRows = 4, kTileColumns = 4;  // a warp's products of 16x8
constexpr double kOperations = 2.0 * kSide * kSide * kSide;

/// C = A * B, a warp a tile of 64x32. A lies by rows, B by columns, so that a register is a word in memory.
std::string product_kernel() {
  std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 c) {
  .reg .pred %more; .reg .b32 %t, %g, %h, %x, %y, %k, %a<16>, %b<8>; .reg .f32 %c<64>; .reg .b64 %pa, %pb, %pc;
  ld.param.u64 %pa, [a]; ld.param.u64 %pb, [b]; ld.param.u64 %pc, [c];
  mov.u32 %t, %tid.x; shr.u32 %g, %t, 2; and.b32 %h, %t, 3;
  mov.u32 %y, %ctaid.y; mad.lo.u32 %y, %y, 64, %g; mov.u32 %x, %ctaid.x; mad.lo.u32 %x, %x, 32, %g;
  mad.wide.u32 %pa, %y, 2048, %pa; mad.wide.u32 %pa, %h, 4, %pa;
  mad.wide.u32 %pb, %x, 2048, %pb; mad.wide.u32 %pb, %h, 4, %pb;
)";
  for (unsigned i = 0; i < 64; ++i) text += fmt::format("  mov.f32 %c{}, 0f00000000;\n", i);
  text += "  mov.u32 %k, 0;\nLOOP:\n";
  for (unsigned i = 0; i < kTileRows; ++i)
    for (unsigned r = 0; r < 4; ++r)
      text += fmt::format("  ld.global.b32 %a{}, [%pa+{}];\n", i * 4 + r,
                          (i * 16 + r % 2 * 8) * 2048 + r / 2 * 16);
  for (unsigned j = 0; j < kTileColumns; ++j)
    for (unsigned r = 0; r < 2; ++r)
      text += fmt::format("  ld.global.b32 %b{}, [%pb+{}];\n", j * 2 + r, j * 8 * 2048 + r * 16);
  for (unsigned i = 0; i < kTileRows; ++i)
    for (unsigned j = 0; j < kTileColumns; ++j) {
      const unsigned c = (i * kTileColumns + j) * 4, a = i * 4, b = j * 2;
      const std::string sum = fmt::format("{{%c{}, %c{}, %c{}, %c{}}}", c, c + 1, c + 2, c + 3);
      text += fmt::format(
          "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {0}, {{%a{1}, %a{2}, %a{3}, %a{4}}}, "
          "{{%b{5}, %b{6}}}, {0};\n",
          sum, a, a + 1, a + 2, a + 3, b, b + 1);
    }
  text += R"(  add.u64 %pa, %pa, 32; add.u64 %pb, %pb, 32; add.u32 %k, %k, 1; setp.lt.u32 %more, %k, 64;
  @%more bra LOOP;
  mov.u32 %x, %ctaid.x; mul.lo.u32 %x, %x, 32; mad.lo.u32 %x, %h, 2, %x;
  mad.wide.u32 %pc, %y, 4096, %pc; mad.wide.u32 %pc, %x, 4, %pc;
)";
  for (unsigned i = 0; i < kTileRows; ++i)
    for (unsigned j = 0; j < kTileColumns; ++j)
      for (unsigned r = 0; r < 4; ++r)
        text += fmt::format("  st.global.f32 [%pc+{}], %c{};\n",
                            (i * 16 + r / 2 * 8) * 4096 + j * 32 + r % 2 * 4, (i * kTileColumns + j) * 4 + r);
  return text + "  ret;\n}\n";
}

/// Small integers, so that every order of adding gives the same sum.
int product_element(unsigned row, unsigned column, unsigned seed) {
  return static_cast<int>((row * 7 + column * 13 + seed) % 9) - 4;
}

std::uint16_t as_bf16(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

/// @errors invalid: an element of the product is wrong
raddle::Result<void> check_product(const std::vector<float>& c) {
  for (unsigned row = 0; row < kSide; row += 37)
    for (unsigned column = 0; column < kSide; column += 41) {
      int sum = 0;
      for (unsigned k = 0; k < kSide; ++k) sum += product_element(row, k, 1) * product_element(k, column, 2);
      if (c[row * kSide + column] != static_cast<float>(sum))
        return raddle::Error::invalid("row {}, column {} of the product is wrong", row, column);
    }
  return {};
}

/// A device of one worker with A by rows, B by columns, and room for C.
struct Product {
  raddle::Device device;
  raddle::Buffer<std::uint16_t> a, b;
  raddle::Buffer<float> c;

  static raddle::Result<Product> make() {
    std::vector<std::uint16_t> a(kSide * kSide), b(kSide * kSide);
    for (unsigned i = 0; i < kSide; ++i)
      for (unsigned j = 0; j < kSide; ++j) {
        a[i * kSide + j] = as_bf16(product_element(i, j, 1));
        b[j * kSide + i] = as_bf16(product_element(i, j, 2));
      }
    TRY_ASSIGN(raddle::Device device, raddle::Device::open({.workers = 1}));
    TRY_ASSIGN(raddle::Buffer<std::uint16_t> in_a, device.buffer(a));
    TRY_ASSIGN(raddle::Buffer<std::uint16_t> in_b, device.buffer(b));
    TRY_ASSIGN(raddle::Buffer<float> out, device.buffer(std::vector<float>(kSide * kSide)));
    return Product{std::move(device), std::move(in_a), std::move(in_b), std::move(out)};
  }

  template <class... Arguments>
  raddle::Result<void> measure(benchmark::State& state, raddle::Kernel& kernel,
                               const raddle::LaunchConfig& how, const Arguments&... arguments) {
    TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile(how.block));
    for (auto step : state) {
      TRY_ASSIGN(raddle::Launch launch, kernel.launch(how, arguments...));
      TRY(launch.wait());
    }
    state.counters["GFLOP/s"] =
        benchmark::Counter(kOperations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
    std::vector<float> found(kSide * kSide);
    TRY(c.read(found));
    return check_product(found);
  }
};

raddle::Result<void> multiply_by_mma(benchmark::State& state) {
  TRY_ASSIGN(Product product, Product::make());
  TRY_ASSIGN(raddle::Module module, product.device.load(product_kernel()));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("product"));
  return product.measure(state, kernel, {.grid = {kSide / 32, kSide / 64}, .block = {32}}, product.a,
                         product.b, product.c);
}

struct alignas(raddle::exec::kTensorMapAlignment) MapBytes {
  std::byte bytes[raddle::exec::kTensorMapBytes];
};

/// Tiles of 64 x 64 with 128-byte swizzle.
MapBytes map_of(const raddle::Buffer<std::uint16_t>& matrix) {
  raddle::exec::TensorMap map;
  map.element = raddle::exec::TensorMap::Element::bf16;
  map.rank = 2;
  map.address = matrix.address().value;
  map.size = {kSide, kSide};
  map.stride = {2, kSide * 2};
  map.box = {64, 64};
  map.step = {1, 1};
  map.swizzle = raddle::exec::TensorMap::Swizzle::bytes128;
  MapBytes made;
  encode(map, made.bytes);
  return made;
}

raddle::Result<void> multiply_by_wgmma(benchmark::State& state) {
  TRY_ASSIGN(Product product, Product::make());
  TRY_ASSIGN(raddle::Module module, product.device.load_file(RADDLE_EXAMPLES_DIR "/kernels/wgmma_gemm.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("wgmma_gemm"));
  constexpr std::int32_t kTilesX = kSide / 128, kTiles = kTilesX * kSide / 256, kPasses = kSide / 64;
  return product.measure(state, kernel,
                         {.grid = {8}, .block = {384}, .shared_bytes = 3 * 32768 + 1024, .cluster = {2}},
                         map_of(product.a), map_of(product.b), product.c, kTilesX, kTiles, kPasses);
}

void MatrixProductByWgmma(benchmark::State& state) {
  if (auto done = multiply_by_wgmma(state); !done) state.SkipWithError(done.error().message.c_str());
}
BENCHMARK(MatrixProductByWgmma)->Unit(benchmark::kMillisecond)->UseRealTime();

void MatrixProductByMma(benchmark::State& state) {
  if (auto done = multiply_by_mma(state); !done) state.SkipWithError(done.error().message.c_str());
}
BENCHMARK(MatrixProductByMma)->Unit(benchmark::kMillisecond)->UseRealTime();

#ifdef __x86_64__
constexpr unsigned kRows = 8, kColumns = 48;  // of the tile in registers: 24 sums
constexpr unsigned kPadded = (kSide + kColumns - 1) / kColumns * kColumns;

/// Both packed: k by k, the rows of A's tile, the columns of B's.
[[gnu::target("avx512f")]] void tile_of_floats(const float* a, const float* b, float* c) {
  __m512 sums[kRows][3];
  for (auto& row : sums)
    for (__m512& sum : row) sum = _mm512_setzero_ps();
  for (unsigned k = 0; k < kSide; ++k, a += kRows, b += kColumns) {
    const __m512 b0 = _mm512_loadu_ps(b), b1 = _mm512_loadu_ps(b + 16), b2 = _mm512_loadu_ps(b + 32);
#pragma GCC unroll 8
    for (unsigned i = 0; i < kRows; ++i) {
      const __m512 x = _mm512_set1_ps(a[i]);
      sums[i][0] = _mm512_fmadd_ps(x, b0, sums[i][0]);
      sums[i][1] = _mm512_fmadd_ps(x, b1, sums[i][1]);
      sums[i][2] = _mm512_fmadd_ps(x, b2, sums[i][2]);
    }
  }
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned j = 0; j < 3; ++j) _mm512_storeu_ps(c + i * kPadded + j * 16, sums[i][j]);
}

void MatrixProductByAvx512(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx512f")) return state.SkipWithError("no AVX-512");
  std::vector<float> a(kSide * kSide), b(kSide * kPadded), c(kSide * kPadded), plain(kSide * kSide);
  for (unsigned i = 0; i < kSide; ++i)
    for (unsigned k = 0; k < kSide; ++k) {
      a[(i / kRows * kSide + k) * kRows + i % kRows] = static_cast<float>(product_element(i, k, 1));
      b[(i / kColumns * kSide + k) * kColumns + i % kColumns] = static_cast<float>(product_element(k, i, 2));
    }
  for (auto step : state) {
    for (unsigned column = 0; column < kPadded; column += kColumns)
      for (unsigned row = 0; row < kSide; row += kRows)
        tile_of_floats(&a[row * kSide], &b[column * kSide], &c[row * kPadded + column]);
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(kOperations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  for (unsigned row = 0; row < kSide; ++row) std::copy_n(&c[row * kPadded], kSide, &plain[row * kSide]);
  if (auto done = check_product(plain); !done) state.SkipWithError(done.error().message.c_str());
}
BENCHMARK(MatrixProductByAvx512)->Unit(benchmark::kMillisecond)->UseRealTime();
#endif

}  // namespace
}  // namespace bench
