// Calls, recursion, function pointers, device services, and the faults that stop a kernel.
#include <gtest/gtest.h>

#include "test_machine.h"

namespace raddle::interp {
namespace {

using exec::FaultKind;

// Formal parameters in registers, structures by value, and a frame of local memory per call.
TEST(Calls, ParametersOfEveryKind) {
  auto out = run(R"(
.func (.reg .b32 r) add_registers(.reg .b32 a, .reg .b64 b)
{
  .reg .b32 %t;
  cvt.u32.u64 %t, b;
  add.u32 r, a, %t;
  ret;
}
.func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 a[16])
{
  .local .align 8 .b8 frame[16];
  .reg .b64 %rd<4>; .reg .b32 %r<3>;
  ld.param.v2.b64 {%rd1, %rd2}, [a];
  st.local.b64 [frame+8], %rd1;
  st.local.b64 [frame], %rd2;
  ld.local.v2.b64 {%rd1, %rd2}, [frame];
  st.param.b64 [r], %rd1;
  st.param.b64 [r+8], %rd2;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<9>; .reg .b64 %rd<8>;
  .local .align 8 .b8 mine[8];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  st.local.u32 [mine], %r1;
  call (%r2), add_registers, (%r1, 1000);
  cvt.u64.u32 %rd2, %r2;
  {
    .param .align 8 .b8 p[16]; .param .align 8 .b8 q[16];
    st.param.b64 [p], %rd2;
    st.param.b64 [p+8], 5;
    call (q), swap, (p);
    ld.param.b64 %rd3, [q];
    ld.param.b32 %r3, [q+8];
  }
  cvt.u32.u64 %r4, %rd3;
  ld.local.u32 %r5, [mine];
  mul.wide.u32 %rd4, %r1, 16;
  add.s64 %rd5, %rd1, %rd4;
  st.global.v4.u32 [%rd5], {%r2, %r3, %r4, %r5};
  ret;
})",
                 32, 128);
  for (std::uint32_t k = 0; k < 32; ++k) {
    EXPECT_EQ(out[4 * k], k + 1000);
    EXPECT_EQ(out[4 * k + 1], k + 1000);
    EXPECT_EQ(out[4 * k + 2], 5u);
    EXPECT_EQ(out[4 * k + 3], k);
  }
}

TEST(Calls, CallsAndRecursion) {
  auto out = run(R"(
.func (.param .b32 result) fibonacci(.param .b32 n)
{
  .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  mov.u32 %r2, %r1;
  @%p1 bra end;
  sub.u32 %r3, %r1, 1;
  {
    .param .b32 p0; .param .b32 q0;
    st.param.b32 [p0], %r3;
    call.uni (q0), fibonacci, (p0);
    ld.param.b32 %r4, [q0];
  }
  sub.u32 %r5, %r1, 2;
  {
    .param .b32 p0; .param .b32 q0;
    st.param.b32 [p0], %r5;
    call.uni (q0), fibonacci, (p0);
    ld.param.b32 %r6, [q0];
  }
  add.u32 %r2, %r4, %r6;
end:
  st.param.b32 [result], %r2;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 7;
  {
    .param .b32 p0; .param .b32 q0;
    st.param.b32 [p0], %r2;
    call (q0), fibonacci, (p0);
    ld.param.b32 %r3, [q0];
  }
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})",
                 32, 32);
  const std::uint32_t wanted[] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (std::uint32_t k = 0; k < 32; ++k) EXPECT_EQ(out[k], wanted[k & 7]);
}

TEST(Calls, EndlessRecursionEndsInAFault) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.func f()
{
  call.uni f;
  ret;
}
.visible .entry k()
{
  call.uni f;
  ret;
})")) << m.error;
  EXPECT_EQ(m.run("k", 32), FaultKind::stack_overflow);
}

constexpr const char* kIndirect = R"(
.func (.param .b32 r) twice(.param .b32 a)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [a];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
}
.func (.param .b32 r) square(.param .b32 a)
{
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [a];
  mul.lo.u32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
}
.global .align 8 .u64 table[2] = {twice, square};
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  mul.wide.u32 %rd2, %r2, 8;
  mov.u64 %rd3, table;
  add.s64 %rd4, %rd3, %rd2;
  ld.global.u64 %rd5, [%rd4];
  {
    .param .b32 p0; .param .b32 q0;
    st.param.b32 [p0], %r1;
    proto : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (q0), %rd5, (p0), proto;
    ld.param.b32 %r3, [q0];
  }
  mul.wide.u32 %rd6, %r1, 4;
  add.s64 %rd7, %rd1, %rd6;
  st.global.u32 [%rd7], %r3;
  ret;
})";

TEST(Calls, IndirectCallsDiverge) {
  auto out = run(kIndirect, 32, 32);
  for (std::uint32_t k = 0; k < 32; ++k) EXPECT_EQ(out[k], k % 2 ? k * k : 2 * k);
}

