// Matrices in shared memory as tensor cores' kernels read them: rows that a tensor copy has swizzled.
#include <fmt/format.h>

#include "exec/tensor_map.h"
#include "kernel_test.h"
#include "numerics/half.h"

namespace {

/// The begin of a kernel: a tensor copy brings the tile of `map` to shared memory; all threads wait for it.
/// Leaves its address in %tile, the thread's number in %id, and the parameter `out` in %out.
/// @param registers  declarations of what the kernel has besides
std::string begin_with_tile(const std::string& name, unsigned bytes, const std::string& registers) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry " + name +
         "(.param .align 64 .b8 map[128], .param .u64 out) {\n" + registers +
         fmt::format("  .shared .align 1024 .b8 tile[{}];\n", bytes) + R"(
  .reg .b64 %map, %out;
  .reg .b32 %tile, %bar, %id, %at;
  .reg .pred %p, %first;
  .shared .align 8 .b64 barrier;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  ld.param.u64 %out, [out];
  mov.u32 %tile, tile;
  mov.u32 %bar, barrier;
  mov.u32 %id, %tid.x;
  mov.u32 %at, 0;
  setp.eq.u32 %first, %id, 0;
  @!%first bra LOADED;
  mbarrier.init.shared.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
)" + fmt::format("  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {};\n", bytes) +
         R"(
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%tile], [%map, {%at, %at}], [%bar];
LOADED:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;
  @!%p bra AGAIN;
)";
}

/// Thread 8m + r names row r of matrix m, unit m of the tile's row, where the swizzle has put it.
std::string reads_swizzled_tile() {
  return begin_with_tile("reads", 1024, "  .reg .b32 %row, %unit, %r<4>;\n") + R"(
  and.b32 %row, %id, 7;
  shr.u32 %unit, %id, 3;
  xor.b32 %unit, %unit, %row;
  mad.lo.u32 %at, %row, 128, %tile;
  mad.lo.u32 %at, %unit, 16, %at;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%at];
  mad.wide.u32 %out, %id, 16, %out;
  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
  ret;
}
)";
}

/// A warpgroup multiplies rows 0 to 63 of a tile by its rows 64 to 71, as a tensor copy has swizzled them.
/// @param swizzle  bytes, as long as a row of f16
std::string multiplies_swizzled_tile(unsigned swizzle) {
  const unsigned layout = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  const std::uint64_t stride = std::uint64_t{8} * swizzle / 16;  // from 8 rows to the next
  const std::uint64_t descriptor = std::uint64_t{layout} << 62 | stride << 32 | 1 << 16;
  std::string text =
      begin_with_tile("multiplies", 72 * swizzle, "  .reg .b64 %a, %b;\n  .reg .f32 %d<4>;\n") +
      "  shr.u32 %tile, %tile, 4;\n  cvt.u64.u32 %a, %tile;\n";
  text += fmt::format("  or.b64 %a, %a, {:#x};\n  add.u64 %b, %a, {};\n", descriptor, 64 * swizzle / 16);
  text += "  wgmma.fence.sync.aligned;\n";
  for (unsigned k = 0; k < swizzle / 32; ++k)  // 16 columns are 32 bytes
    text += fmt::format(
        "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%d0, %d1, %d2, %d3}}, %a, %b, {}, 1, 1, 0, "
        "0;\n"
        "  add.u64 %a, %a, 2;\n  add.u64 %b, %b, 2;\n",
        k == 0 ? 0 : 1);
  return text + R"(
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mad.wide.u32 %out, %id, 16, %out;
  st.global.v4.f32 [%out], {%d0, %d1, %d2, %d3};
  ret;
}
)";
}

/// A tensor of two dimensions and 2-byte elements, one box of it all.
struct alignas(64) WholeTensorMap {
  WholeTensorMap(std::uint64_t address, std::uint32_t columns, std::uint32_t rows,
                 raddle::exec::TensorMap::Swizzle swizzle) {
    raddle::exec::TensorMap map;
    map.element = raddle::exec::TensorMap::Element::u16;
    map.rank = 2;
    map.address = address;
    map.size = {columns, rows};
    map.stride = {2, std::uint64_t{columns} * 2};
    map.box = {columns, rows};
    map.step = {1, 1};
    map.swizzle = swizzle;
    encode(map, bytes);
  }
  std::byte bytes[raddle::exec::kTensorMapBytes];
};

class Matrices : public KernelTest {};
ON_EVERY_ENGINE(Matrices);

