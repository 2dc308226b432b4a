// Products of matrices of bf16 and of bytes, 1024 each way, by mma.sync and wgmma, and attention; one worker
// each, in each arithmetic of the JIT. What they are compared with is in matrix_rivals.cpp.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "exec/tensor_map.h"
#include "matrix_numbers.h"
#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr unsigned kTileRows = 4, kTileColumns = 4;  // a warp's products of 16x8

/// C = A * B, a warp a tile of 64x32. A lies by rows, B by columns, so that a register is a word in memory.
/// As in compiled programs, a register has one value, but for those that a loop changes.
/// @param mma  what multiplies 32 bytes along K @param row_bytes  of A, and of a column of B
std::string product_kernel(const char* mma, unsigned row_bytes) {
  std::string text = fmt::format(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 c) {{
  .reg .pred %more; .reg .b32 %t, %g, %h, %x<4>, %y<2>, %k, %a<16>, %b<8>, %c<64>;
  .reg .b64 %pa<4>, %pb<4>, %pc<3>;
  ld.param.u64 %pa0, [a]; ld.param.u64 %pb0, [b]; ld.param.u64 %pc0, [c];
  mov.u32 %t, %tid.x; shr.u32 %g, %t, 2; and.b32 %h, %t, 3;
  mov.u32 %y0, %ctaid.y; mad.lo.u32 %y1, %y0, 64, %g; mov.u32 %x0, %ctaid.x; mad.lo.u32 %x1, %x0, 32, %g;
  mad.wide.u32 %pa1, %y1, {0}, %pa0; mad.wide.u32 %pa2, %h, 4, %pa1;
  mad.wide.u32 %pb1, %x1, {0}, %pb0; mad.wide.u32 %pb2, %h, 4, %pb1;
  mov.u64 %pa3, %pa2; mov.u64 %pb3, %pb2;
)",
                                 row_bytes);
  for (unsigned i = 0; i < 64; ++i) text += fmt::format("  mov.b32 %c{}, 0;\n", i);
  text += "  mov.u32 %k, 0;\nLOOP:\n";
  for (unsigned i = 0; i < kTileRows; ++i)
    for (unsigned r = 0; r < 4; ++r)
      text += fmt::format("  ld.global.b32 %a{}, [%pa3+{}];\n", i * 4 + r,
                          (i * 16 + r % 2 * 8) * row_bytes + r / 2 * 16);
  for (unsigned j = 0; j < kTileColumns; ++j)
    for (unsigned r = 0; r < 2; ++r)
      text += fmt::format("  ld.global.b32 %b{}, [%pb3+{}];\n", j * 2 + r, j * 8 * row_bytes + r * 16);
  for (unsigned i = 0; i < kTileRows; ++i)
    for (unsigned j = 0; j < kTileColumns; ++j) {
      const unsigned c = (i * kTileColumns + j) * 4, a = i * 4, b = j * 2;
      const std::string sum = fmt::format("{{%c{}, %c{}, %c{}, %c{}}}", c, c + 1, c + 2, c + 3);
      text += fmt::format("  {} {}, {{%a{}, %a{}, %a{}, %a{}}}, {{%b{}, %b{}}}, {};\n", mma, sum, a, a + 1,
                          a + 2, a + 3, b, b + 1, sum);
    }
  text += fmt::format(R"(  add.u64 %pa3, %pa3, 32; add.u64 %pb3, %pb3, 32; add.u32 %k, %k, 1;
  setp.lt.u32 %more, %k, {};
  @%more bra LOOP;
  mul.lo.u32 %x2, %x0, 32; mad.lo.u32 %x3, %h, 2, %x2;
  mad.wide.u32 %pc1, %y1, 4096, %pc0; mad.wide.u32 %pc2, %x3, 4, %pc1;
)",
                      row_bytes / 32);
  for (unsigned i = 0; i < kTileRows; ++i)
    for (unsigned j = 0; j < kTileColumns; ++j)
      for (unsigned r = 0; r < 4; ++r)
        text += fmt::format("  st.global.b32 [%pc2+{}], %c{};\n",
                            (i * 16 + r / 2 * 8) * 4096 + j * 32 + r % 2 * 4, (i * kTileColumns + j) * 4 + r);
  return text + "  ret;\n}\n";
}