TEST(Calls, AWildFunctionPointerFaults) {
  TestMachine m;
  std::string text = kIndirect;
  text.replace(text.find("ld.global.u64 %rd5, [%rd4];"), 27, "mov.u64 %rd5, 0x7fffdead;   ");
  ASSERT_TRUE(m.load(text)) << m.error;
  std::vector<std::uint32_t> out(32);
  EXPECT_EQ(m.run("k", 32, {address_of(out)}), FaultKind::invalid_function);
}

TEST(Calls, IndexedBranches) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  rem.u32 %r2, %r1, 3;
  ts: .branchtargets a, b, c;
  brx.idx %r2, ts;
a:
  mov.u32 %r3, 10;
  bra end;
b:
  mov.u32 %r3, 20;
  bra end;
c:
  mov.u32 %r3, 30;
end:
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})",
                 32, 32);
  for (std::uint32_t k = 0; k < 32; ++k) EXPECT_EQ(out[k], 10 * (k % 3 + 1));
}

TEST(Calls, UnresolvedCallsAreNamed) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.extern .func missing_thing();
.visible .entry k()
{
  call.uni missing_thing;
  ret;
})")) << m.error;
  EXPECT_EQ(m.run("k", 1), FaultKind::unsupported);
  EXPECT_NE(m.error.find("missing_thing"), std::string::npos) << m.error;
}

TEST(Calls, TrapAndMisalignmentNameLaneAndLine) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<5>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %laneid;
  setp.eq.u32 %p1, %r1, 5;
  @%p1 st.global.u32 [%rd1+2], %r1;
  ret;
})")) << m.error;
  std::vector<std::uint32_t> out(4);
  EXPECT_EQ(m.run("k", 32, {address_of(out)}), FaultKind::misaligned_address);
  EXPECT_EQ(m.outcome.lane, 5u);
  EXPECT_EQ(m.outcome.line, 10u);
  EXPECT_EQ(m.outcome.address, address_of(out) + 2);
  TestMachine t;
  ASSERT_TRUE(t.load(".visible .entry k() { trap; }")) << t.error;
  EXPECT_EQ(t.run("k", 32), FaultKind::trap);
}

TEST(Calls, SharedAccessBeyondTheBlockFaults) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.visible .entry k()
{
  .shared .align 4 .b8 s[64];
  .reg .b32 %r<4>;
  mov.u32 %r1, s;
  ld.shared.u32 %r2, [%r1+64];
  ret;
})")) << m.error;
  EXPECT_EQ(m.run("k", 1), FaultKind::illegal_address);
}

TEST(Calls, DeviceServices) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 p);
.global .align 1 .b8 text[6] = {120, 61, 37, 100, 32, 0};
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 depot[8];
  .reg .b32 %r<6>; .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  add.u32 %r2, %r1, 40;
  mov.u64 %rd2, depot;
  cvta.local.u64 %rd3, %rd2;
  st.local.u32 [%rd2], %r2;
  mov.u64 %rd4, text;
  cvta.global.u64 %rd5, %rd4;
  {
    .param .b64 p0; .param .b64 p1; .param .b32 q;
    st.param.b64 [p0], %rd5;
    st.param.b64 [p1], %rd3;
    call.uni (q), vprintf, (p0, p1);
    ld.param.b32 %r3, [q];
  }
  {
    .param .b64 p0; .param .b64 q;
    st.param.b64 [p0], 16;
    call.uni (q), malloc, (p0);
    ld.param.b64 %rd6, [q];
  }
  st.u32 [%rd6], %r3;
  ld.u32 %r4, [%rd6];
  {
    .param .b64 p0;
    st.param.b64 [p0], %rd6;
    call.uni free, (p0);
  }
  st.global.u32 [%rd1], %r4;
  ret;
})")) << m.error;
  std::vector<std::uint32_t> out(1);
  ASSERT_EQ(m.run("k", 2, {address_of(out)}), FaultKind::none) << m.error << m.outcome.line;
  EXPECT_EQ(m.outcome.printed, "x=40 x=41 ");
  EXPECT_EQ(out[0], 1u);
}

TEST(Calls, LoopPollsReachTheMachine) {
  // A loop over plain arithmetic still yields now and then, so that other warps get their turn.
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<6>; .reg .b64 %rd<5>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra set;
wait:
  ld.volatile.global.u32 %r2, [%rd1];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra wait;
  ret;
set:
  st.volatile.global.u32 [%rd1], 1;
  ret;
})")) << m.error;
  std::vector<std::uint32_t> out(1);
  EXPECT_EQ(m.run("k", 64, {address_of(out)}), FaultKind::none);
  EXPECT_GE(m.outcome.yields, 1u);
}

}  // namespace
}  // namespace raddle::interp