// proves: T-10e
TEST_P(Matrices, AreMultipliedWhereTheSwizzlePutThem) {
  using raddle::exec::TensorMap;
  for (const auto& [bytes, swizzle] :
       {std::pair{32u, TensorMap::Swizzle::bytes32}, std::pair{64u, TensorMap::Swizzle::bytes64},
        std::pair{128u, TensorMap::Swizzle::bytes128}}) {
    const std::uint32_t columns = bytes / 2, rows = 72;
    const auto value = [&](std::uint32_t row, std::uint32_t column) {
      return static_cast<int>((row * 37 + column * 11) % 23) - 11;
    };
    std::vector<std::uint16_t> tensor;
    for (std::uint32_t row = 0; row < rows; ++row)
      for (std::uint32_t column = 0; column < columns; ++column)
        tensor.push_back(static_cast<std::uint16_t>(
            raddle::numerics::narrow<raddle::numerics::f16>(double(value(row, column))).bits));
    auto data = buffer(tensor);
    auto out = buffer(std::vector<float>(128 * 4));
    load_text(multiplies_swizzled_tile(bytes));
    run(*module().kernel("multiplies"), {.grid = {1}, .block = {128}},
        WholeTensorMap(data.address().value, columns, rows, swizzle), out);
    const std::vector<float> products = contents(out);
    for (std::uint32_t thread = 0; thread < 128; ++thread)
      for (std::uint32_t i = 0; i < 4; ++i) {
        const std::uint32_t row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8,
                            column = thread % 4 * 2 + i % 2;
        int sum = 0;
        for (std::uint32_t k = 0; k < columns; ++k) sum += value(row, k) * value(64 + column, k);
        ASSERT_EQ(products[thread * 4 + i], static_cast<float>(sum))
            << bytes << ": " << row << ", " << column;
      }
  }
}

// proves: T-10b, T-10e
TEST_P(Matrices, AreFoundWhereTheSwizzlePutThem) {
  constexpr std::uint32_t kColumns = 64, kRows = 8;
  std::vector<std::uint16_t> tensor(kColumns * kRows);
  for (std::uint32_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<std::uint16_t>(i * 31 + 7);
  auto data = buffer(tensor);
  auto out = buffer(std::vector<std::uint32_t>(128));
  const WholeTensorMap map(data.address().value, kColumns, kRows, raddle::exec::TensorMap::Swizzle::bytes128);
  load_text(reads_swizzled_tile());
  run(*module().kernel("reads"), {.grid = {1}, .block = {32}}, map, out);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t thread = 0; thread < 32; ++thread)
    for (std::uint32_t matrix = 0; matrix < 4; ++matrix) {
      const std::uint32_t at = thread / 4 * kColumns + matrix * 8 + thread % 4 * 2;
      expected.push_back(tensor[at] | std::uint32_t{tensor[at + 1]} << 16);
    }
  EXPECT_EQ(contents(out), expected);
}

// Rows of 16 bytes are aligned to 16; threads that name no row of a matrix may hold any address.
TEST_P(Matrices, RowsAreAligned) {
  for (const std::string& instruction :
       {std::string("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r, %s}, [%a];"),
        std::string("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%a], {%r, %s};")}) {
    for (const std::uint32_t wrong : {16u, 11u}) {  // a thread
      close();
      load_text(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
  .reg .b32 %a, %id, %r, %s;
  .reg .pred %p;
  .shared .align 128 .b8 tile[1024];
  mov.u32 %id, %tid.x;
  mov.u32 %a, tile;
  mad.lo.u32 %a, %id, 16, %a;
  mov.u32 %r, 0;
  mov.u32 %s, 0;
  setp.eq.u32 %p, %id, )" +
                std::to_string(wrong) + ";\n  @%p add.u32 %a, %a, 8;\n  " + instruction +
                "\n  st.shared.v2.u32 [tile+512], {%r, %s};\n  ret;\n}\n");
      const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {32}});
      if (wrong >= 16) {
        EXPECT_TRUE(report.ok()) << report.error().message;
        continue;
      }
      ASSERT_FALSE(report.ok()) << instruction;
      EXPECT_NE(report.error().message.find("misaligned address"), std::string::npos)
          << report.error().message;
      EXPECT_NE(report.error().message.find("thread (11,0,0), PTX line 15"), std::string::npos)
          << report.error().message;
    }
  }
}

// All rows of A and columns of B alike: 1 * 1 - 1 * 1 + 2 * 2^-13 * 2^-13.
constexpr const char* kSumsThatCancel = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry sums(.param .u64 out) {
  .reg .b64 %out;
  .reg .b32 %id, %quarter, %a, %b;
  .reg .f32 %d<4>, %zero;
  .reg .pred %p;
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  and.b32 %quarter, %id, 3;
  setp.eq.u32 %p, %quarter, 0;
  selp.b32 %a, 0xbf803f80, 0, %p;
  selp.b32 %b, 0x3f803f80, 0, %p;
  setp.eq.u32 %p, %quarter, 1;
  selp.b32 %a, 0x39003900, %a, %p;
  selp.b32 %b, 0x39003900, %b, %p;
  mov.f32 %zero, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    {%d0, %d1, %d2, %d3}, {%a, %a, 0, 0}, {%b, 0}, {%zero, %zero, %zero, %zero};
  mad.wide.u32 %out, %id, 16, %out;
  st.global.v4.f32 [%out], {%d0, %d1, %d2, %d3};
  ret;
}
)";

