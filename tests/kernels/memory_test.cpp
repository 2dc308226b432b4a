// Memory on every engine: coordinates in every block shape, wrapping indices, strides and permutations,
// narrow types, vectors, local arrays, generic pointers, all of dynamic shared memory.
#include <cstdint>
#include <numeric>

#include "kernel_test.h"

namespace {

class Memory : public KernelTest {};
ON_EVERY_ENGINE(Memory);

std::vector<int> inputs(int count, std::uint32_t seed = 3) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<int>(seed >> 12) - 500000);
  }
  return values;
}

const raddle::Dim3 kShapes[] = {{1, 1, 1},  {5, 1, 1},  {33, 1, 1}, {100, 1, 1}, {1024, 1, 1}, {16, 16, 1},
                                {8, 8, 3},  {7, 5, 3},  {64, 2, 1}, {64, 3, 2},  {1, 40, 1},   {4, 16, 2},
                                {32, 3, 1}, {48, 2, 2}, {1, 1, 64}, {31, 33, 1}};

TEST_P(Memory, CoordinatesInEveryBlockShape) {
  const raddle::Dim3 grid{3, 2, 2};
  for (const auto& block : kShapes) {
    const unsigned threads = block.x * block.y * block.z, blocks = 12;
    auto out = buffer(std::vector<unsigned>(2 * threads * blocks));
    run(kernel("memory.ptx", "coordinates"), {.grid = grid, .block = block}, out);
    std::vector<unsigned> want(2 * threads * blocks);
    for (unsigned b = 0; b < blocks; ++b)
      for (unsigned t = 0; t < threads; ++t) {
        unsigned* at = &want[2 * (b * threads + t)];
        at[0] = t % block.x | t / block.x % block.y << 10 | t / block.x / block.y << 20;
        at[1] = t % 32 | t / 32 << 5 | b % 3 << 10 | b / 3 % 2 << 16 | b / 6 << 22;
      }
    EXPECT_EQ(contents(out), want) << block.x << " x " << block.y << " x " << block.z;
  }
}

// proves: K-9a
TEST_P(Memory, TilesInEveryBlockShape) {
  for (const auto& block : kShapes) {
    const int w = block.x, h = block.y, d = block.z, n = w * h * d, pitch = w + 3;
    const auto in = inputs(pitch * h * d);
    auto a = buffer(in), out = buffer(std::vector<int>(n));
    run(kernel("memory.ptx", "tile"),
        {.grid = {1}, .block = block, .shared_bytes = static_cast<std::uint64_t>(n) * 4}, a, out, pitch);
    std::vector<int> shared(n), want(n);
    for (int z = 0; z < d; ++z)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) shared[(z * w + x) * h + y] = in[(z * h + y) * pitch + x];
    for (int t = 0; t < n; ++t) want[t] = static_cast<int>(shared[t] + 1000u * shared[n - 1 - t]);
    EXPECT_EQ(contents(out), want) << w << " x " << h << " x " << d;
  }
}

// 32-bit indices that wrap between the lanes of one warp.
// proves: K-9b
TEST_P(Memory, IndicesWrapBetweenLanes) {
  for (unsigned threads : {64u, 75u, 256u}) {
    const unsigned n = threads - 5;
    const auto in = inputs(256);
    auto a = buffer(in), out = buffer(std::vector<int>(2 * n, -1));
    run(kernel("memory.ptx", "wrap_unsigned"), {.grid = {1}, .block = {threads}}, a, out, n);
    std::vector<int> want(2 * n, -1);
    for (unsigned t = 0; t < threads; ++t) {
      const unsigned i = t - 5u, j = threads - 7u - t;
      if (i < n) want[i] = in[i] * 3;
      if (j < n) want[n + j] = in[j] + 1;
    }
    EXPECT_EQ(contents(out), want) << threads;

    auto product = buffer(std::vector<int>(threads));
    run(kernel("memory.ptx", "wrap_product"), {.grid = {1}, .block = {threads}}, a, product);
    std::vector<int> products(threads);
    for (unsigned t = 0; t < threads; ++t)
      products[t] = in[(t * 0x40000001u) & 0xffu] + in[(t * 0x08000000u) >> 27] + in[(t + 0xfffffff0u) % 64u];
    EXPECT_EQ(contents(product), products) << threads;
  }
  const auto in = inputs(64, 5), far = inputs(128, 6);
  auto a = buffer(in), b = buffer(far), out = buffer(std::vector<int>(96));
  run(kernel("memory.ptx", "wrap_signed"), {.grid = {1}, .block = {96}}, a, out, 2147483600u,
      b);  // passes 2^31 at thread 48
  std::vector<int> want(96);
  for (int t = 0; t < 96; ++t) want[t] = t < 48 ? in[t] : far[t - 48];
  EXPECT_EQ(contents(out), want);
}

