// Asynchronous copies of threads (cp.async) on every engine: in kernels as nvcc compiles them, and of random
// sizes, limits, addresses and lanes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include "kernel_test.h"

namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Ints = std::vector<int>;

Ints numbers_to_copy(std::size_t count) {
  Ints values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i * 7919 % 100'003);
  return values;
}

class ThreadCopies : public KernelTest {
 protected:
  /// Of the kernels that copy `tile` ints at a time: each gives 2 * in + 1.
  void expect_doubled(const char* name, unsigned blocks, unsigned threads, unsigned tile) {
    for (int tiles : {1, 2, 7}) {
      const Ints in = numbers_to_copy(blocks * tile * static_cast<unsigned>(tiles));
      auto data = buffer(in), out = buffer(Ints(in.size()));
      run(compiled(name), {.grid = {blocks}, .block = {threads}}, data, out, tiles);
      Ints want = in;
      for (int& v : want) v = 2 * v + 1;
      EXPECT_EQ(contents(out), want) << tiles;
    }
  }
  /// The same, with every tile turned round.
  void expect_turned(const char* name, unsigned blocks, unsigned threads) {
    constexpr std::size_t kTile = 256;
    for (int tiles : {1, 3, 8}) {
      const Ints in = numbers_to_copy(blocks * kTile * static_cast<unsigned>(tiles));
      auto data = buffer(in), out = buffer(Ints(in.size()));
      run(compiled(name), {.grid = {blocks}, .block = {threads}}, data, out, tiles);
      Ints want(in.size());
      for (std::size_t i = 0; i < in.size(); ++i)
        want[i] = 2 * in[i / kTile * kTile + kTile - 1 - i % kTile] + 1;
      EXPECT_EQ(contents(out), want) << tiles;
    }
  }

  raddle::Kernel compiled(const char* name) { return kernel("thread_copies.ptx", name); }
};
ON_EVERY_ENGINE(ThreadCopies);

TEST_P(ThreadCopies, ARingOfTwoTiles) {
  expect_doubled("ring", 3, 64, 64);
  expect_doubled("ring", 1, 40, 40);
  expect_doubled("ring", 2, 256, 256);
}

TEST_P(ThreadCopies, WhatIsNotReadIsZero) {
  for (int count : {0, 1, 130, 511, 512}) {
    std::vector<float> in(512);
    std::iota(in.begin(), in.end(), 1.0f);
    auto data = buffer(in), out = buffer(std::vector<float>(in.size(), 7));
    run(compiled("filled"), {.grid = {2}, .block = {64}}, data, out, count);
    std::fill(in.begin() + count, in.end(), 0.0f);
    EXPECT_EQ(contents(out), in) << count;
  }
}

TEST_P(ThreadCopies, APipelineOfEachThread) {
  expect_doubled("by_thread", 2, 64, 128);
  expect_doubled("by_thread", 1, 40, 80);
}

TEST_P(ThreadCopies, APipelineOfTheBlock) {
  expect_turned("unified", 2, 64);
  expect_turned("unified", 1, 96);
}

TEST_P(ThreadCopies, ProducersAndConsumers) {
  expect_turned("partitioned", 2, 96);
  expect_turned("divided", 1, 96);
}

TEST_P(ThreadCopies, ABarrierThatTheyArriveAt) {
  for (int count : {3, 64, 333, 512}) {
    const Ints in = numbers_to_copy(512);
    auto data = buffer(in), out = buffer(Ints(512));
    run(compiled("at_barrier"), {.grid = {1}, .block = {64}}, data, out, count);
    Ints want(512);
    for (int k = 0; k < count; ++k) want[k] = in[count - 1 - k] + in[(k + 1) % 64];
    EXPECT_EQ(contents(out), want) << count;
  }
}

