// Kernels whose warps run together in one stream of instructions as long as their lanes go the same way: that
// they do, what they compute where lanes part, and whom a fault names.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <numeric>

#include "kernel_test.h"

namespace {

class Together : public KernelTest {
 protected:
  /// Vectors of the host that a warp's 32-bit values take, 0 on the interpreter.
  unsigned parts() const {
    const std::string simd = GetParam().simd;
    if (interpreted()) return 0;
    if (simd == "sse42") return 8;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    if (simd == "avx512" || (simd.empty() && wide)) return 2;
    return __builtin_cpu_supports("avx2") ? 4 : 8;
  }
  /// That run together if each holds one such value in a loop.
  unsigned wanted() const {
    return translated() || parts() == 8 ? 0 : parts() == 2 ? 4 : parts() == 4 ? 2 : 0;
  }
};
ON_EVERY_ENGINE(Together);

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(seed = seed * 1664525u + 1013904223u);
  return values;
}

// The last turn is one of some warps, of some lanes, of nobody or of all; blocks of one warp run alone, and
// so do those of half a warp.
TEST_P(Together, PartAtTheEndOfALoop) {
  for (unsigned threads : {256u, 128u, 96u, 64u, 32u, 48u})
    for (unsigned more : {0u, 1u, 40u, threads, 2 * threads - 7}) {
      const unsigned blocks = 2, all = blocks * threads, n = 5 * all + more;
      const auto in = numbers(n, more + threads);
      auto from = buffer(in), out = buffer(std::vector<std::uint32_t>(all)),
           sums = buffer(std::vector<std::uint32_t>(blocks));
      const auto report = run(kernel("together.ptx", "strided_sum"), {.grid = {blocks}, .block = {threads}},
                              from, out, sums, n);
      const unsigned most = threads % 128 == 0 ? 4 : threads % 64 == 0 ? 2 : 0;
      EXPECT_EQ(report.warps_together, std::min(most, wanted())) << threads;
      std::vector<std::uint32_t> want(all), want_sums(blocks);
      for (unsigned i = 0; i < n; ++i) want[i % all] += in[i];
      for (unsigned t = 0; t < all; ++t) want_sums[t / threads] += want[t];
      ASSERT_EQ(contents(out), want) << threads << ' ' << more;
      ASSERT_EQ(contents(sums), want_sums) << threads << ' ' << more;
    }
}

// Those that have parted go on by themselves in the same region: else the others, whose lanes all take the
// last turn, would pass the barrier before them.
TEST_P(Together, ThoseThatPartReachTheBarrierWithTheOthers) {
  constexpr unsigned kThreads = 256;
  for (unsigned more : {0u, 7u, 135u, kThreads - 1}) {
    const unsigned n = 4 * kThreads + more;
    const auto in = numbers(n, more + 1);
    auto from = buffer(in), out = buffer(std::vector<std::uint32_t>(kThreads));
    const auto report =
        run(kernel("together.ptx", "mirrored_sum"), {.grid = {1}, .block = {kThreads}}, from, out, n);
    EXPECT_EQ(report.warps_together, wanted());
    std::vector<std::uint32_t> want(kThreads);
    for (unsigned i = 0; i < n; ++i) want[kThreads - 1 - i % kThreads] += in[i];
    ASSERT_EQ(contents(out), want) << more;
  }
}

TEST_P(Together, ShareWhatAllRead) {
  constexpr unsigned n = 96;
  const auto x = numbers(n * n, 1), y = numbers(n * n, 2);
  auto a = buffer(x), b = buffer(y), out = buffer(std::vector<std::uint32_t>(n * n));
  const auto report =
      run(kernel("together.ptx", "product"), {.grid = {n / 32, n / 32}, .block = {32, 32}}, a, b, out, n);
  EXPECT_EQ(report.warps_together, wanted());
  const auto got = contents(out);
  for (unsigned row = 0; row < n; ++row)
    for (unsigned column = 0; column < n; ++column) {
      std::uint32_t sum = 0;
      for (unsigned k = 0; k < n; ++k) sum += x[row * n + k] * y[k * n + column];
      ASSERT_EQ(got[row * n + column], sum) << row << ' ' << column;
    }
}

