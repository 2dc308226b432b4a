// Kernels whose threads run one by one, as scalars: which they are, what they compute, whom a fault names.
#include <cstdint>
#include <numeric>

#include "kernel_test.h"

namespace {

using Words = std::vector<std::uint32_t>;

class OneByOne : public KernelTest {
 protected:
  bool runs_so() const { return !interpreted() && !translated(); }
};
ON_EVERY_ENGINE(OneByOne);

/// Rows of 0 to 19 entries; every third row has none.
struct Rows {
  explicit Rows(std::uint32_t count, bool with_odd) {
    std::uint32_t seed = count;
    for (std::uint32_t r = 0; r < count; ++r) {
      const std::uint32_t length = r % 3 == 1 ? 0 : (seed >> 8) % 20;
      for (std::uint32_t k = 0; k < length; ++k) {
        seed = seed * 1664525u + 1013904223u;
        entries.push_back((seed >> 8) % 500 * 2 + (with_odd && k % 4 == 3 ? 1 : 0));
      }
      seed = seed * 1664525u + 1013904223u;
      starts.push_back(static_cast<std::uint32_t>(entries.size()));
    }
    entries.push_back(0);  // of no row
  }
  Words starts{0}, entries;
};

Words values() {
  Words all(1000);
  std::iota(all.begin(), all.end(), 7u);
  return all;
}

// Whole warps and parts of one, blocks of two dimensions, threads beyond the last row.
TEST_P(OneByOne, EachThreadWalksItsOwnRow) {
  for (const raddle::Dim3 block : {raddle::Dim3{256}, {96}, {48}, {16, 3}, {33, 2}, {64, 4}, {1}}) {
    const std::uint32_t threads = block.x * block.y, count = 2 * threads - threads / 3;
    const Rows rows(count, false);
    auto starts = buffer(rows.starts), entries = buffer(rows.entries), from = buffer(values()),
         out = buffer(Words(2 * threads, 1234)), odd = buffer(Words{5});
    const auto report = run(kernel("one_by_one.ptx", "row_sums"), {.grid = {2}, .block = block}, starts,
                            entries, from, out, odd, count);
    EXPECT_EQ(report.one_by_one, runs_so());
    if (report.one_by_one) EXPECT_EQ(report.not_vectorised, report.memory_operations);
    Words want(2 * threads, 1234);
    for (std::uint32_t r = 0; r < count; ++r) {
      want[r] = 0;
      for (std::uint32_t i = rows.starts[r]; i < rows.starts[r + 1]; ++i)
        want[r] += rows.entries[i] + 7 + r % threads % 32;
    }
    ASSERT_EQ(contents(out), want) << block.x << " x " << block.y;
    EXPECT_EQ(contents(odd), Words{5});
  }
}

// Every old value is given out once, whatever the order.
TEST_P(OneByOne, AtomicsUnderGuards) {
  constexpr std::uint32_t kRows = 90;
  const Rows rows(kRows, true);
  auto starts = buffer(rows.starts), entries = buffer(rows.entries), from = buffer(Words(1000)),
       out = buffer(Words(kRows)), odd = buffer(Words{0});
  run(kernel("one_by_one.ptx", "row_sums"), {.grid = {1}, .block = {96}}, starts, entries, from, out, odd,
      kRows);
  std::uint32_t count = 0, lanes = 0;
  for (std::uint32_t r = 0; r < kRows; ++r)
    for (std::uint32_t i = rows.starts[r]; i < rows.starts[r + 1]; ++i)
      count += rows.entries[i] & 1, lanes += r % 32;
  EXPECT_EQ(contents(odd), Words{count});
  const Words sums = contents(out);
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0u), count * (count - 1) / 2 + lanes);
}

// A load, an atomic and a store that one thread alone makes where no memory is.
TEST_P(OneByOne, FaultsNameTheThread) {
  constexpr std::uint32_t kRows = 64, kMost = 1 << 15;  // large enough to lie between guard pages
  Words starts(kRows + 1);
  for (std::uint32_t r = 38; r <= kRows; ++r) starts[r] = 1;  // row 37 has one entry, the others none
  struct Case {
    const char *what, *line;
    std::uint32_t entry, rows;
    bool short_out;
  };
  for (const Case& c : {Case{"read", "line 46", kMost, kRows, false},
                        {"atomic", "line 47", 1, kRows, false},
                        {"write", "line 55", 2, kRows, true}}) {
    {
      Words last(kMost);
      auto from = buffer(last), out = buffer(last), entries = buffer(Words{c.entry}), at = buffer(starts);
      // The out that is short ends before row 37's word.
      const std::uint64_t to = out.address().value + (c.short_out ? (kMost - 37) * 4ull : 0);
      const auto failed = try_run(kernel("one_by_one.ptx", "row_sums"), {.grid = {1}, .block = {64}}, at,
                                  entries, from, to, kNowhere, c.rows);
      ASSERT_FALSE(failed.ok()) << c.what;
      const std::string& message = failed.error().message;
      EXPECT_NE(message.find("thread (37,0,0)"), std::string::npos) << message;
      EXPECT_NE(message.find(c.line), std::string::npos) << c.what << ": " << message;
    }
    close();
  }
}

/// Where thread t begins.
constexpr std::uint32_t begin_of(std::uint32_t t) { return t * 37 % 64; }

