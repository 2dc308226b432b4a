// Divergence, lanes that wait for lanes, barriers, calls: the driver's duties.
#include <gtest/gtest.h>

#include "test_machine.h"

namespace raddle::interp {
namespace {

using exec::FaultKind;

// Collatz steps: every lane loops a different number of times.
TEST(Control, DivergentLoops) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<10>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  add.u32 %r2, %r1, 1;
  mov.u32 %r3, 0;
loop:
  setp.eq.u32 %p1, %r2, 1;
  @%p1 bra done;
  and.b32 %r4, %r2, 1;
  setp.ne.u32 %p2, %r4, 0;
  @%p2 bra odd;
  shr.u32 %r2, %r2, 1;
  bra next;
odd:
  mad.lo.u32 %r2, %r2, 3, 1;
next:
  add.u32 %r3, %r3, 1;
  bra loop;
done:
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})",
                 64, 64);
  for (std::uint32_t k = 0; k < 64; ++k) {
    std::uint32_t n = k + 1, steps = 0;
    for (; n != 1; ++steps) n = n % 2 ? 3 * n + 1 : n / 2;
    EXPECT_EQ(out[k], steps) << k;
  }
}

// Lanes meet again after an if: the warp is whole at the join.
TEST(Control, Reconverges) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<10>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %laneid;
  setp.lt.u32 %p1, %r1, 7;
  @%p1 bra small;
  activemask.b32 %r2;
  bra join;
small:
  activemask.b32 %r2;
join:
  activemask.b32 %r3;
  mul.wide.u32 %rd2, %r1, 8;
  add.s64 %rd3, %rd1, %rd2;
  st.global.v2.u32 [%rd3], {%r2, %r3};
  ret;
})",
                 32, 64);
  EXPECT_EQ(out[0], 0x7fu);
  EXPECT_EQ(out[2 * 20], 0xffffff80u);
  for (int k = 0; k < 32; ++k) EXPECT_EQ(out[2 * k + 1], ~0u);
}

// A spin lock taken by the lanes of one warp: the holder must not starve.
TEST(Control, SpinLockInOneWarp) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<10>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
spin:
  atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra spin;
  ld.volatile.global.u32 %r2, [%rd1+4];
  add.u32 %r2, %r2, 1;
  st.volatile.global.u32 [%rd1+4], %r2;
  atom.release.gpu.global.exch.b32 %r3, [%rd1], 0;
  ret;
})",
                 96, 2);
  EXPECT_EQ(out[1], 96u);
}

// Lane 31 produces for lane 0, which spins at a lower pc; then the other way round.
TEST(Control, ProducerAndConsumerLanes) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<10>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %laneid;
  setp.eq.u32 %p1, %r1, 31;
  @%p1 bra producer;
wait:
  ld.relaxed.gpu.global.u32 %r2, [%rd1];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra wait;
  red.global.add.u32 [%rd1+4], %r2;
  ret;
producer:
  mov.u32 %r3, 0;
work:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, 500;
  @%p3 bra work;
  st.release.gpu.global.u32 [%rd1], %r3;
wait2:
  ld.acquire.gpu.global.u32 %r2, [%rd1+4];
  setp.ne.u32 %p2, %r2, 15500;
  @%p2 bra wait2;
  st.global.u32 [%rd1+8], 7;
  ret;
})",
                 32, 3);
  EXPECT_EQ(out[0], 500u);
  EXPECT_EQ(out[1], 31u * 500);
  EXPECT_EQ(out[2], 7u);
}

// proves: K-5c
TEST(Control, BarriersInLoops) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  .shared .align 4 .b8 buffer[512];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, buffer;
  shl.b32 %r3, %r1, 2;
  add.u32 %r4, %r2, %r3;
  st.shared.u32 [%r4], %r1;
  mov.u32 %r5, 64;
loop:
  bar.sync 0;
  setp.ge.u32 %p1, %r1, %r5;
  @%p1 bra skip;
  shl.b32 %r6, %r5, 2;
  add.u32 %r7, %r4, %r6;
  ld.shared.u32 %r8, [%r7];
  ld.shared.u32 %r9, [%r4];
  add.u32 %r9, %r9, %r8;
  st.shared.u32 [%r4], %r9;