// A warp is several rows of a block: the same columns in all warps. Blocks of one warp, of half a warp and of
// two planes, of rows shorter than a vector.
TEST_P(Together, ShareColumnsOfShortRows) {
  constexpr unsigned n = 48;
  const auto x = numbers(n * n, 3), y = numbers(n * n, 4);
  auto a = buffer(x), b = buffer(y);
  for (const raddle::Dim3 block :
       {raddle::Dim3{16, 16}, {16, 8}, {16, 2}, {16, 3}, {16, 4, 2}, {8, 16}, {4, 16}}) {
    auto out = buffer(std::vector<std::uint32_t>(n * n));
    const unsigned rows = block.y * block.z, warps = block.x * rows / 32;
    const auto report = run(kernel("together.ptx", "product_of_rows"),
                            {.grid = {n / block.x, n / rows}, .block = block}, a, b, out, n);
    const bool share =
        parts() != 0 && block.z == 1 && block.x % (32 / parts()) == 0 && block.x * rows % 64 == 0;
    EXPECT_EQ(report.warps_together, share ? std::min(warps, wanted()) : 0) << block.x << ' ' << block.y;
    const auto got = contents(out);
    for (unsigned row = 0; row < n; ++row)
      for (unsigned column = 0; column < n; ++column) {
        std::uint32_t sum = 0;
        for (unsigned k = 0; k < n; ++k) sum += x[row * n + k] * y[k * n + column];
        ASSERT_EQ(got[row * n + column], sum) << block.x << ' ' << block.y << ": " << row << ' ' << column;
      }
  }
}

// Indices of one warp wrap, those of others do not: where code for wrapped addresses takes over, in the
// middle of a loop, what has been computed is not computed again. Behind a barrier such warps are not
// together.
// proves: K-9b
TEST_P(Together, WhereOneHasWrapped) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry steps(.param .u64 out, .param .u32 first)
{
.shared .align 4 .b32 cells[32];
.reg .pred %p;
.reg .b32 %x, %y, %t, %i, %outer, %inner, %v, %cells;
.reg .b64 %out, %sum, %at, %more, %all;
  ld.param.u64 %out, [out];
  ld.param.u32 %i, [first];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %t, %y, 32, %x;
  mov.u32 %cells, cells;
  mad.lo.u32 %cells, %x, 4, %cells;
  mad.lo.u32 %v, %x, 5, 1;
  st.shared.u32 [%cells], %v;
  mul.wide.u32 %at, %t, 8;
  add.u64 %out, %out, %at;
  add.u32 %i, %i, %t;
  mul.wide.u32 %sum, %i, 4;
  mov.u64 %all, 0;
  mov.u32 %outer, 0;
OUTER:
  mov.u32 %inner, 0;
INNER:
  ld.shared.u32 %v, [%cells];
  add.u64 %sum, %sum, 8;
  cvt.u64.u32 %more, %v;
  add.u64 %all, %all, %more;
  add.u32 %inner, %inner, 1;
  setp.lt.u32 %p, %inner, 3;
  @%p bra INNER;
  bar.sync 0;
  add.u32 %outer, %outer, 1;
  setp.lt.u32 %p, %outer, 2;
  @%p bra OUTER;
  add.u64 %sum, %sum, %all;
  st.global.u64 [%out], %sum;
  ret;
})");
  for (unsigned first :
       {5u, 0xffffff90u, 0xffffffd0u, 0xfffffff0u}) {  // nobody's, the last's, the second's, the first's
    auto out = buffer(std::vector<std::uint64_t>(128));
    const auto report = run(*module().kernel("steps"), {.grid = {1}, .block = {32, 4}}, out, first);
    EXPECT_EQ(report.warps_together, interpreted() || translated() ? 0 : 4);
    std::vector<std::uint64_t> want;
    for (std::uint32_t t = 0; t < 128; ++t)
      want.push_back(4 * std::uint64_t{first + t} + 6 * (8 + t % 32 * 5 + 1));
    ASSERT_EQ(contents(out), want) << first;
  }
}