// A register below 0 for some lanes, or for all lanes of some warps, and an offset that leads them back.
// proves: K-9b
TEST_P(Memory, SharedAddressesWrapBetweenLanes) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry shifted(.param .u64 out, .param .u32 back)
{
.shared .align 4 .b32 cells[128];
.reg .b32 %t, %cells, %at, %some, %all, %back, %v, %a, %b;
.reg .b64 %out, %wide;
  ld.param.u64 %out, [out];
  ld.param.u32 %back, [back];
  mov.u32 %t, %tid.x;
  mov.u32 %cells, cells;
  mad.lo.u32 %at, %t, 4, %cells;
  mad.lo.u32 %v, %t, 7, 1;
  st.shared.u32 [%at], %v;
  bar.sync 0;
  sub.u32 %some, %at, %back;
  ld.shared.u32 %a, [%some+1088];
  sub.u32 %all, %some, 192;
  ld.shared.u32 %b, [%all+1280];
  mad.lo.u32 %a, %b, 1000, %a;
  mul.wide.u32 %wide, %t, 4;
  add.u64 %out, %out, %wide;
  st.global.u32 [%out], %a;
  ret;
})");
  for (unsigned threads : {128u, 75u}) {
    auto out = buffer(std::vector<unsigned>(threads));
    run(*module().kernel("shifted"), {.grid = {1}, .block = {threads}}, out, 1088u);  // 64 more than `cells`
    std::vector<unsigned> want(threads);
    for (unsigned t = 0; t < threads; ++t) want[t] = (t * 7 + 1) * 1001;
    EXPECT_EQ(contents(out), want) << threads;
  }
}

// proves: K-9b
TEST_P(Memory, IndicesThatWrapAreKeptOverBarriers) {
  for (unsigned first : {100u, 0xffffffe8u, 0xfffffff0u}) {
    for (unsigned threads : {64u, 75u}) {
      auto out = buffer(std::vector<std::uint64_t>(threads));
      run(kernel("branches.ptx", "wraps_over_barriers"), {.grid = {1}, .block = {threads}}, out, first);
      std::vector<std::uint64_t> want;
      for (unsigned t = 0; t < threads; ++t)
        want.push_back(std::uint64_t{first + t} + 2 * (3 + (t % 2 == 1 ? 5 : 0)));
      EXPECT_EQ(contents(out), want) << first << ", " << threads;
    }
  }
}

// Loads behind an index that has wrapped: each lane reads its own place, and a fault names the lane whose
// place is not there.
// proves: K-9b
TEST_P(Memory, FaultsBehindIndicesThatWrap) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry behind(.param .u64 in, .param .u64 out, .param .u32 first)
{
.reg .b32 %t, %i, %v, %w;
.reg .b64 %in, %out, %at, %to;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %i, [first];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %to, %t, 4;
  add.u64 %to, %out, %to;
  add.u32 %i, %i, %t;
  mul.wide.u32 %at, %i, 4;
  add.u64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  ld.global.u32 %w, [%at+4];
  mad.lo.u32 %v, %w, 1000, %v;
  st.global.u32 [%to], %v;
  ret;
})");
  constexpr std::uint32_t kWords = 1 << 15;  // large enough to lie between guard pages
  const auto in = inputs(kWords);
  auto a = buffer(in), out = buffer(std::vector<int>(32));
  const auto begin = [&](std::uint32_t first) { return a.address().value - std::uint64_t{first} * 4; };
  const auto call = [&](std::uint32_t first, std::uint64_t from) {
    return try_run(*module().kernel("behind"), {.grid = {1}, .block = {32}}, from, out, first);
  };
  ASSERT_TRUE(call(7, begin(7)).ok());
  std::vector<int> want(32);
  for (unsigned t = 0; t < 32; ++t)
    want[t] = static_cast<int>(static_cast<unsigned>(in[t + 1]) * 1000u + static_cast<unsigned>(in[t]));
  EXPECT_EQ(contents(out), want);
  // Lane 20 is the first whose index is small again, so that it reads 16 GiB before the buffer.
  const auto failed = call(0xffffffec, begin(0xffffffec));
  ASSERT_FALSE(failed.ok());
  const std::string& message = failed.error().message;
  EXPECT_NE(message.find("thread (20,0,0)"), std::string::npos) << message;
  EXPECT_NE(message.find("17179869104 bytes before the allocation"), std::string::npos) << message;
}