TEST_P(ThreadCopies, InBulkWhereTheTargetHasThat) {
  for (int count : {4, 512}) {
    const Ints in = numbers_to_copy(2 * count);
    auto data = buffer(in), out = buffer(Ints(in.size()));
    run(compiled("at_barrier_whole"), {.grid = {1}, .block = {64}}, data, out, count);
    Ints want(in.size());
    for (int k = 0; k < 2 * count; ++k) want[k] = in[k / count * count + count - 1 - k % count];
    EXPECT_EQ(contents(out), want) << count;
  }
}

TEST_P(ThreadCopies, OfACooperativeGroup) {
  for (int count : {4, 100, 512}) {
    const Ints in = numbers_to_copy(2 * count);
    auto data = buffer(in), out = buffer(Ints(2 * count));
    run(compiled("by_group"), {.grid = {1}, .block = {96}}, data, out, count);
    Ints want(2 * count);
    for (int k = 0; k < count; ++k) want[k] = in[count - 1 - k];
    for (int k = 0; k + 1 < count; ++k) want[count + k] = in[2 * count - 2 - k];
    EXPECT_EQ(contents(out), want) << count;
  }
}

// ---- where they land late ----

class LateThreadCopies : public KernelTest {
 protected:
  using Mode = raddle::Asynchrony::Mode;

  /// Runs a kernel of two arrays of 2 * tiles * 256 ints.
  /// @returns whether every value is 2 * in + 1, turned in its tile or not
  bool is_right(const char* name, unsigned threads, bool turned) {
    constexpr std::size_t kTile = 256;
    constexpr int kTiles = 5;
    const Ints in = numbers_to_copy(2 * kTile * kTiles);
    auto data = buffer(in), out = buffer(Ints(in.size()));
    auto found = module().kernel(name);
    if (!found.ok()) return false;
    run(*found, {.grid = {2}, .block = {threads}}, data, out, kTiles);
    Ints want(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      want[i] = 2 * in[turned ? i / kTile * kTile + kTile - 1 - i % kTile : i] + 1;
    return contents(out) == want;
  }

  /// Of lazy copies and seven orders of random ones.
  int right_results(const std::string& text, const char* name, unsigned threads, bool turned) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      close();
      options_.asynchrony = {.mode = seed == 0 ? Mode::lazy : Mode::random, .seed = seed};
      load_text(text);
      right += is_right(name, threads, turned);
    }
    return right;
  }

  static std::string kernels() {
    std::ifstream file(RADDLE_KERNEL_TESTS "/thread_copies.ptx");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string without(std::string text, const std::string& what) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size() + 2)
      text.insert(at, "//");
    return text;
  }
};
ON_EVERY_ENGINE(LateThreadCopies);

TEST_P(LateThreadCopies, AreThereAfterTheirWaits) {
  EXPECT_EQ(right_results(kernels(), "ring", 256, false), 8);
  EXPECT_EQ(right_results(kernels(), "by_thread", 128, false), 8);
  EXPECT_EQ(right_results(kernels(), "unified", 64, true), 8);
  EXPECT_EQ(right_results(kernels(), "divided", 96, true), 8);
}

TEST_P(LateThreadCopies, MayNotBeThereWithoutThem) {
  EXPECT_LT(right_results(without(kernels(), "cp.async.wait_group"), "ring", 256, false), 8);
  EXPECT_LT(right_results(without(kernels(), "cp.async.wait_group"), "by_thread", 128, false), 8);
}

// ---- random ones ----

constexpr unsigned kCopiers = 64, kArea = 2048;  ///< bytes of memory that the copies of one instruction reach
constexpr unsigned kCopies = 10;                 ///< instructions of a kernel

/// One cp.async, and the operands of its threads.
struct RandomCopy {
  unsigned bytes = 4;
  enum class Limit { none, constant, number, ignore, use } limit = Limit::none;
  unsigned constant = 0;
  unsigned source_step = 0,
           destination_step = 0;  ///< bytes between threads' places; 0: they come from memory
  bool guarded = false, hinted = false, whole = false;
  std::vector<unsigned> to, from, limits, active;