// Lanes that count up to a limit, which scalars decide for whole warps (AVX2, SSE): limits at the ends of
// what numbers hold, lanes that wrap on the way, warps of which some lanes alone are below. Each adds what it
// reads in up to kMost turns.
TEST_P(Together, LimitsOfLanes) {
  constexpr unsigned kMost = 9;
  struct Way {
    const char *compare, *branch;  // the latter goes to TURN, or falls through to it and goes to DONE
    std::int32_t apart;            // numbers of neighbours
    bool (*goes_on)(std::uint32_t i, std::uint32_t n);
  };
  using S = std::int32_t;
  const char *again = "@%p bra TURN;", *unless = "@!%p bra TURN;", *leave = "@%p bra DONE; bra.uni TURN;";
  const Way ways[] = {
      {"lt.s32", again, 1, [](std::uint32_t i, std::uint32_t n) { return S(i) < S(n); }},
      {"le.s32", again, 3, [](std::uint32_t i, std::uint32_t n) { return S(i) <= S(n); }},
      {"lt.u32", again, 1 << 26, [](std::uint32_t i, std::uint32_t n) { return i < n; }},
      {"le.u32", again, 1, [](std::uint32_t i, std::uint32_t n) { return i <= n; }},
      {"ge.s32", leave, 1, [](std::uint32_t i, std::uint32_t n) { return S(i) < S(n); }},
      {"gt.u32", leave, 1, [](std::uint32_t i, std::uint32_t n) { return i <= n; }},
      {"gt.s32", unless, 1, [](std::uint32_t i, std::uint32_t n) { return S(i) <= S(n); }},
      {"lt.s32", again, -1, [](std::uint32_t i, std::uint32_t n) { return S(i) < S(n); }},
      {"gt.s32", again, 1, [](std::uint32_t i, std::uint32_t n) { return S(i) > S(n); }},
  };
  for (const Way& way : ways) {
    load_text(fmt::format(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 in, .param .u64 out, .param .u32 first, .param .u32 step, .param .u32 n)
{{
.reg .pred %p;
.reg .b32 %t, %i, %step, %n, %v, %sum, %turns, %w;
.reg .b64 %in, %out, %a, %row;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %i, [first];
  ld.param.u32 %step, [step];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mov.u32 %w, %ntid.x;
  mul.wide.u32 %row, %w, 4;
  mul.wide.u32 %a, %t, 4;
  add.s64 %in, %in, %a;
  add.s64 %out, %out, %a;
  mad.lo.u32 %i, %t, {}, %i;
  mov.u32 %sum, 0;
  mov.u32 %turns, 0;
TURN:
  setp.eq.u32 %p, %turns, {};
  @%p bra DONE;
  add.u32 %turns, %turns, 1;
  ld.global.u32 %v, [%in];
  add.s64 %in, %in, %row;
  add.u32 %sum, %sum, %v;
  add.u32 %i, %i, %step;
  setp.{} %p, %i, %n;
  {}
DONE:
  st.global.u32 [%out], %sum;
  ret;
}})",
                          way.apart, kMost, way.compare, way.branch));
    for (const auto& [first, step, n] :
         {std::array{0u, 128u, 1000u},
          {0u, 128u, 1023u},
          {0u, 128u, 0xffffff9cu},          // -100
          {0xfffffe0cu, 128u, 300u},        // from -500
          {0x7fffff00u, 32u, 0x7fffffffu},  // a limit of signed numbers
          {0x7fffff00u, 32u, 0x7ffffff0u},  // beyond which they wrap
          {0x7fffff80u, 64u, 0x80000020u},
          {0xffffff00u, 32u, 0xffffffffu},  // and of unsigned ones
          {0xfffffe80u, 64u, 0xffffffe8u},
          {0x80000000u, 1u << 28, 0x78000000u},
          {0x80000010u, 0u, 100u},   // lanes that count down wrap
          {0u, 128u, 960u},          // one lane of a warp is at the limit, none below
          {0x7fffff80u, 16u, 100u},  // the last have wrapped, and are below again
          {0xffffff80u, 16u, 100u},
          {900u, ~127u, 130u}})
      for (unsigned threads : {128u, 96u, 48u}) {
        const auto in = numbers(std::size_t{kMost} * threads, first + n);
        auto from = buffer(in), out = buffer(std::vector<std::uint32_t>(threads));
        const auto report =
            run(*module().kernel("count"), {.grid = {1}, .block = {threads}}, from, out, first, step, n);
        EXPECT_EQ(report.warps_together, threads == 128 ? wanted() : 0) << way.compare;
        std::vector<std::uint32_t> want(threads);
        for (unsigned t = 0; t < threads; ++t) {
          std::uint32_t i = first + t * static_cast<std::uint32_t>(way.apart);
          for (unsigned turn = 0; turn < kMost && (turn == 0 || way.goes_on(i, n)); ++turn, i += step)
            want[t] += in[turn * threads + t];
        }
        ASSERT_EQ(contents(out), want) << way.compare << ' ' << way.branch << ' ' << threads << ' ' << n;
      }
  }
}