void patterns_of(const std::vector<int>& in, unsigned t, unsigned b, unsigned n, bool shared,
                 std::vector<int>& out) {
  auto at = [&](unsigned i) { return static_cast<unsigned>(in[i]); };
  unsigned r = at(2 * t) + 3 * at(3 * t + 1) + 5 * at(b - 1 - t) + 7 * at(t ^ 1) + 11 * at(t ^ 21);
  r += 13 * at(t & 15) + 17 * at(t >> 4) + 19 * at((t & 15) * 16 + (t >> 4)) + 23 * at(t & 30) +
       29 * at(shared ? t * 17 & 2047 : t * 17);
  out[t] = static_cast<int>(r);
  out[n + 2 * (t ^ 1)] = static_cast<int>(r);
  out[n + 1 + 2 * (b - 1 - t)] = static_cast<int>(-r);
}

// proves: K-9b
TEST_P(Memory, StridesAndPermutations) {
  const auto in = inputs(256 * 17 + 2048);
  for (const char* name : {"patterns", "patterns_shared"})
    for (auto [b, n] : {std::pair{256u, 256u}, {256u, 201u}, {75u, 75u}, {20u, 20u}, {64u, 3u}}) {
      const std::size_t words = n + 2 * 256 + 64;
      auto a = buffer(in), out = buffer(std::vector<int>(words, -1));
      run(kernel("memory.ptx", name), {.grid = {1}, .block = {b}}, a, out, n);
      std::vector<int> want(words, -1);
      for (unsigned t = 0; t < n; ++t) patterns_of(in, t, b, n, name[8] == '_', want);
      EXPECT_EQ(contents(out), want) << name << ' ' << b << ' ' << n;
    }
}

struct Float2 {
  float x, y;
};
struct Float4 {
  float x, y, z, w;
};

/// Rows of 16 bytes, 2048 bytes apart, by four threads or two; threads from `limit` on load nothing.
constexpr const char* kRuns = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry runs(.param .u64 in, .param .u64 out, .param .u32 limit) {
  .reg .b64 %in, %out, %base, %base64, %word, %wide, %own, %value64;
  .reg .b32 %t, %row, %column, %row64, %column64, %limit, %value;
  .reg .pred %loads;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %limit, [limit];
  mov.u32 %t, %tid.x;
  setp.lt.u32 %loads, %t, %limit;
  shr.u32 %row, %t, 2;
  and.b32 %column, %t, 3;
  mad.wide.u32 %base, %row, 2048, %in;
  mad.wide.u32 %word, %column, 4, %base;
  mov.u32 %value, 7;
  @%loads ld.global.u32 %value, [%word];
  shr.u32 %row64, %t, 1;
  and.b32 %column64, %t, 1;
  mad.wide.u32 %base64, %row64, 2048, %in;
  mad.wide.u32 %wide, %column64, 8, %base64;
  mov.u64 %value64, 7;
  @%loads ld.global.u64 %value64, [%wide+16];
  mad.wide.u32 %own, %t, 16, %out;
  st.global.u64 [%own+8], %value64;
  cvt.u64.u32 %value64, %value;
  st.global.u64 [%own], %value64;
  ret;
}
)";