  RandomCopy(std::mt19937& random) : to(kCopiers), from(kCopiers), limits(kCopiers), active(kCopiers) {
    auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    bytes = 4u << below(3);
    limit = static_cast<Limit>(below(5));
    constant = below(bytes + 1);
    guarded = below(2) != 0, hinted = below(2) != 0, whole = bytes == 16 && below(2) != 0;
    if (below(2) != 0) source_step = bytes << below(2);
    if (below(2) != 0) destination_step = bytes << below(2);
    const bool one_source = below(6) == 0;
    std::vector<unsigned> places(kArea / bytes);
    std::iota(places.begin(), places.end(), 0u);
    std::shuffle(places.begin(), places.end(), random);
    for (unsigned t = 0; t < kCopiers; ++t) {
      to[t] = (destination_step != 0 ? t * destination_step : places[t] * bytes);
      from[t] = source_step != 0 ? t * source_step : one_source ? 64 : below(kArea / bytes) * bytes;
      limits[t] = limit == Limit::number ? (below(2) != 0 ? below(bytes + 3) : below(2) * bytes) : below(2);
      active[t] = guarded ? below(4) != 0 : 1;
    }
  }

  unsigned read(unsigned t) const {
    switch (limit) {
      case Limit::constant:
        return constant;
      case Limit::number:
        return std::min(limits[t], bytes);
      case Limit::ignore:
        return limits[t] != 0 ? 0 : bytes;
      case Limit::use:
        return limits[t] != 0 ? bytes : 0;
      default:
        return bytes;
    }
  }

  std::string instruction() const {
    const std::string last = limit == Limit::constant ? fmt::format(", {}", constant)
                             : limit == Limit::number ? ", %limit"
                             : limit == Limit::ignore ? ", %p"
                             : limit == Limit::use    ? ", !%p"
                                                      : "";
    return fmt::format("{}cp.async.{}.shared.global{} [%to], [%from], {}{}{};", guarded ? "@%q " : "",
                       whole ? "cg" : "ca", hinted ? ".L2::cache_hint" : "", bytes, last,
                       hinted ? ", %policy" : "");
  }

  /// Operands lie in `table`: four rows of kCopiers words for each copy. Addresses have registers of their
  /// own, so that compiled code knows which are strided.
  std::string code(unsigned number) const {
    const unsigned row = kCopiers * 4, table = number * 4 * row;
    auto address = [&](const char* reg, unsigned step, unsigned at) {
      return "{\n.reg .b64 %base, %x; .reg .b32 %w;\n" +
             fmt::format("add.u64 %base, {}, {};\n", reg == std::string_view("%to64") ? "%area" : "%data",
                         number * kArea) +
             (step != 0
                  ? fmt::format("mad.wide.u32 {}, %t, {}, %base;\n", reg, step)
                  : fmt::format("ld.global.u32 %w, [%mine+{}]; cvt.u64.u32 %x, %w; add.u64 {}, %base, %x;\n",
                                at, reg)) +
             "}\n";
    };
    return "{\n.reg .b64 %to64, %from; .reg .b32 %to;\n" + address("%to64", destination_step, table) +
           "cvt.u32.u64 %to, %to64;\n" + address("%from", source_step, table + row) +
           fmt::format("ld.global.u32 %limit, [%mine+{}]; setp.ne.u32 %p, %limit, 0;\n", table + 2 * row) +
           fmt::format("ld.global.u32 %w, [%mine+{}]; setp.ne.u32 %q, %w, 0;\n", table + 3 * row) +
           instruction() + "\n}\n";
  }
};