// Of the warps that run together the third is the first to touch what is not there.
TEST_P(Together, FaultsNameTheThread) {
  constexpr std::size_t kWords = 1 << 15;  // large enough to lie between guard pages
  auto in = buffer(numbers(kWords, 3)), out = buffer(std::vector<std::uint32_t>(128)),
       sums = buffer(std::vector<std::uint32_t>(1));
  const auto last = in.address() + (kWords - 64) * sizeof(std::uint32_t);
  const auto failed =
      try_run(kernel("together.ptx", "strided_sum"), {.grid = {1}, .block = {128}}, last, out, sums, 128);
  ASSERT_FALSE(failed.ok());
  const std::string& message = failed.error().message;
  EXPECT_NE(message.find("thread (64,0,0)"), std::string::npos) << message;
  EXPECT_NE(message.find("read, 0 bytes past the end of the allocation"), std::string::npos) << message;
}

// What only some lanes do, they do under a guard; what others hold stays as it was. What the lanes of each
// warp then tell each other is the same in all warps.
TEST_P(Together, ShortWaysOfSomeLanes) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry sums(.param .u64 in, .param .u64 out, .param .u32 n)
{
.shared .align 4 .b32 partial[32];
.reg .pred %p;
.reg .b32 %t, %i, %n, %v, %sum, %other, %lane, %warp, %warps, %at, %w;
.reg .b64 %in, %out, %a;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mov.u32 %w, %ntid.x;
  mov.u32 %sum, 0;
  mov.u32 %i, %t;
  setp.ge.s32 %p, %i, %n;
  @%p bra ADDED;
TURN:
  mul.wide.s32 %a, %i, 4;
  add.s64 %a, %in, %a;
  ld.global.u32 %v, [%a];
  add.u32 %sum, %sum, %v;
  add.s32 %i, %i, %w;
  setp.lt.s32 %p, %i, %n;
  @%p bra TURN;
ADDED:
  shfl.sync.bfly.b32 %other, %sum, 16, 31, -1;
  add.u32 %sum, %sum, %other;
  shfl.sync.bfly.b32 %other, %sum, 8, 31, -1;
  add.u32 %sum, %sum, %other;
  shfl.sync.bfly.b32 %other, %sum, 4, 31, -1;
  add.u32 %sum, %sum, %other;
  shfl.sync.bfly.b32 %other, %sum, 2, 31, -1;
  add.u32 %sum, %sum, %other;
  shfl.sync.bfly.b32 %other, %sum, 1, 31, -1;
  add.u32 %sum, %sum, %other;
  bar.sync 0;
  and.b32 %lane, %t, 31;
  shr.u32 %warp, %t, 5;
  mov.u32 %at, partial;
  mad.lo.u32 %at, %warp, 4, %at;
  setp.ne.u32 %p, %lane, 0;
  @%p bra STORED;
  st.shared.u32 [%at], %sum;
STORED:
  bar.sync 0;
  shr.u32 %warps, %w, 5;
  mov.u32 %at, partial;
  mad.lo.u32 %at, %lane, 4, %at;
  mov.u32 %sum, 77;
  setp.ge.u32 %p, %lane, %warps;
  @%p bra LOADED;
  ld.shared.u32 %sum, [%at];
  add.u32 %sum, %sum, %lane;
LOADED:
  shfl.sync.up.b32 %other|%p, %sum, 3, 0, -1;
  @%p mad.lo.u32 %sum, %other, 3, %sum;
  setp.gt.u32 %p, %sum, 300;
  vote.sync.ballot.b32 %other, %p, -1;
  xor.b32 %sum, %sum, %other;
  add.u32 %sum, %sum, %warp;
  mul.wide.u32 %a, %t, 4;
  add.s64 %a, %out, %a;
  st.global.u32 [%a], %sum;
  ret;
})");
  for (unsigned threads : {256u, 64u})
    for (unsigned n : {0u, 31u, 3 * threads, 3 * threads + 40}) {
      const auto in = numbers(n + 1, n + threads);
      auto from = buffer(in), out = buffer(std::vector<std::uint32_t>(threads));
      const auto report = run(*module().kernel("sums"), {.grid = {1}, .block = {threads}}, from, out, n);
      EXPECT_EQ(report.warps_together, std::min(threads / 32, wanted()));
      std::vector<std::uint32_t> partial(threads / 32), of_lane(32), told(32), want;
      for (unsigned i = 0; i < n; ++i) partial[i % threads / 32] += in[i];
      std::uint32_t ballot = 0;
      for (unsigned l = 0; l < 32; ++l) {
        of_lane[l] = l < partial.size() ? partial[l] + l : 77;
        told[l] = of_lane[l] + (l >= 3 ? 3 * of_lane[l - 3] : 0);
        ballot |= (told[l] > 300 ? 1u : 0u) << l;
      }
      for (unsigned t = 0; t < threads; ++t) want.push_back((told[t % 32] ^ ballot) + t / 32);
      ASSERT_EQ(contents(out), want) << threads << ' ' << n;
    }
}

