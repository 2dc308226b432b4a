// Control flow on every engine: nests, loops, exits, state machines, irreducible code, indexed branches,
// guards.
#include <cstdint>

#include "kernel_test.h"

namespace {

class Flow : public KernelTest {};
ON_EVERY_ENGINE(Flow);

constexpr int kElements = 1000;  // not a multiple of 32
constexpr int kBlock = 96;

std::vector<int> flow_inputs(int count = kElements, std::uint32_t seed = 1) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<int>(seed >> 16) - 20000);
  }
  return values;
}

TEST_P(Flow, NestedConditions) {
  const auto in = flow_inputs();
  auto a = buffer(in), out = buffer(std::vector<int>(3 * kElements, -1));
  run(kernel("flow.ptx", "nested_if"), {.grid = {kElements / kBlock + 1}, .block = {kBlock}}, a, out,
      kElements);
  std::vector<int> want(3 * kElements, -1);
  for (int i = 0; i < kElements; ++i) {
    const int v = in[i];
    int r = 0;
    if (v & 1) {
      if (v & 2) {
        r = v * 3;
        if (v & 4) want[kElements + i] = r;
      } else {
        want[kElements + i] = v + 1;
        r = v - 7;
      }
      want[2 * kElements + i] = r + 5;
    } else if (v & 8) {
      if (i % 3 == 0) {
        want[kElements + i] = 100 - v;
        r = 1;
      } else {
        want[2 * kElements + i] = 200 - v;
      }
    }
    want[i] = r;
  }
  EXPECT_EQ(contents(out), want);
}

void loops_of(int v, int& first, int& second) {
  int sum = 0, k = 0;
  for (k = 0; k < 100; ++k) {
    if (((k * 7 + v) & 15) == 3) continue;
    if (k > v) break;
    sum += k ^ v;
    if (sum > 1500) {
      first = -sum;
      second = k;
      return;
    }
    for (int j = k & 3; j < (v & 7); ++j) {
      if (sum & 64) {
        sum += 3;
        break;
      }
      sum += j;
    }
  }
  first = sum;
  second = k + 1000;
}

TEST_P(Flow, LoopsWithBreakContinueAndReturn) {
  const auto in = flow_inputs();
  auto a = buffer(in), out = buffer(std::vector<int>(2 * kElements));
  run(kernel("flow.ptx", "loops"), {.grid = {kElements / kBlock + 1}, .block = {kBlock}}, a, out, kElements);
  std::vector<int> want(2 * kElements);
  for (int i = 0; i < kElements; ++i) loops_of(in[i] & 63, want[i], want[kElements + i]);
  EXPECT_EQ(contents(out), want);
}

// Values that are equal in all lanes inside a loop differ after it.
TEST_P(Flow, TemporalDivergence) {
  const auto in = flow_inputs(), table = flow_inputs(128, 7);
  auto positive = table;
  for (int& x : positive) x &= 0xffff;
  auto a = buffer(in), t = buffer(positive), out = buffer(std::vector<int>(2 * kElements));
  run(kernel("flow.ptx", "temporal"), {.grid = {kElements / kBlock + 1}, .block = {kBlock}}, a, t, out,
      kElements);
  std::vector<int> want(2 * kElements);
  for (int i = 0; i < kElements; ++i) {
    const int limit = in[i] & 31;
    int k = 0;
    while (!(positive[k] % 32 >= limit || k == 63)) ++k;
    want[i] = 2 * positive[k] + (k & 1 ? positive[64 + k] : 0);
    want[kElements + i] = k;
  }
  EXPECT_EQ(contents(out), want);
}

TEST_P(Flow, Collatz) {
  auto out = buffer(std::vector<int>(kElements));
  run(kernel("flow.ptx", "collatz"), {.grid = {kElements / kBlock + 1}, .block = {kBlock}}, out, kElements);
  std::vector<int> want(kElements);
  for (int i = 0; i < kElements; ++i)
    for (unsigned v = i + 1; v != 1; v = v & 1 ? 3 * v + 1 : v / 2) ++want[i];
  EXPECT_EQ(contents(out), want);
}