TEST_P(Memory, RunsOfNeighbours) {
  constexpr int kThreads = 64, kRow = 256;  // in words of 64 bits
  std::vector<std::uint64_t> values(kThreads / 2 * kRow);
  std::iota(values.begin(), values.end(), std::uint64_t{1} << 40);
  const auto in = buffer(values);
  load_text(kRuns);
  auto kernel = *module().kernel("runs");
  for (const int limit : {kThreads, 45, 3, 0}) {
    auto out = buffer(std::vector<std::uint64_t>(2 * kThreads));
    run(kernel, {.grid = {1}, .block = {kThreads}}, in, out, limit);
    std::vector<std::uint64_t> want;
    for (int t = 0; t < kThreads; ++t) {
      const std::uint64_t pair = values[t / 4 * kRow + t % 4 / 2];
      want.push_back(t < limit ? (t % 2 == 0 ? pair & 0xffffffff : pair >> 32) : 7);
      want.push_back(t < limit ? values[t / 2 * kRow + t % 2 + 2] : 7);
    }
    EXPECT_EQ(contents(out), want) << limit;
  }
  auto out = buffer(std::vector<std::uint64_t>(2 * kThreads));
  constexpr std::uint64_t kNowhere = 0x500000;
  EXPECT_TRUE(try_run(kernel, {.grid = {1}, .block = {kThreads}}, kNowhere, out, 0).ok());
  const auto report = try_run(kernel, {.grid = {1}, .block = {kThreads}}, kNowhere, out, 1);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("illegal address 0x500000"), std::string::npos)
      << report.error().message;
}

TEST_P(Memory, Vectors) {
  constexpr int kN = 331;
  std::vector<float> a(2 * kN), b(4 * (kN + 1));
  std::iota(a.begin(), a.end(), 1.0f);
  std::iota(b.begin(), b.end(), 5000.0f);
  auto da = buffer(a), db = buffer(b), out = buffer(std::vector<float>(4 * kN, -1)),
       out2 = buffer(std::vector<float>(2 * kN, -1));
  run(kernel("memory.ptx", "vectors"), {.grid = {4}, .block = {100}}, da, db, out, out2, kN);
  std::vector<float> want(4 * kN, -1), want2(2 * kN, -1);
  for (int i = 0; i < kN; ++i) {
    if (i % 7 == 3) continue;
    const float *x = &a[2 * i], *y = &a[2 * (kN - 1 - i)], *z = &b[4 * i], *w = &b[4 * (i ^ 1)];
    const float four[] = {x[0] + z[3], x[1] + z[0], y[0] + w[1], y[1] + w[2]};
    std::copy(four, four + 4, &want[4 * i]);
    want2[2 * (kN - 1 - i)] = z[1];
    want2[2 * (kN - 1 - i) + 1] = w[0];
  }
  EXPECT_EQ(contents(out), want);
  EXPECT_EQ(contents(out2), want2);
}

TEST_P(Memory, NarrowTypes) {
  constexpr int kN = 299;
  const auto in = inputs(kN);
  std::vector<std::int8_t> a(in.begin(), in.end()), oa(4 * kN, 99);
  std::vector<std::uint8_t> b(in.begin(), in.end());
  std::vector<std::int16_t> c(in.begin(), in.end());
  std::vector<std::uint16_t> d(in.begin(), in.end()), od(kN);
  auto da = buffer(a), doa = buffer(oa);
  auto db = buffer(b);
  auto dc = buffer(c);
  auto dd = buffer(d), dod = buffer(od);
  run(kernel("memory.ptx", "narrow"), {.grid = {4}, .block = {80}}, da, db, dc, dd, doa, dod, kN);
  for (int i = 0; i < kN; ++i) {
    const int sum = a[i] + b[kN - 1 - i] * 2 + c[i] * 3 + d[(i * 37) % kN];
    if (sum & 1) oa[i] = static_cast<std::int8_t>(sum);
    od[(i * 5) % kN] = static_cast<std::uint16_t>(sum >> 2);
    if (i % 3) oa[kN + 3 * i] = static_cast<std::int8_t>(sum >> 8);
  }
  EXPECT_EQ(contents(doa), oa);
  EXPECT_EQ(contents(dod), od);
}