// CTAs that follow one another read side by side: of each launch what is there, and each its own.
TEST_P(Together, ManyBlocksOfALaunchReadTheirOwn) {
  for (const raddle::Dim3 blocks : {raddle::Dim3{40}, raddle::Dim3{11, 3}}) {
    const unsigned threads = 256, row = blocks.x * threads;
    for (unsigned seed : {1u, 2u, 3u}) {
      const unsigned n = 5 * row + 71 * seed;
      const auto in = numbers(n, seed);
      auto from = buffer(in), out = buffer(std::vector<std::uint32_t>(row)),
           sums = buffer(std::vector<std::uint32_t>(blocks.x));
      run(kernel("together.ptx", "strided_sum"), {.grid = blocks, .block = {threads}}, from, out, sums, n);
      std::vector<std::uint32_t> want(row);
      for (unsigned i = 0; i < n; ++i) want[i % row] += in[i];
      ASSERT_EQ(contents(out), want) << blocks.y << ' ' << seed;
    }
  }
}

// The last block's first thread is the first to touch what is not there, while others take their turns.
TEST_P(Together, FaultsNameTheBlockThatReads) {
  constexpr std::size_t kWords = 1 << 15, kThreads = 256, kBlocks = 10;
  auto in = buffer(numbers(kWords, 3)), out = buffer(std::vector<std::uint32_t>(kBlocks * kThreads)),
       sums = buffer(std::vector<std::uint32_t>(kBlocks));
  const auto last = in.address() + (kWords - (kBlocks - 1) * kThreads) * sizeof(std::uint32_t);
  const auto failed = try_run(kernel("together.ptx", "strided_sum"),
                              {.grid = {unsigned{kBlocks}}, .block = {unsigned{kThreads}}}, last, out, sums,
                              static_cast<unsigned>(kBlocks * kThreads));
  ASSERT_FALSE(failed.ok());
  const std::string& message = failed.error().message;
  EXPECT_NE(message.find("block (9,0,0)"), std::string::npos) << message;
  EXPECT_NE(message.find("thread (0,0,0)"), std::string::npos) << message;
}

}  // namespace