unsigned machine_of(unsigned v) {
  unsigned state = v % 7, trace = 0;
  for (int step = 0; step < 40; ++step) switch (state) {
      case 0:
        trace = trace * 3 + 1;
        state = (v >> 3) % 7;
        break;
      case 1:
        trace ^= 0x55;
        state = 4;
        break;
      case 2:
        v = v * 1103515245u + 12345u;
        state = v >> 29;
        break;
      case 3:
        trace += v;
        state = trace & 1 ? 2 : 5;
        break;
      case 4:
        trace = trace << 1 | trace >> 31;
        state = 2;
        break;
      case 5:
        if (trace & 2) return trace;
        trace += 9;
        state = 0;
        break;
      case 6:
        trace -= v;
        state = 3;
        break;
      default:
        v ^= 0x1234567;
        trace += 11;
        state = 6;
    }
  return trace ^ 0x80000000u;
}

TEST_P(Flow, StateMachine) {
  const auto in = flow_inputs();
  auto a = buffer(in), out = buffer(std::vector<int>(kElements));
  run(kernel("flow.ptx", "machine"), {.grid = {kElements / kBlock + 1}, .block = {kBlock}}, a, out,
      kElements);
  std::vector<int> want;
  for (int v : in) want.push_back(static_cast<int>(machine_of(static_cast<unsigned>(v))));
  EXPECT_EQ(contents(out), want);
}

TEST_P(Flow, UniformAndDivergentConditions) {
  const auto in = flow_inputs();
  for (int uniform : {0, 4, 6}) {
    auto a = buffer(in), out = buffer(std::vector<int>(2 * kElements, 9));
    run(kernel("flow.ptx", "guarded_stores"), {.grid = {kElements / kBlock + 1}, .block = {kBlock}}, a, out,
        kElements, uniform);
    std::vector<int> want(2 * kElements, 9);
    for (int i = 0; i < kElements; ++i) {
      int x = (uniform > 3 ? in[i] : -in[i]) + (uniform > 5 ? 10 : 0);
      if (in[i] > 0) x *= 2;
      if (in[i] > 0 && uniform == 4) want[kElements + i] = x;
      want[i] = x;
    }
    EXPECT_EQ(contents(out), want) << uniform;
  }
}

using Function = std::uint32_t (*)(std::uint32_t);

std::uint32_t irreducible_of(std::uint32_t x) {
  x &= 31;
  std::uint32_t a = x, n = 0;
  bool middle = x & 1;
  do {
    if (!middle) a = a * 2 + 1;
    middle = false;
    a += 3;
  } while (++n < x);
  return a;
}

std::uint32_t entangled_of(std::uint32_t a) {
  std::uint32_t n = 0;
  bool second = a & 2;
  for (;;) {
    if (!second) {
      a += 5;
      if (++n >= 20) return a;
      second = a & 4;
    } else {
      a *= 3;
      if (++n >= 25) return a;
      if (a & 8) a ^= 7, second = false;
    }
  }
}

std::uint32_t indexed_of(std::uint32_t x) {
  std::uint32_t r = 0;
  for (std::uint32_t n = 0; n < 12; ++n) {
    switch (x & 3) {
      case 0:
        r += 17;
        break;
      case 1:
        r ^= x;
        [[fallthrough]];
      case 2:
        r <<= 1;
        break;
      default:
        if (n > 5) return r;
        r -= n;
    }
    x = (x * 1664525u + 1013904223u) >> 1;
  }
  return r;
}