// (block * threads + thread) / 32 is a warp's own number where blocks are whole warps: one row per warp then
// reads the row's elements side by side.
TEST_P(Memory, WarpsThatShareARowReadItAsVectors) {
  if (interpreted() || translated()) GTEST_SKIP() << "there are no vectors";
  auto spmv = kernel("../../examples/kernels/spmv.ptx", "spmv_vector");
  const auto whole = spmv.compile({256}), ragged = spmv.compile({50});
  ASSERT_TRUE(whole.ok() && ragged.ok());
  EXPECT_LE(2 * whole->not_vectorised, ragged->not_vectorised);
}

/// out[thread] = in[index], at an index that `or` joins.
std::string joined_index(const std::string& code) {
  return R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry k (.param .u64 in, .param .u64 out)
{
  .reg .b32 %t, %w, %l, %i;
  .reg .b64 %in, %out;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
)" + code +
         R"(
  mad.wide.u32 %in, %i, 4, %in;
  ld.global.u32 %i, [%in];
  st.global.u32 [%out], %i;
  ret;
}
)";
}

// Where no bit is set in both, `or` adds: a warp's own part of a tile, joined to the lane's place in it, is a
// place of vectors. With a bit in both it is not.
TEST_P(Memory, WarpsPartsJoinedToLanesPlacesAreVectors) {
  struct Case {
    const char* code;
    unsigned (*index)(unsigned);
    bool is_sum;
  };
  const Case cases[] = {{"shl.b32 %w, %t, 2; and.b32 %w, %w, -128; and.b32 %l, %t, 31;",
                         [](unsigned t) { return t / 32 * 128 + t % 32; }, true},
                        {"shl.b32 %w, %t, 2; and.b32 %w, %w, 128; and.b32 %l, %t, 63;",
                         [](unsigned t) { return (t * 4 & 128) | t % 64; }, true},
                        {"shr.u32 %w, %t, 5; shl.b32 %w, %w, 4; and.b32 %l, %t, 31;",
                         [](unsigned t) { return t / 32 * 16 | t % 32; }, false},
                        {"shr.u32 %w, %t, 5; mov.b32 %l, %t;", [](unsigned t) { return t / 32 | t; }, false}};
  std::vector<unsigned> in(512);
  std::iota(in.begin(), in.end(), 5u);
  for (const Case& c : cases) {
    for (const char* join : {"or.b32 %i, %w, %l;", "or.b32 %i, %l, %w;"}) {
      load_text(joined_index(std::string(c.code) + join));
      auto k = module().kernel("k");
      ASSERT_TRUE(k.ok()) << k.error().to_string();
      auto from = buffer(in), out = buffer(std::vector<unsigned>(128));
      const auto report = run(*k, {.grid = {1}, .block = {128}}, from, out);
      std::vector<unsigned> want(128);
      for (unsigned t = 0; t < 128; ++t) want[t] = c.index(t) + 5;
      EXPECT_EQ(contents(out), want) << c.code;
      if (!interpreted() && !translated()) EXPECT_EQ(report.not_vectorised == 0, c.is_sum) << c.code;
    }
  }
}

// proves: K-9a
TEST_P(Memory, AllOfSharedMemory) {
  constexpr int kWords = 227 * 1024 / 4;
  auto out = buffer(std::vector<int>(5));
  run(kernel("memory.ptx", "dynamic_shared"), {.grid = {5}, .block = {320}, .shared_bytes = 227 * 1024}, out,
      kWords);
  std::vector<int> want;
  for (int b = 0; b < 5; ++b) {
    std::int64_t sum = 0;
    for (int k = 0; k < kWords; ++k) sum += ((kWords - 1 - k) * 7 + b) ^ k;
    want.push_back(static_cast<int>(sum));
  }
  EXPECT_EQ(contents(out), want);
}

int sum_of(const int* p, int n) {
  unsigned s = 0;
  for (int k = 0; k < n; ++k) s = s * 3 + static_cast<unsigned>(p[k]);
  return static_cast<int>(s);
}

