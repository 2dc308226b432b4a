// Device functions on every engine: structs by value, recursion, divergent indirect calls, exits inside
// callees.
#include <cstdint>

#include "kernel_test.h"

namespace {

class Calls : public KernelTest {};
ON_EVERY_ENGINE(Calls);

constexpr int kCount = 150;

std::vector<int> inputs() {
  std::vector<int> values;
  std::uint32_t seed = 5;
  for (int i = 0; i < kCount; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<int>(seed >> 20));
  }
  return values;
}

struct Pair {
  int a;
  std::int64_t b;
  std::int16_t c;
};

Pair mix(Pair p, int k) {
  Pair r = {p.a * k, p.b - k, static_cast<std::int16_t>(p.c + p.a)};
  if (k & 1) r.b += p.a;
  return r;
}

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
unsigned factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }
int ackermann(int m, int n) { return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1)); }

TEST_P(Calls, StructsByValue) {
  const auto in = inputs();
  auto a = buffer(in), out = buffer(std::vector<int>(3 * kCount));
  run(kernel("calls.ptx", "structs"), {.grid = {3}, .block = {50}}, a, out, kCount);
  std::vector<int> want(3 * kCount);
  for (int i = 0; i < kCount; ++i) {
    Pair p = {in[i], in[i] * std::int64_t{1000000007}, static_cast<std::int16_t>(i)};
    if (in[i] & 1)
      p = mix(p, i);
    else if (in[i] & 2)
      p = mix(mix(p, 3), 2);
    want[i] = p.a;
    want[kCount + i] = static_cast<int>(p.b >> 7);
    want[2 * kCount + i] = p.c;
  }
  EXPECT_EQ(contents(out), want);
}

TEST_P(Calls, Recursion) {
  auto out = buffer(std::vector<int>(2 * kCount));
  run(kernel("calls.ptx", "recursion"), {.grid = {3}, .block = {50}}, out, kCount);
  std::vector<int> want(2 * kCount);
  for (int i = 0; i < kCount; ++i) {
    want[i] = i % 3 ? static_cast<int>(factorial(static_cast<unsigned>(i % 13))) : fibonacci(i % 11);
    want[kCount + i] = ackermann(i % 3, i % 4);
  }
  EXPECT_EQ(contents(out), want);
}

int operation(int which, int x, int y) {
  int r = 0;
  switch (which) {
    case 0:
      return x + y;
    case 1:
      return x * y;
    case 2:
      for (int k = 0; k < (y & 7); ++k) r += x ^ k;
      return r;
    default:
      return x & 4 ? -y : fibonacci(x & 7) + y;
  }
}

// Lanes of a warp call different functions through a table.
TEST_P(Calls, DivergentIndirectCalls) {
  const auto in = inputs();
  auto a = buffer(in), out = buffer(std::vector<int>(kCount));
  run(kernel("calls.ptx", "indirect"), {.grid = {3}, .block = {50}}, a, out, kCount);
  std::vector<int> want(kCount);
  for (int i = 0; i < kCount; ++i) {
    want[i] = operation(in[i] & 3, in[i], i);
    if (i % 5 == 2) want[i] += operation(i & 3, want[i], 9);
  }
  EXPECT_EQ(contents(out), want);
}

// Lanes that wait in the caller cannot meet those in the function in the JIT: a fault that says so, never a
// wrong value.
TEST_P(Calls, AFunctionNamesLanesThatWaitOutsideIt) {
  auto out = buffer(std::vector<unsigned>(32));
  const auto report = try_run(kernel("callees.ptx", "from_both_sides"), {.block = {32}}, out);
  if (!interpreted()) {
    ASSERT_FALSE(report.ok());
    const std::string text = report.error().message;
    EXPECT_NE(text.find("unsupported operation"), std::string::npos) << text;
    EXPECT_NE(text.find("which wait outside the function"), std::string::npos) << text;
    EXPECT_NE(text.find("PTX line 9"), std::string::npos) << text;
    return;
  }
  ASSERT_TRUE(report.ok());
  const auto values = contents(out);
  for (unsigned t = 0; t < 32; ++t) EXPECT_EQ(values[t], (t ^ 16) + (t < 16 ? 100 : 0));
}

TEST_P(Calls, AFunctionNamesAllLanesThatAreLeft) {
  auto out = buffer(std::vector<unsigned>(32, 77));
  run(kernel("callees.ptx", "together"), {.block = {32}}, out);
  auto values = contents(out);
  for (unsigned t = 0; t < 32; ++t) EXPECT_EQ(values[t], t ^ 16);
  run(kernel("callees.ptx", "of_those_left"), {.block = {32}}, out);
  values = contents(out);
  for (unsigned t = 0; t < 32; ++t) EXPECT_EQ(values[t], t ^ 16);
}

TEST_P(Calls, LanesExitInsideAFunction) {
  auto out = buffer(std::vector<int>(2 * kCount, -5));
  run(kernel("calls.ptx", "exits"), {.grid = {3}, .block = {50}}, out, kCount);
  std::vector<int> want(2 * kCount, -5);
  for (int i = 0; i < kCount; ++i) {
    const bool exits = i % 3 && i % 4 == 1;
    want[i] = exits ? 77 : i % 3 ? i : -1;
    if (!exits) want[kCount + i] = i + 1;
  }
  EXPECT_EQ(contents(out), want);
}

// Each ends the launch with an error; the process and the sticky error live on.
TEST_P(Calls, Faults) {
  auto p = buffer(std::vector<int>(64));
  auto trapped = try_run(kernel("calls.ptx", "traps"), {.grid = {1}, .block = {64}}, 40);
  ASSERT_FALSE(trapped.ok());
  EXPECT_EQ(trapped.error().code, raddle::ErrorCode::kernel_fault);
  EXPECT_FALSE(device().status().ok());
  EXPECT_FALSE(try_run(kernel("calls.ptx", "fine"), {.grid = {1}, .block = {64}}, p).ok());
}

}  // namespace