/// A thread adds weights[table[i]] from its own i on until the table has a 0, and writes the sum.
std::string sum_of_run(const char* load, const char* more = "") {
  return std::string(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 weights, .param .u64 out)
{
	.reg .pred %p;
	.reg .b32 %r<8>;
	.reg .b64 %rd<12>;
	.shared .align 4 .b8 word[4];
	ld.param.u64 %rd1, [table];
	ld.param.u64 %rd2, [weights];
	ld.param.u64 %rd3, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd3, %rd3, %rd4;
	mul.lo.u32 %r1, %r1, 37;
	and.b32 %r1, %r1, 63;
	mov.u32 %r2, 0;
NEXT:
	mul.wide.u32 %rd5, %r1, 4;
	add.s64 %rd6, %rd1, %rd5;
	)") +
         load + " %r3, [%rd6];\n\t" + more + R"(
	mul.wide.u32 %rd7, %r3, 4;
	add.s64 %rd8, %rd2, %rd7;
	ld.global.u32 %r4, [%rd8];
	add.u32 %r2, %r2, %r4;
	add.u32 %r1, %r1, 1;
	setp.ne.u32 %p, %r3, 0;
	@%p bra NEXT;
	st.global.u32 [%rd3], %r2;
	ret;
})";
}

// Threads that could wait for, or ask, those beside them go on by lanes.
TEST_P(OneByOne, OnlyWhereThreadsAreAlone) {
  constexpr std::uint32_t kThreads = 64;
  Words table(kThreads + 1), weights(kThreads), from(kThreads), want(kThreads);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    table[i] = i % 11 == 10 ? 0 : i;
    weights[i] = 3 * i + 1;
  }
  for (std::uint32_t i = kThreads; i-- > 0;)
    from[i] = weights[table[i]] + (table[i] == 0 ? 0 : i + 1 == kThreads ? weights[0] : from[i + 1]);
  for (std::uint32_t t = 0; t < kThreads; ++t) want[t] = from[begin_of(t)];
  struct Case {
    bool alone;
    const char *load, *more = "";
  };
  for (const Case& c : {Case{true, "ld.global.u32"},
                        {true, "ld.u32"},
                        {true, "ld.global.nc.u32"},
                        {false, "ld.volatile.global.u32"},
                        {false, "ld.relaxed.gpu.global.u32"},
                        {false, "ld.global.u32", "st.volatile.global.u32 [%rd3], %r2;"},
                        {false, "ld.global.u32", "activemask.b32 %r5;"},
                        {false, "ld.global.u32", "ld.shared.u32 %r5, [word];"},
                        {false, "ld.global.u32", "bar.warp.sync 0xffffffff;"}}) {
    load_text(sum_of_run(c.load, c.more));
    auto runs = buffer(table), by = buffer(weights), out = buffer(Words(kThreads));
    auto made = module().kernel("k");
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    // Lanes that have left do not come to a barrier of the warp: who is to come is to be named anew.
    if (std::string_view(c.more).starts_with("bar")) {
      auto report = made->compile({kThreads});
      ASSERT_TRUE(report.ok());
      EXPECT_FALSE(report->one_by_one);
      continue;
    }
    const auto report = run(*made, {.grid = {1}, .block = {kThreads}}, runs, by, out);
    EXPECT_EQ(report.one_by_one, c.alone && runs_so()) << c.load << ' ' << c.more;
    EXPECT_EQ(contents(out), want) << c.load << ' ' << c.more;
  }
}

// All threads leave the loop in the same turn: vectors do it in one go.
TEST_P(OneByOne, NotWhereLanesGoTogether) {
  std::string text = sum_of_run("ld.global.u32");
  const std::string_view test = "setp.ne.u32 %p, %r3, 0";
  text.replace(text.find(test), test.size(), "add.u32 %r5, %r5, 1;\nsetp.ne.u32 %p, %r5, 9");
  load_text(text);
  auto table = buffer(Words(100, 3)), weights = buffer(Words(64, 2)), out = buffer(Words(64));
  const auto report = run(*module().kernel("k"), {.grid = {1}, .block = {64}}, table, weights, out);
  EXPECT_FALSE(report.one_by_one);
  EXPECT_EQ(contents(out), Words(64, 18));
}

// Threads in a row would wait for each link, lanes for all of theirs at once.
TEST_P(OneByOne, NotWhereLoadsFollowLinks) {
  std::string text = sum_of_run("ld.global.u32");
  const std::string_view next = "add.u32 %r1, %r1, 1";
  text.replace(text.find(next), next.size(), "add.u32 %r1, %r3, 0");
  load_text(text);
  Words links(64), from(64), want(64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    links[i] = i * 5 / 7;
    from[i] = 2 + (links[i] == 0 ? 0 : from[links[i]]);
  }
  for (std::uint32_t t = 0; t < 64; ++t) want[t] = from[begin_of(t)];
  auto table = buffer(links), weights = buffer(Words(64, 2)), out = buffer(Words(64));
  const auto report = run(*module().kernel("k"), {.grid = {1}, .block = {64}}, table, weights, out);
  EXPECT_FALSE(report.one_by_one);
  EXPECT_EQ(contents(out), want);
}

// A thread that comes to no end is stopped, as any loop.
TEST_P(OneByOne, EndlessLoopsTimeOut) {
  options_.time_limit = std::chrono::milliseconds(200);
  std::string text = sum_of_run("ld.global.u32");
  const std::string_view next = "add.u32 %r1, %r1, 1";
  text.replace(text.find(next), next.size(), "xor.b32 %r1, %r1, 1");
  load_text(text);
  EXPECT_EQ(module().kernel("k")->compile({64})->one_by_one, runs_so());
  auto table = buffer(Words(64, 1)), weights = buffer(Words(64)), out = buffer(Words(64));
  const auto failed = try_run(*module().kernel("k"), {.grid = {1}, .block = {64}}, table, weights, out);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, raddle::ErrorCode::timeout) << failed.error().message;
}

}  // namespace