// proves: K-9a
TEST_P(Memory, LocalArrays) {
  constexpr int kN = 150;
  const auto in = inputs(kN);
  auto a = buffer(in), out = buffer(std::vector<int>(kN));
  run(kernel("memory.ptx", "local_arrays"), {.grid = {3}, .block = {64}}, a, out, kN);
  std::vector<int> want(kN);
  for (int i = 0; i < kN; ++i) {
    int x[16];
    std::int8_t bytes[8];
    for (int k = 0; k < 16; ++k) x[k] = in[(i + k) % kN];
    for (int k = 0; k < 16; ++k) {
      const int j = x[k] & 15, t = x[j];
      x[j] = x[k] + k;
      x[k] = t;
    }
    for (int k = 0; k < 8; ++k) bytes[(k * 3 + i) & 7] = static_cast<std::int8_t>(x[k]);
    want[i] = static_cast<int>(static_cast<unsigned>(sum_of(x, 16)) + bytes[i & 7]);
  }
  EXPECT_EQ(contents(out), want);
}

// What the lanes of an earlier block have allocated is not theirs: all blocks allocate at the same place.
TEST_P(Memory, StacksBeginEmptyInEachBlock) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry places(.param .u64 out) {
.reg .b32 %t, %b, %n, %x, %y; .reg .b64 %out, %a, %p, %q;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %x, %b, %n, %t;
  mul.wide.u32 %a, %x, 4; add.u64 %out, %out, %a;
  alloca.u64 %p, 32; st.local.u32 [%p], %x; bar.sync 0;
  alloca.u64 %q, 16; st.local.u32 [%q], %t; bar.sync 0;
  ld.local.u32 %y, [%p]; sub.u32 %y, %y, %x; cvt.u32.u64 %x, %q; add.u32 %y, %y, %x;
  st.global.u32 [%out], %y; ret;
})");
  constexpr unsigned kBlocks = 40, kThreads = 96;
  auto out = buffer(std::vector<std::uint32_t>(kBlocks * kThreads));
  run(*module().kernel("places"), {.grid = {kBlocks}, .block = {kThreads}}, out);
  const auto places = contents(out);
  EXPECT_NE(places[0], 0u);
  EXPECT_EQ(places, std::vector<std::uint32_t>(kBlocks * kThreads, places[0]));
}

// proves: K-9c
TEST_P(Memory, GenericPointersFindTheirSpace) {
  const auto in = inputs(72);
  auto a = buffer(in), out = buffer(std::vector<int>(128));
  run(kernel("memory.ptx", "generic_pointers"), {.grid = {1}, .block = {64}}, a, out, 64);
  std::vector<int> want(128), shared;
  for (int i = 0; i < 64; ++i) shared.push_back(in[i] * 2);
  for (int i = 0; i < 64; ++i) {
    const int local[] = {i, i + 1, i + 2, i * i};
    want[i] = sum_of(i % 3 == 0 ? local : i % 3 == 1 ? &shared[i & 48] : &in[i], 4);
    want[64 + i] = i % 3 == 0 ? 2 : i % 3 == 1 ? 1 : 3;
  }
  EXPECT_EQ(contents(out), want);
}

// One lane stores and loads; a branch tests what all lanes have of it.
TEST_P(Memory, ABranchOnWhatOneLaneLoads) {
  constexpr const char* kText = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry below(.param .u64 out, .param .u64 level) {
  .local .align 8 .b64 entry;
  .reg .pred %other, %none; .reg .b32 %t; .reg .b64 %level, %out;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %other, %t, 0;
  @%other bra END;
  ld.param.u64 %out, [out]; ld.param.u64 %level, [level];
  st.local.u64 [entry], %level;
  ld.local.u64 %level, [entry];
  setp.eq.u64 %none, %level, 0;
  @%none bra END;
  st.global.u64 [%out], %level;
END:
  ret;
}
)";
  auto loaded = device().load(kText).value();
  for (const std::uint32_t threads : {1u, 32u, 40u}) {
    auto out = buffer(std::vector<std::uint64_t>(1));
    run(loaded.kernel("below").value(), {.grid = {1}, .block = {threads}}, out, std::uint64_t{5} << 32);
    EXPECT_EQ(contents(out)[0], std::uint64_t{5} << 32) << threads;
  }
}

}  // namespace