/// C = A * B of signed bytes, a warpgroup a tile of 64x128. Core matrices of 8 rows of 16 bytes lie one
/// behind the other along k; each thread brings 4 chunks of A and 8 of B, of 128 bytes of k.
std::string byte_product_by_wgmma() {
  std::string text = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 a, .param .u64 b, .param .u64 c) {
  .shared .align 128 .b8 tiles[24576];
  .reg .pred %more; .reg .b32 %t, %r, %h, %x, %y, %k, %s, %at, %d<64>, %w<4>; .reg .b64 %pa, %pb, %pc, %da, %db;
  ld.param.u64 %pa, [a]; ld.param.u64 %pb, [b]; ld.param.u64 %pc, [c];
  mov.u32 %t, %tid.x; shr.u32 %r, %t, 3; and.b32 %h, %t, 7;
  mov.u32 %y, %ctaid.y; mad.lo.u32 %y, %y, 64, %r; mov.u32 %x, %ctaid.x; mad.lo.u32 %x, %x, 128, %r;
  mad.wide.u32 %pa, %y, 1024, %pa; mad.wide.u32 %pa, %h, 16, %pa;
  mad.wide.u32 %pb, %x, 1024, %pb; mad.wide.u32 %pb, %h, 16, %pb;
  mov.u32 %s, tiles; shr.u32 %at, %r, 3; mad.lo.u32 %at, %at, 1024, %s; mad.lo.u32 %at, %h, 128, %at;
  and.b32 %h, %r, 7; mad.lo.u32 %at, %h, 16, %at;
  and.b32 %s, %s, 0x3ffff; shr.u32 %s, %s, 4; cvt.u64.u32 %da, %s; or.b64 %da, %da, 0x4000080000;
  add.u64 %db, %da, 512;
)";
  for (unsigned i = 0; i < 64; ++i) text += fmt::format("  mov.b32 %d{}, 0;\n", i);
  text += "  mov.u32 %k, 0;\nLOOP:\n";
  for (unsigned i = 0; i < 12; ++i)  // 16 rows each
    text += fmt::format(
        "  ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%p{}+{}]; st.shared.v4.b32 [%at+{}], {{%w0, %w1, %w2, "
        "%w3}};\n",
        i < 4 ? 'a' : 'b', (i < 4 ? i : i - 4) * 16 * kSide, i * 2048);
  text += "  fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n";
  std::string sums;
  for (unsigned i = 0; i < 64; ++i) sums += fmt::format("{}%d{}", i == 0 ? "" : ", ", i);
  for (unsigned i = 0; i < 4; ++i)
    text += fmt::format(
        "  wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {{{}}}, %da, %db, 1;\n"
        "  add.u64 %da, %da, 16; add.u64 %db, %db, 16;\n",
        sums);
  text += R"(  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; bar.sync 0;
  sub.u64 %da, %da, 64; sub.u64 %db, %db, 64;
  add.u64 %pa, %pa, 128; add.u64 %pb, %pb, 128; add.u32 %k, %k, 1; setp.lt.u32 %more, %k, 8;
  @%more bra LOOP;
  shr.u32 %r, %t, 5; shl.b32 %r, %r, 4; and.b32 %h, %t, 31; shr.u32 %h, %h, 2; add.u32 %r, %r, %h;
  and.b32 %h, %t, 3; shl.b32 %h, %h, 1;
  mov.u32 %y, %ctaid.y; mad.lo.u32 %y, %y, 64, %r; mov.u32 %x, %ctaid.x; mad.lo.u32 %x, %x, 128, %h;
  mad.wide.u32 %pc, %y, 4096, %pc; mad.wide.u32 %pc, %x, 4, %pc;
)";
  for (unsigned i = 0; i < 64; i += 2)
    text += fmt::format("  st.global.v2.b32 [%pc+{}], {{%d{}, %d{}}};\n", i / 4 * 32 + i / 2 % 2 * 8 * 4096,
                        i, i + 1);
  return text + "  ret;\n}\n";
}

/// A device of one worker with A by rows, B by columns, and room for C.
template <class Element, class Sum>
struct Product {
  raddle::Device device;
  raddle::Buffer<Element> a, b;
  raddle::Buffer<Sum> c;

  static raddle::Result<Product> make(raddle::MatrixArithmetic arithmetic) {
    std::vector<Element> a(kSide * kSide), b(kSide * kSide);
    for (unsigned i = 0; i < kSide; ++i)
      for (unsigned j = 0; j < kSide; ++j) {
        a[i * kSide + j] = as_element<Element>(element_of_a(i, j));
        b[j * kSide + i] = as_element<Element>(element_of_b(i, j));
      }
    TRY_ASSIGN(raddle::Device device,
               raddle::Device::open({.tier = "optimised", .workers = 1, .matrix_arithmetic = arithmetic}));
    TRY_ASSIGN(raddle::Buffer<Element> in_a, device.buffer(a));
    TRY_ASSIGN(raddle::Buffer<Element> in_b, device.buffer(b));
    TRY_ASSIGN(raddle::Buffer<Sum> out, device.buffer(std::vector<Sum>(kSide * kSide)));
    return Product{std::move(device), std::move(in_a), std::move(in_b), std::move(out)};
  }

