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
// What ptxas takes and nvcc seldom writes: constants and registers as arguments, results of predicates and of
// nobody, of functions and of services; directly and through a pointer.
TEST_P(Calls, ConstantsPredicatesAndSinks) {
  load_text(R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.reg .b64 %r) malloc (.reg .b64 %a);
.extern .func free (.param .b64 a);
.func (.param .b32 r) twice(.param .b32 a)
{ .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; }
.func (.reg .pred %r) is_odd(.reg .b32 %a, .reg .pred %q)
{ .reg .b32 %x; and.b32 %x, %a, 1; setp.ne.u32 %r, %x, 0; and.pred %r, %r, %q; ret; }
.visible .entry k(.param .u64 out)
{
 .reg .b64 %o, %place, %memory, %f;
 .reg .b32 %x, %y, %t;
 .reg .pred %p, %q;
 P: .callprototype (.param .b32 _) _ (.param .b32 _);
 ld.param.u64 %o, [out];
 mov.u32 %t, %tid.x;
 mul.wide.u32 %place, %t, 4;
 add.u64 %o, %o, %place;
 call.uni (%memory), malloc, (64);
 setp.ne.u64 %p, %memory, 0;
 selp.u32 %x, 1000, 0, %p;
 call.uni free, (%memory);
 call.uni (_), twice, (3);
 call.uni (%y), twice, (%t);
 add.u32 %x, %x, %y;
 mov.u64 %f, twice;
 call (%y), %f, (50), P;
 add.u32 %x, %x, %y;
 call (_), %f, (%y), P;
 setp.gt.u32 %q, %t, 2;
 call.uni (%p), is_odd, (%t, %q);
 @%p add.u32 %x, %x, 10000;
 st.global.u32 [%o], %x;
 ret;
})");
  auto out = buffer(std::vector<unsigned>(40));
  run(*module().kernel("k"), {.grid = {1}, .block = {40}}, out);
  const std::vector<unsigned> found = contents(out);
  for (unsigned t = 0; t < 40; ++t)
    EXPECT_EQ(found[t], 1100 + 2 * t + (t > 2 && t % 2 == 1 ? 10000 : 0)) << t;
}

TEST_P(Calls, Faults) {
  auto p = buffer(std::vector<int>(64));
  auto trapped = try_run(kernel("calls.ptx", "traps"), {.grid = {1}, .block = {64}}, 40);
  ASSERT_FALSE(trapped.ok());
  EXPECT_EQ(trapped.error().code, raddle::ErrorCode::kernel_fault);
  EXPECT_FALSE(device().status().ok());
  EXPECT_FALSE(try_run(kernel("calls.ptx", "fine"), {.grid = {1}, .block = {64}}, p).ok());
}

}  // namespace