skip:
  shr.u32 %r5, %r5, 1;
  setp.ne.u32 %p2, %r5, 0;
  @%p2 bra loop;
  bar.sync 0;
  ld.shared.u32 %r9, [buffer];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r9;
  ret;
})",
                 128, 128);
  for (auto value : out) EXPECT_EQ(value, 127u * 128 / 2);
}

// proves: K-6b
TEST(Control, EarlyExitsDoNotHangABarrier) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  rem.u32 %r2, %r1, 3;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 exit;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 40;
  @%p2 ret;
  barrier.sync 1;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], 1;
  ret;
})",
                 100, 100);
  for (std::uint32_t k = 0; k < 100; ++k) EXPECT_EQ(out[k], k >= 40 && k % 3 != 0 ? 1u : 0u) << k;
}

// One warp produces, the other consumes, with bar.arrive on one side; halves of a warp wait at different
// barriers.
// proves: K-5f, K-5g
TEST(Control, NamedBarriersAndSplitWarps) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  .shared .align 4 .u32 flag;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  @!%p1 bra consumer;
  st.shared.u32 [flag], 9;
  bar.arrive 2, 64;
  bra second;
consumer:
  bar.sync 2, 64;
  ld.shared.u32 %r3, [flag];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
second:
  and.b32 %r4, %r1, 1;
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra even;
  barrier.sync 3, 32;
  bra end;
even:
  barrier.sync 4, 32;
end:
  barrier.sync 0;
  @%p1 red.global.add.u32 [%rd1], 1;
  ret;
})",
                 64, 64);
  EXPECT_EQ(out[0], 32u);
  for (std::uint32_t k = 32; k < 64; ++k) EXPECT_EQ(out[k], 9u);
}

// proves: K-5h
TEST(Control, BarrierReductions) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<6>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 50;
  bar.red.popc.u32 %r2, 0, %p1;
  bar.red.and.pred %p2, 0, %p1;
  bar.red.or.pred %p3, 0, 64, !%p1;
  setp.lt.u32 %p4, %r1, 17;
  @%p4 bra apart;
  barrier.red.popc.u32 %r5, 1, %p1;
  bra together;
apart:
  barrier.red.popc.u32 %r5, 1, %p1;
together:
  selp.u32 %r3, 1, 0, %p2;
  selp.u32 %r4, 1, 0, %p3;
  mul.wide.u32 %rd2, %r1, 16;
  add.s64 %rd3, %rd1, %rd2;
  st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};
  ret;
})",
                 64, 256);
  for (std::uint32_t k = 0; k < 64; ++k) {
    EXPECT_EQ(out[4 * k], 50u);
    EXPECT_EQ(out[4 * k + 1], 0u);
    EXPECT_EQ(out[4 * k + 2], 1u);
    EXPECT_EQ(out[4 * k + 3], 50u);
  }
}

// .sync operations hold lanes until all members have come, also from different places.
TEST(Control, SyncOperationsWaitForMembers) {
  auto out = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<5>; .reg .pred %p<6>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %laneid;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra low;
  add.u32 %r2, %r1, 100;
  shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;
  bar.warp.sync 0xffff0000;
  bra done;
low:
  mov.u32 %r4, 0;
spin:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 300;
  @%p2 bra spin;
  shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;
  bar.warp.sync 0xffff;
done:
  bar.warp.sync -1;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
})",
                 32, 32);
  for (std::uint32_t k = 0; k < 32; ++k) EXPECT_EQ(out[k], k < 16 ? k + 116 : k - 16) << k;
}

TEST(Control, MembersThatNeverComeAreADeadlock) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.visible .entry k()
{
  .reg .b32 %r<4>; .reg .pred %p<3>;
  mov.u32 %r1, %laneid;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra low;
  bar.warp.sync 0xffffffff;
  ret;
low:
  bar.warp.sync 0xfffffffe;
  ret;
})")) << m.error;
  EXPECT_EQ(m.run("k", 32), FaultKind::deadlock);
}

}  // namespace
}  // namespace raddle::interp