std::string kernel_of(const std::vector<RandomCopy>& copies) {
  std::string text = fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry copies(.param .u64 out, .param .u64 data, .param .u64 table)
{{
.reg .b64 %out, %data, %mine, %x, %area, %policy;
.reg .b32 %t, %w, %limit, %a, %k;
.reg .pred %p, %q;
.shared .align 16 .b8 area[{0}];
ld.param.u64 %out, [out]; ld.param.u64 %data, [data]; ld.param.u64 %mine, [table];
mov.u32 %t, %tid.x;
mad.wide.u32 %mine, %t, 4, %mine;
mov.u64 %area, area;
createpolicy.fractional.L2::evict_first.b64 %policy;
mov.u32 %k, 0;
FILL:
mad.lo.u32 %a, %t, 4, %k; mov.u32 %w, area; add.u32 %w, %w, %a; st.shared.u32 [%w], 0xabababab;
add.u32 %k, %k, {1}; setp.lt.u32 %p, %k, {0}; @%p bra FILL;
bar.sync 0;
)",
                                 kCopies * kArea, kCopiers * 4);
  for (unsigned i = 0; i < copies.size(); ++i) text += copies[i].code(i);
  return text + fmt::format(R"(cp.async.commit_group;
cp.async.wait_group 0;
bar.sync 0;
mov.u32 %k, 0;
DUMP:
mad.lo.u32 %a, %t, 4, %k; mov.u32 %w, area; add.u32 %w, %w, %a; ld.shared.u32 %w, [%w];
cvt.u64.u32 %x, %a; add.u64 %x, %out, %x; st.global.u32 [%x], %w;
add.u32 %k, %k, {1}; setp.lt.u32 %p, %k, {0}; @%p bra DUMP;
ret;
}}
)",
                            kCopies * kArea, kCopiers * 4);
}

TEST_P(ThreadCopies, OfRandomOperands) {
  using Bytes = std::vector<std::uint8_t>;
  for (unsigned seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    std::vector<RandomCopy> copies;
    std::vector<unsigned> table;
    for (unsigned i = 0; i < kCopies; ++i) {
      copies.emplace_back(random);
      for (const auto* row : {&copies[i].to, &copies[i].from, &copies[i].limits, &copies[i].active})
        table.insert(table.end(), row->begin(), row->end());
    }
    Bytes data(kCopies * kArea), want(data.size(), 0xab);
    std::ranges::generate(data, [&] { return static_cast<std::uint8_t>(random()); });
    for (unsigned i = 0; i < kCopies; ++i)
      for (unsigned t = 0; t < kCopiers; ++t)
        for (unsigned b = 0; copies[i].active[t] != 0 && b < copies[i].bytes; ++b)
          want[i * kArea + copies[i].to[t] + b] =
              b < copies[i].read(t) ? data[i * kArea + copies[i].from[t] + b] : 0;
    const std::string text = kernel_of(copies);
    load_text(text);
    auto out = buffer(Bytes(data.size())), in = buffer(data);
    auto operands = buffer(table);
    auto found = module().kernel("copies");
    ASSERT_TRUE(found.ok()) << text;
    run(*found, {.grid = {1}, .block = {kCopiers}}, out, in, operands);
    const Bytes got = contents(out);
    for (std::size_t at = 0; at < got.size(); ++at)
      ASSERT_EQ(got[at], want[at]) << "seed " << seed << ", byte " << at % kArea << " of "
                                   << copies[at / kArea].instruction();
  }
}

// ---- faults ----

/// One copy by each of 64 threads, whose places are 16 bytes apart. `odd_from` and `odd_to` are added to
/// those of thread 37 alone, where the code does so: elsewhere compiled code knows the distance, and copies
/// vectors.
constexpr const char* kFaulty = R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 from, .param .u32 to, .param .u32 odd_from, .param .u32 odd_to)
{{
.reg .b64 %from, %from0, %x; .reg .b32 %t, %to, %to0, %to1, %area, %w; .reg .pred %p;
.shared .align 16 .b8 area[2048];
ld.param.u64 %from0, [from]; ld.param.u32 %to0, [to];
mov.u32 %t, %tid.x;
mad.wide.u32 %from, %t, 16, %from0;
mad.lo.u32 %to1, %t, 16, %to0;
mov.u32 %area, area; add.u32 %to, %to1, %area;
setp.eq.u32 %p, %t, 37;
{0}ld.param.u32 %w, [odd_from]; cvt.u64.u32 %x, %w; @%p add.u64 %from, %from, %x;
{0}ld.param.u32 %w, [odd_to]; @%p add.u32 %to, %to, %w;
{1}  // line 16
ret;
}}
)";