  template <class... Arguments>
  raddle::Result<void> measure(benchmark::State& state, raddle::Kernel& kernel,
                               const raddle::LaunchConfig& how, const Arguments&... arguments) {
    TRY(repeat(state, kOperations, kernel, how, arguments...));
    std::vector<Sum> found(kSide * kSide);
    TRY(c.read(found));
    return check_product(found);
  }

  template <class... Arguments>
  static raddle::Result<void> repeat(benchmark::State& state, double operations, raddle::Kernel& kernel,
                                     const raddle::LaunchConfig& how, const Arguments&... arguments) {
    const auto run = [&]() -> raddle::Result<void> {
      TRY_ASSIGN(raddle::Launch launch, kernel.launch(how, arguments...));
      TRY(launch.wait());
      return {};
    };
    TRY(run());  // is compiled
    for (auto step : state) TRY(run());
    state.counters["GFLOP/s"] =
        benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
    return {};
  }
};

using Arithmetic = raddle::MatrixArithmetic;
using Bf16Product = Product<std::uint16_t, float>;
using ByteProduct = Product<std::int8_t, std::int32_t>;

template <class Element, class Sum>
raddle::Result<void> multiply_directly(benchmark::State& state, Arithmetic arithmetic, const char* mma) {
  TRY_ASSIGN(auto product, (Product<Element, Sum>::make(arithmetic)));
  TRY_ASSIGN(raddle::Module module, product.device.load(product_kernel(mma, kSide * sizeof(Element))));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("product"));
  return product.measure(state, kernel, {.grid = {kSide / 32, kSide / 64}, .block = {32}}, product.a,
                         product.b, product.c);
}
raddle::Result<void> multiply_by_mma(benchmark::State& state, Arithmetic arithmetic) {
  return multiply_directly<std::uint16_t, float>(state, arithmetic,
                                                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
}
raddle::Result<void> multiply_bytes_by_mma(benchmark::State& state, Arithmetic arithmetic) {
  return multiply_directly<std::int8_t, std::int32_t>(state, arithmetic,
                                                      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
}

/// Of the examples: cp.async, ldmatrix, mma.sync.
template <class Element, class Sum>
raddle::Result<void> multiply_by_ldmatrix(benchmark::State& state, Arithmetic arithmetic, const char* name) {
  TRY_ASSIGN(auto product, (Product<Element, Sum>::make(arithmetic)));
  TRY_ASSIGN(raddle::Module module, product.device.load_file(RADDLE_EXAMPLES_DIR "/kernels/tensor_gemm.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel(name));
  return product.measure(state, kernel, {.grid = {kSide / 64, kSide / 64}, .block = {128}}, product.a,
                         product.b, product.c, std::int32_t{kSide},
                         static_cast<std::int32_t>(kSide * sizeof(Element)));
}
raddle::Result<void> multiply_bf16_by_ldmatrix(benchmark::State& state, Arithmetic arithmetic) {
  return multiply_by_ldmatrix<std::uint16_t, float>(state, arithmetic, "gemm_bf16");
}
raddle::Result<void> multiply_bytes_by_ldmatrix(benchmark::State& state, Arithmetic arithmetic) {
  return multiply_by_ldmatrix<std::int8_t, std::int32_t>(state, arithmetic, "gemm_s8");
}

struct alignas(raddle::exec::kTensorMapAlignment) MapBytes {
  std::byte bytes[raddle::exec::kTensorMapBytes];
};

/// Tiles of 64 x 64 with 128-byte swizzle.
MapBytes map_of(const raddle::Buffer<std::uint16_t>& matrix, unsigned rows, unsigned columns) {
  raddle::exec::TensorMap map;
  map.element = raddle::exec::TensorMap::Element::bf16;
  map.rank = 2;
  map.address = matrix.address().value;
  map.size = {columns, rows};
  map.stride = {2, columns * 2};
  map.box = {64, 64};
  map.step = {1, 1};
  map.swizzle = raddle::exec::TensorMap::Swizzle::bytes128;
  MapBytes made;
  encode(map, made.bytes);
  return made;
}

raddle::Result<void> multiply_by_wgmma(benchmark::State& state, Arithmetic arithmetic) {
  TRY_ASSIGN(Bf16Product product, Bf16Product::make(arithmetic));
  TRY_ASSIGN(raddle::Module module, product.device.load_file(RADDLE_EXAMPLES_DIR "/kernels/wgmma_gemm.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("wgmma_gemm"));
  constexpr std::int32_t kTilesX = kSide / 128, kTiles = kTilesX * kSide / 256, kPasses = kSide / 64;
  return product.measure(
      state, kernel, {.grid = {8}, .block = {384}, .shared_bytes = 3 * 32768 + 1024, .cluster = {2}},
      map_of(product.a, kSide, kSide), map_of(product.b, kSide, kSide), product.c, kTilesX, kTiles, kPasses);
}

raddle::Result<void> multiply_bytes_by_wgmma(benchmark::State& state, Arithmetic arithmetic) {
  TRY_ASSIGN(ByteProduct product, ByteProduct::make(arithmetic));
  TRY_ASSIGN(raddle::Module module, product.device.load(byte_product_by_wgmma()));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("product"));
  return product.measure(state, kernel, {.grid = {kSide / 128, kSide / 64}, .block = {128}}, product.a,
                         product.b, product.c);
}

/// Four heads of 64 columns, as long as the buffers allow: A's numbers are queries and keys, B's values.
raddle::Result<void> attend(benchmark::State& state, Arithmetic arithmetic) {
  constexpr unsigned kHead = 64, kHeads = 4, kLength = kSide, kRows = kHeads * kLength;
  TRY_ASSIGN(Bf16Product product, Bf16Product::make(arithmetic));
  TRY_ASSIGN(raddle::Module module, product.device.load_file(RADDLE_EXAMPLES_DIR "/kernels/attention.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("attention"));
  const MapBytes queries = map_of(product.a, kRows, kHead), values = map_of(product.b, kRows, kHead);
  return Bf16Product::repeat(state, 4.0 * kHeads * kLength * kLength * kHead, kernel,
                             {.grid = {kLength / 64, kHeads}, .block = {256}}, queries, queries, values,
                             product.c, std::int32_t{kLength / 64}, std::int32_t{0}, 0.18f);
}

raddle::Result<void> multiply_floats(benchmark::State& state, Arithmetic arithmetic) {
  using FloatProduct = Product<float, float>;
  TRY_ASSIGN(FloatProduct product, FloatProduct::make(arithmetic));
  std::vector<float> b(kSide * kSide);
  for (unsigned i = 0; i < b.size(); ++i) b[i] = static_cast<float>(element_of_b(i / kSide, i % kSide));
  TRY_ASSIGN(raddle::Buffer<float> by_rows, product.device.buffer(b));
  TRY_ASSIGN(raddle::Module module, product.device.load_file(RADDLE_EXAMPLES_DIR "/kernels/sgemm_tiled.ptx"));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("sgemm_64x32"));
  return product.measure(state, kernel, {.grid = {kSide / 32, kSide / 64}, .block = {32, 8}}, product.a,
                         by_rows, product.c, std::int32_t{kSide});
}

template <raddle::Result<void> (*multiply)(benchmark::State&, Arithmetic), Arithmetic arithmetic>
void run_product(benchmark::State& state) {
  if (auto done = multiply(state, arithmetic); !done) state.SkipWithError(done.error().message.c_str());
}

#define MATRIX_PRODUCT(multiply, arithmetic, name)         \
  BENCHMARK(run_product<multiply, Arithmetic::arithmetic>) \
      ->Name("MatrixProduct" name)                         \
      ->Unit(benchmark::kMillisecond)                      \
      ->MeasureProcessCPUTime()
MATRIX_PRODUCT(multiply_floats, reference, "OfFloats");
MATRIX_PRODUCT(multiply_by_mma, reference, "ByMma");
MATRIX_PRODUCT(multiply_bf16_by_ldmatrix, reference, "ByLdmatrix");
MATRIX_PRODUCT(multiply_by_wgmma, reference, "ByWgmma");
MATRIX_PRODUCT(attend, reference, "InAttention");
MATRIX_PRODUCT(multiply_bytes_by_mma, reference, "OfBytesByMma");
MATRIX_PRODUCT(multiply_bytes_by_ldmatrix, reference, "OfBytesByLdmatrix");
MATRIX_PRODUCT(multiply_bytes_by_wgmma, reference, "OfBytesByWgmma");
MATRIX_PRODUCT(multiply_by_mma, fast, "ByMmaFast");
MATRIX_PRODUCT(multiply_bf16_by_ldmatrix, fast, "ByLdmatrixFast");
MATRIX_PRODUCT(multiply_by_wgmma, fast, "ByWgmmaFast");
MATRIX_PRODUCT(attend, fast, "InAttentionFast");

}  // namespace
}  // namespace bench