TEST_P(Matrices, AreMultipliedAsHopperDoesWhereAskedFor) {
  for (const auto& [arithmetic, sum] :
       {std::pair{raddle::MatrixArithmetic::reference, 0x1p-25f}, {raddle::MatrixArithmetic::hopper, 0.0f}}) {
    options_.matrix_arithmetic = arithmetic;
    {
      auto out = buffer(std::vector<float>(128, 1));
      load_text(kSumsThatCancel);
      const auto report = try_run(*module().kernel("sums"), {.grid = {1}, .block = {32}}, out);
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_EQ(contents(out), std::vector<float>(128, sum));
      const bool by_interpreter = interpreted() || arithmetic == raddle::MatrixArithmetic::hopper;
      EXPECT_EQ(report->engine, by_interpreter ? "interp" : "jit");
    }
    close();
  }
}

TEST_P(Matrices, OfEveryInstructionAreTheInterpretersInHoppersArithmetic) {
  options_.matrix_arithmetic = raddle::MatrixArithmetic::hopper;
  for (const char* product :
       {"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f, %f, %f, %f}, {%r, %r}, "
        "{%r, %r}, "
        "{%f, %f, %f, %f}, %r, 0;",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {%f, %f, %f, %f, %f, %f, %f, %f}, {%r, "
        "%r, %r, %r}, "
        "{%r, %r, %r, %r}, {%f, %f, %f, %f, %f, %f, %f, %f};",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f, %f, %f, %f, %f, %f, %f, %f}, {%r, %r, %r, %r, "
        "%r, %r, "
        "%r, %r}, {%r, %r, %r, %r, %r, %r, %r, %r}, {%f, %f, %f, %f, %f, %f, %f, %f};"}) {
    load_text(
        std::string(".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry product() {\n"
                    ".reg .b32 %r;\n.reg .f32 %f;\nmov.b32 %r, 0x44444444;\nmov.f32 %f, 0f00000000;\n") +
        product + "\nret;\n}\n");
    const auto report = try_run(*module().kernel("product"), {.grid = {1}, .block = {32}});
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_EQ(report->engine, "interp") << product;
    close();
  }
}

/// Two turns around a barrier: products of ones are added to sums that nobody wrote before, which are zero.
constexpr const char* kSumsOverBarriers = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry sums(.param .u64 out) {
  .reg .b64 %out, %own;
  .reg .b32 %a, %id, %n;
  .reg .f32 %d<4>;
  .reg .pred %again;
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  mov.b32 %a, 0x3f803f80;
  mov.u32 %n, 0;
TURN:
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    {%d0, %d1, %d2, %d3}, {%a, %a, %a, %a}, {%a, %a}, {%d0, %d1, %d2, %d3};
  bar.sync 0;
  add.u32 %n, %n, 1;
  setp.lt.u32 %again, %n, 2;
  @%again bra TURN;
  mad.wide.u32 %own, %id, 16, %out;
  st.global.v4.f32 [%own], {%d0, %d1, %d2, %d3};
  ret;
}
)";

TEST_P(Matrices, SumsStayOverBarriersAndBeginAsZero) {
  load_text(kSumsOverBarriers);
  for (int launch = 0; launch < 2; ++launch) {  // the second finds what the first left in memory
    auto out = buffer(std::vector<float>(512));
    const auto report = try_run(*module().kernel("sums"), {.grid = {1}, .block = {128}}, out);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_EQ(contents(out), std::vector<float>(512, 32));
  }
}

/// 16 products of the smallest subnormal of bf16 and 2^127.
constexpr const char* kProductsOfSubnormals = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry sums(.param .u64 out) {
  .reg .b64 %out;
  .reg .b32 %id, %a, %b;
  .reg .f32 %d<4>, %zero;
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  mov.b32 %a, 0x00010001;
  mov.b32 %b, 0x7f007f00;
  mov.f32 %zero, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    {%d0, %d1, %d2, %d3}, {%a, %a, %a, %a}, {%b, %b}, {%zero, %zero, %zero, %zero};
  mad.wide.u32 %out, %id, 16, %out;
  st.global.v4.f32 [%out], {%d0, %d1, %d2, %d3};
  ret;
}
)";

// What the host's own instructions make of subnormals shows whether they were used.
TEST_P(Matrices, AreMultipliedFastWhereAskedFor) {
  const bool has_bf16 = __builtin_cpu_supports("avx512bf16") && std::string(GetParam().simd).empty();
  for (const auto arithmetic : {raddle::MatrixArithmetic::reference, raddle::MatrixArithmetic::fast}) {
    options_.matrix_arithmetic = arithmetic;
    {
      const bool is_fast = arithmetic == raddle::MatrixArithmetic::fast && !interpreted() && has_bf16;
      auto out = buffer(std::vector<float>(128, 1));
      load_text(kProductsOfSubnormals);
      testing::internal::CaptureStderr();
      const auto report = try_run(*module().kernel("sums"), {.grid = {1}, .block = {32}}, out);
      const std::string told = testing::internal::GetCapturedStderr();
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_EQ(contents(out), std::vector<float>(128, is_fast ? 0.0f : 0.25f)) << told;
    }
    close();
  }
}

}  // namespace