/// Where copies land late, they fault when they land.
TEST_P(ThreadCopies, FaultsNameThreadAndLine) {
  struct Wrong {
    const char* instruction;
    bool nowhere;
    std::uint32_t to, odd_from, odd_to;
    const char* kind;
    unsigned thread;
  };
  const Wrong all[] = {
      {"cp.async.cg.shared.global [%to], [%from], 16;", false, 0, 8, 0, "misaligned address", 37},
      {"cp.async.ca.shared.global [%to], [%from], 16;", false, 0, 0, 8, "misaligned address", 37},
      {"cp.async.ca.shared.global [%to], [%from], 8;", false, 0, 4, 0, "misaligned address", 37},
      {"cp.async.ca.shared.global [%to], [%from], 4;", false, 0, 2, 0, "misaligned address", 37},
      {"cp.async.ca.shared.global [%to], [%from], 4, 3;", false, 0, 0, 1, "misaligned address", 37},
      {"cp.async.ca.shared.global [%to], [%from+2], 4;", false, 0, 0, 0, "misaligned address", 0},
      {"cp.async.ca.shared.global [%to+1], [%from], 4;", false, 0, 0, 0, "misaligned address", 0},
      {"cp.async.ca.shared.global [%to], [%from], 4;", true, 0, 0, 0, "illegal address", 0},
      {"cp.async.ca.shared.global [%to], [%from], 8;", false, 0x200000, 0, 0, "illegal address", 0},
      {"@%p cp.async.cg.shared.global [%to], [%from], 16;", true, 0, 0, 0, "illegal address", 37},
      {"cp.async.cg.shared.global [%to], [%from], 16, !%p;", true, 0, 0, 0, "illegal address", 37},
      {"@%p cp.async.cg.shared.global [%to], [%from], 16;", false, 0x200000, 0, 0, "illegal address", 37},
  };
  using Mode = raddle::Asynchrony::Mode;
  for (std::size_t i = 0; i < 3 * std::size(all); ++i) {
    const Wrong& wrong = all[i / 3];
    options_.asynchrony.mode = i % 3 != 2 ? Mode::eager : Mode::lazy;
    const bool is_odd = i % 3 == 0 || wrong.odd_from != 0 || wrong.odd_to != 0;
    {
      auto memory = buffer(std::vector<std::uint8_t>(4096));
      load_text(fmt::format(kFaulty, is_odd ? "" : "//", wrong.instruction));
      auto found = module().kernel("copy");
      ASSERT_TRUE(found.ok());
      const raddle::LaunchConfig config{.grid = {1}, .block = {64}};
      auto failed = wrong.nowhere ? try_run(*found, config, kNowhere, wrong.to, wrong.odd_from, wrong.odd_to)
                                  : try_run(*found, config, memory, wrong.to, wrong.odd_from, wrong.odd_to);
      ASSERT_FALSE(failed.ok()) << wrong.instruction;
      EXPECT_THAT(failed.error().message, HasSubstr(wrong.kind)) << wrong.instruction;
      const std::string thread = fmt::format("thread ({},0,0), PTX line 16", wrong.thread),
                        warp = fmt::format("PTX line 16: warp {}:", wrong.thread / 32);
      const bool is_vector = !is_odd && !interpreted() && options_.asynchrony.mode == Mode::eager;
      EXPECT_THAT(failed.error().message, AnyOf(HasSubstr(thread), HasSubstr(is_vector ? warp : thread)))
          << wrong.instruction;
    }
    close();
  }
}

TEST_P(ThreadCopies, ArrivalsNeedAnMbarrier) {
  for (const char* variant : {"", ".noinc"}) {
    load_text(fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry arrives()
{{
.shared .align 8 .b64 bar;
st.shared.u64 [bar], 0;
cp.async.mbarrier.arrive{}.shared.b64 [bar];
ret;
}}
)",
                          variant));
    auto failed = try_run(*module().kernel("arrives"), {.grid = {1}, .block = {1}});
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().message, HasSubstr("no mbarrier was initialised"));
    close();
  }
}

}  // namespace