TEST_P(Flow, UnstructuredCode) {
  const struct {
    const char* name;
    Function function;
  } cases[] = {{"irreducible", irreducible_of}, {"entangled", entangled_of}, {"indexed", indexed_of}};
  const auto in = flow_inputs(4 * 50);
  for (const auto& c : cases) {
    auto a = buffer(in), out = buffer(std::vector<int>(in.size()));
    run(kernel("branches.ptx", c.name), {.grid = {4}, .block = {50}}, a, out);
    std::vector<int> want;
    for (int x : in) want.push_back(static_cast<int>(c.function(static_cast<std::uint32_t>(x))));
    EXPECT_EQ(contents(out), want) << c.name;
  }
}

TEST_P(Flow, Guards) {
  constexpr int kThreads = 200;
  const auto in = flow_inputs(kThreads + 1);
  for (std::uint32_t choice : {0u, 1u}) {
    auto a = buffer(in), out = buffer(std::vector<int>(1024, -1));
    run(kernel("branches.ptx", "guards"), {.grid = {4}, .block = {50}}, a, out, choice);
    std::vector<int> want(1024, -1);
    for (int i = 0; i < kThreads; ++i) {
      int r10 = i + static_cast<int>(choice), r11 = choice ? 5 : i, r5 = 1000;
      const bool p2 = (i & 5) == 4;
      r5 = p2 ? in[r10] : r5 + r11;
      const bool p3 = (r5 & 3) == 1;
      if (p3) r10 = 3;
      r5 += r10 * 7;
      want[i] = r5;
      if (i > 70) continue;
      if (p2) want[256 + i] = r10;
      if (choice) want[512 + i] = r11;
      if (p3) want[768 + i] = i;
    }
    EXPECT_EQ(contents(out), want) << choice;
  }
}

unsigned with_parted_guards(unsigned i, unsigned choice) {
  const bool u = choice & 1, w = choice & 2, v = i % 4 == 1, z = i & 4;
  unsigned r = 0;
  if (!(v || u)) r += 1;
  if (z || w || v) r += 2;
  if (!(u && v)) r += 4;
  if (z && w && u) r += 8;
  for (unsigned n = 0; n == 0 || n < i % 4 || n < choice; ++n) r += 16;
  for (unsigned n = 0; n == 0 || (n < i % 4 && n < choice); ++n) r += 256;
  if (!z && choice != 3) r += 4096;
  if (choice != 3) r += 8192;
  if (w || z) return r;
  r += 16384;
  return u || v ? r + 32768 : r;
}

TEST_P(Flow, GuardsOfWhichAPartIsEqualForAllLanes) {
  for (const unsigned choice : {0u, 1u, 2u, 3u}) {
    auto out = buffer(std::vector<unsigned>(4 * 50));
    run(kernel("branches.ptx", "parted_guards"), {.grid = {4}, .block = {50}}, out, choice);
    std::vector<unsigned> want;
    for (unsigned i = 0; i < 4 * 50; ++i) want.push_back(with_parted_guards(i, choice));
    EXPECT_EQ(contents(out), want) << choice;
  }
}

TEST_P(Flow, AddressesOfMixedShapes) {
  constexpr int kThreads = 77;
  const auto in = flow_inputs(kThreads + 8);
  auto a = buffer(in), out = buffer(std::vector<int>(kThreads));
  run(kernel("branches.ptx", "mixed_shapes"), {.block = {kThreads}}, a, out);
  std::vector<int> want(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    int r = i % 4 == 2 ? in[i] : in[16];
    const int steps = i % 4 + 1;
    for (int k = 0; k < steps; ++k) r += in[i + k];
    want[i] = r + 100 * in[i + steps];
  }
  EXPECT_EQ(contents(out), want);
}

// One worker: the block that all others wait for is started only because they are interrupted in a loop in
// which they pass barriers.
// proves: K-7f
TEST_P(Flow, BlocksThatWaitInLoopsWithBarriers) {
  options_.workers = 1;
  for (unsigned threads : {32u, 70u}) {
    auto flag = buffer(std::vector<unsigned>{0});
    run(kernel("waits.ptx", "waits"), {.grid = {3}, .block = {threads}}, flag, 2u);
    EXPECT_EQ(contents(flag)[0], 1u);
  }
}

}  // namespace
