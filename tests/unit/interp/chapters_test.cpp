// Values of single instructions, chapter by chapter, worked out by hand from the PTX manual. Each line runs
// one body of text on one lane; %r1.. hold the inputs and %rd9 the result's place. The isa tests go further,
// form by form.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "test_machine.h"

namespace raddle::interp {
namespace {

/// Runs `body` on one lane with x in %x (b32, f32: %fx), y in %y, z in %z; it leaves its result in %d, or %l
/// (64 bits).
std::uint64_t eval(const std::string& body, std::uint64_t x = 0, std::uint64_t y = 0, std::uint64_t z = 0) {
  TestMachine m;
  std::string text = R"(
.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .b64 %out, %l, %lx, %ly, %lz; .reg .b32 %d, %x, %y, %z, %e; .reg .b16 %h, %hx, %hy, %hz; .reg .pred %p, %q; .reg .b128 %w;
  .reg .f64 %g, %gx;
  ld.param.u64 %out, [out];
  ld.param.u64 %lx, [a]; ld.param.u64 %ly, [b]; ld.param.u64 %lz, [c];
  cvt.u32.u64 %x, %lx; cvt.u32.u64 %y, %ly; cvt.u32.u64 %z, %lz;
  cvt.u16.u64 %hx, %lx; cvt.u16.u64 %hy, %ly; cvt.u16.u64 %hz, %lz;
  mov.b64 %l, 0; mov.b32 %d, 0;
)" + body + R"(
  cvt.u64.u32 %lx, %d;
  or.b64 %l, %l, %lx;
  st.global.u64 [%out], %l;
  ret;
})";
  EXPECT_TRUE(m.load(text)) << m.error << "\n" << body;
  std::vector<std::uint64_t> out(1);
  EXPECT_EQ(m.run("k", 1, {address_of(out), x, y, z}), exec::FaultKind::none) << m.error << "\n" << body;
  return out[0];
}

std::uint32_t f32(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr std::uint64_t kU32 = 0xffffffffu;

TEST(Chapters, IntegerArithmetic) {
  EXPECT_EQ(eval("add.sat.s32 %d, %x, %y;", 0x7fffffff, 1), 0x7fffffffu);
  EXPECT_EQ(eval("sub.sat.s32 %d, %x, %y;", 0x80000000, 1), 0x80000000u);
  EXPECT_EQ(eval("add.u16x2 %d, %x, %y;", 0x0001ffff, 0x00010001), 0x00020000u);
  EXPECT_EQ(eval("mul.hi.s32 %d, %x, %y;", kU32, 5), kU32);
  EXPECT_EQ(eval("mul.hi.u64 %l, %lx, %ly;", ~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(eval("mul.wide.s32 %l, %x, %y;", kU32, 3), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(eval("mul.wide.u16 %d, %hx, %hy;", 0xffff, 0xffff), 0xfffe0001u);
  EXPECT_EQ(eval("mad.wide.u32 %l, %x, %y, %lz;", kU32, 2, 5), 2 * kU32 + 5);
  EXPECT_EQ(eval("mad.hi.sat.s32 %d, %x, %y, %z;", 0x7fffffff, 0x7fffffff, 0x7fffffff), 0x7fffffffu);
  EXPECT_EQ(eval("mul24.lo.s32 %d, %x, %y;", 0x00ffffff, 2), 0xfffffffeu);
  EXPECT_EQ(eval("mul24.hi.u32 %d, %x, %y;", 0xffffff, 0xffffff), 0xfffffe00u);
  EXPECT_EQ(eval("sad.s32 %d, %x, %y, %z;", static_cast<std::uint32_t>(-5), 7, 100), 112u);
  EXPECT_EQ(eval("div.s32 %d, %x, %y;", 0x80000000, kU32), 0x80000000u);
  EXPECT_EQ(eval("rem.s32 %d, %x, %y;", static_cast<std::uint32_t>(-7), 3), kU32);
  EXPECT_EQ(eval("abs.s32 %d, %x;", 0x80000000), 0x80000000u);
  EXPECT_EQ(eval("min.s16x2 %d, %x, %y;", 0x0001ffff, 0xffff0001), 0xffffffffu);
  EXPECT_EQ(eval("max.relu.s32 %d, %x, %y;", static_cast<std::uint32_t>(-5), static_cast<std::uint32_t>(-9)),
            0u);
  EXPECT_EQ(eval("popc.b64 %d, %lx;", ~0ull), 64u);
  EXPECT_EQ(eval("clz.b32 %d, %x;", 0), 32u);
  EXPECT_EQ(eval("bfind.s32 %d, %x;", kU32), kU32);
  EXPECT_EQ(eval("bfind.u32 %d, %x;", 0x00010000), 16u);
  EXPECT_EQ(eval("bfind.shiftamt.u32 %d, %x;", 0x00010000), 15u);
  EXPECT_EQ(eval("fns.b32 %d, %x, 0, 3;", 0xb0), 7u);
  EXPECT_EQ(eval("brev.b32 %d, %x;", 1), 0x80000000u);
  EXPECT_EQ(eval("bfe.u32 %d, %x, 4, 8;", 0xdeadbeef), 0xeeu);
  EXPECT_EQ(eval("bfe.s32 %d, %x, 28, 8;", 0xdeadbeef), 0xfffffffdu);
  EXPECT_EQ(eval("bfi.b32 %d, %x, %y, 8, 8;", 0xab, 0x11111111), 0x1111ab11u);
  EXPECT_EQ(eval("szext.clamp.s32 %d, %x, 4;", 0x8), 0xfffffff8u);
  EXPECT_EQ(eval("bmsk.clamp.b32 %d, 4, 8;"), 0xff0u);
  EXPECT_EQ(eval("dp4a.s32.u32 %d, %x, %y, %z;", 0xff010203, 0x01010101, 10), 10u + 3 + 2 + 1 - 1);
  EXPECT_EQ(eval("dp2a.hi.u32.u32 %d, %x, %y, 0;", 0x00020001, 0x05040302), 14u);
}

TEST(Chapters, ExtendedPrecision) {
  EXPECT_EQ(eval("add.cc.u32 %e, %x, %y; addc.u32 %d, 1, 1;", kU32, 1), 3u);
  EXPECT_EQ(eval("sub.cc.u32 %e, %x, %y; subc.u32 %d, 5, 1;", 0, 1), 3u);
  EXPECT_EQ(eval("mad.lo.cc.u32 %e, %x, %y, %z; madc.hi.u32 %d, %x, %y, 0;", kU32, 2, 2), 2u);
  EXPECT_EQ(eval("add.cc.u64 %l, %lx, %ly; addc.u64 %l, 0, 0;", ~0ull, 1), 1u);
}

TEST(Chapters, FloatingPoint) {
  EXPECT_EQ(eval("add.rp.f32 %d, %x, %y;", f32(1.0f), f32(0x1p-40f)), f32(std::nextafter(1.0f, 2.0f)));
  EXPECT_EQ(eval("add.ftz.f32 %d, %x, %y;", f32(0x1p-140f), f32(0x1p-140f)), 0u);
  EXPECT_EQ(eval("mul.sat.f32 %d, %x, %y;", f32(3.0f), f32(5.0f)), f32(1.0f));
  EXPECT_EQ(eval("fma.rz.f32 %d, %x, %y, %z;", f32(0.1f), f32(10.0f), f32(-1.0f)),
            f32(std::fma(0.1f, 10.0f, -1.0f)));
  EXPECT_EQ(eval("min.f32 %d, %x, %y;", f32(NAN), f32(2.0f)), f32(2.0f));
  EXPECT_EQ(eval("max.NaN.f32 %d, %x, %y;", f32(NAN), f32(2.0f)), 0x7fffffffu);
  EXPECT_EQ(eval("neg.f32 %d, %x;", f32(0.0f)), f32(-0.0f));
  EXPECT_EQ(eval("copysign.f32 %d, %x, %y;", f32(-1.0f), f32(5.0f)), f32(-5.0f));
  EXPECT_EQ(eval("testp.subnormal.f32 %p, %x; selp.u32 %d, 1, 0, %p;", f32(0x1p-140f)), 1u);
  EXPECT_EQ(eval("sqrt.rn.f64 %g, 0d4010000000000000; mov.b64 %l, %g;"), std::bit_cast<std::uint64_t>(2.0));
  EXPECT_EQ(eval("ex2.approx.f32 %d, %x;", f32(3.0f)), f32(8.0f));
  EXPECT_EQ(eval("rsqrt.approx.f32 %d, %x;", f32(4.0f)), f32(0.5f));
  EXPECT_EQ(eval("div.full.f32 %d, %x, %y;", f32(1.0f), f32(8.0f)), f32(0.125f));
}

TEST(Chapters, HalfPrecision) {
  EXPECT_EQ(eval("fma.rn.f16x2 %d, %x, %y, %z;", 0x3c004000, 0x40003c00, 0x00003c00), 0x40004200u);
  EXPECT_EQ(eval("add.bf16x2 %d, %x, %y;", 0x3f803f80, 0x3f800000), 0x40003f80u);
  EXPECT_EQ(eval("fma.rn.relu.f16 %h, %hx, %hy, %hz; cvt.u32.u16 %d, %h;", 0xbc00, 0x3c00, 0), 0u);
  EXPECT_EQ(eval("max.f16x2 %d, %x, %y;", 0x7fff3c00, 0x3c007fff), 0x3c003c00u);
  EXPECT_EQ(eval("neg.bf16x2 %d, %x;", 0x3f80bf80), 0xbf803f80u);
}

TEST(Chapters, ComparisonAndSelection) {
  EXPECT_EQ(eval("setp.lt.and.s32 %p|%q, %x, %y, 1; selp.u32 %d, 2, 3, %q;", kU32, 0), 3u);
  EXPECT_EQ(eval("setp.lo.u32 %p, %x, %y; selp.u32 %d, 1, 0, %p;", 1, kU32), 1u);
  EXPECT_EQ(eval("set.gtu.u32.f32 %d, %x, %y;", f32(NAN), f32(0)), kU32);
  EXPECT_EQ(eval("set.ge.f32.s32 %d, %x, %y;", 3, 3), f32(1.0f));
  EXPECT_EQ(eval("slct.u32.f32 %d, %x, %y, %z;", 1, 2, f32(-0.0f)), 1u);
  EXPECT_EQ(
      eval("setp.gt.f16x2 %p|%q, %x, %y; selp.u32 %d, 1, 0, %p; selp.u32 %e, 2, 0, %q; or.b32 %d, %d, %e;",
           0x3c004000, 0x3c003c00),
      1u);
}

TEST(Chapters, LogicAndShifts) {
  EXPECT_EQ(eval("shl.b32 %d, %x, 40;", 1), 0u);
  EXPECT_EQ(eval("shr.s32 %d, %x, 40;", 0x80000000), kU32);
  EXPECT_EQ(eval("lop3.b32 %d, %x, %y, %z, 0x96;", 0xf0, 0xcc, 0xaa), 0xf0u ^ 0xcc ^ 0xaa);
  EXPECT_EQ(eval("shf.l.wrap.b32 %d, %x, %y, 8;", 0xaabbccdd, 0x11223344), 0x223344aau);
  EXPECT_EQ(eval("shf.r.clamp.b32 %d, %x, %y, 40;", 0xaabbccdd, 0x11223344), 0x11223344u);
  EXPECT_EQ(eval("cnot.b32 %d, %x;", 0), 1u);
  EXPECT_EQ(eval("setp.eq.u32 %p, 1, 1; not.pred %q, %p; selp.u32 %d, 1, 2, %q;"), 2u);
}

TEST(Chapters, Conversions) {
  EXPECT_EQ(eval("cvt.rzi.s32.f32 %d, %x;", f32(-3.7f)), static_cast<std::uint32_t>(-3));
  EXPECT_EQ(eval("cvt.rni.sat.s8.f32 %d, %x;", f32(1000.0f)), 127u);
  EXPECT_EQ(eval("cvt.s32.s8 %d, %x;", 0xff), kU32);
  EXPECT_EQ(eval("cvt.sat.u8.s32 %d, %x;", static_cast<std::uint32_t>(-4)), 0u);
  EXPECT_EQ(eval("cvt.rn.f32.s32 %d, %x;", 16777217), f32(16777216.0f));
  EXPECT_EQ(eval("cvt.rp.f32.s64 %d, %lx;", 16777217), f32(16777218.0f));
  EXPECT_EQ(eval("cvt.rn.f16.f32 %h, %x; cvt.u32.u16 %d, %h;", f32(65520.0f)), 0x7c00u);
  EXPECT_EQ(eval("cvt.f32.f16 %d, %hx;", 0x3c01), f32(1.0f + 0x1p-10f));
  EXPECT_EQ(eval("cvt.rn.bf16x2.f32 %d, %x, %y;", f32(1.0f), f32(2.0f)), 0x3f804000u);
  EXPECT_EQ(eval("cvt.rna.tf32.f32 %d, %x;", f32(1.0f + 0x1p-11f)), f32(1.0f + 0x1p-10f));
  EXPECT_EQ(eval("cvt.rmi.f32.f32 %d, %x;", f32(-1.5f)), f32(-2.0f));
  EXPECT_EQ(eval("cvt.sat.f32.f32 %d, %x;", f32(-1.5f)), 0u);
  EXPECT_EQ(eval("cvt.pack.sat.s16.s32 %d, %x, %y;", 100000, static_cast<std::uint32_t>(-100000)),
            0x7fff8000u);
  EXPECT_EQ(eval("cvt.pack.sat.u8.s32.b32 %d, %x, %y, %z;", 300, 5, 0x1234), 0x1234ff05u);
}

TEST(Chapters, DataMovement) {
  EXPECT_EQ(eval("mov.b64 %l, {%x, %y};", 1, 2), 0x200000001u);
  EXPECT_EQ(eval("mov.b32 {%h, _}, %x; cvt.u32.u16 %d, %h;", 0xaabbccdd), 0xccddu);
  EXPECT_EQ(eval("mov.b128 %w, {%lx, %ly}; mov.b128 {_, %l}, %w;", 1, 2), 2u);
  EXPECT_EQ(eval("prmt.b32 %d, %x, %y, 0x7610;", 0x33221100, 0x77665544), 0x77661100u);
  EXPECT_EQ(eval("prmt.b32 %d, %x, %y, 0x8888;", 0x00000080, 0), kU32);
  EXPECT_EQ(eval("prmt.b32.rc16 %d, %x, %y, 1;", 0x33221100, 0), 0x33223322u);
  EXPECT_EQ(eval("isspacep.global %p, %out; selp.u32 %d, 1, 0, %p;"), 1u);
  EXPECT_EQ(
      eval(
          "{ .shared .align 4 .b8 s[8]; mov.u64 %ly, s; cvta.shared.u64 %lz, %ly; st.u32 [%lz+4], 7; "
          "ld.shared.u32 %d, [%ly+4];"
          " isspacep.shared %p, %lz; @!%p mov.u32 %d, 0; cvta.to.shared.u64 %l, %lz; sub.u64 %l, %l, %ly; }"),
      7u);
  EXPECT_EQ(eval("{ .local .align 8 .b8 s[16]; st.local.v2.u32 [s], {%x, %y}; mov.u64 %ly, s; cvta.local.u64 "
                 "%lz, %ly; ld.u64 %l, [%lz]; }",
                 3, 4),
            0x400000003u);
  EXPECT_EQ(eval("{ .local .align 4 .b8 s[4]; st.local.u8 [s], %x; ld.local.s8 %d, [s]; }", 0x1f0),
            0xfffffff0u);
  EXPECT_EQ(eval("cvta.param.u64 %lz, b; ld.u64 %l, [%lz];", 1, 99), 99u);
  EXPECT_EQ(eval("st.volatile.global.u32 [%out], 5; ld.relaxed.gpu.global.u32 %d, [%out];"), 5u);
}

TEST(Chapters, Atomics) {
  auto old_and_new = [](const std::string& text, std::uint64_t before, std::uint64_t b) {
    return eval("st.global.u64 [%out], %lx;" + text +
                    " ld.global.u32 %e, [%out]; mov.b64 %l, {%d, %e}; mov.b32 %d, 0;",
                before, b);
  };
  EXPECT_EQ(old_and_new("atom.global.add.u32 %d, [%out], %y;", 5, 3), 0x800000005u);
  EXPECT_EQ(old_and_new("atom.global.inc.u32 %d, [%out], %y;", 5, 5), 0x000000005u);
  EXPECT_EQ(old_and_new("atom.global.dec.u32 %d, [%out], %y;", 0, 5), 0x500000000u);
  EXPECT_EQ(old_and_new("atom.global.min.s32 %d, [%out], %y;", kU32, 5), 0xffffffffffffffffu);
  EXPECT_EQ(old_and_new("atom.global.cas.b32 %d, [%out], 5, %y;", 5, 9), 0x900000005u);
  EXPECT_EQ(old_and_new("atom.global.add.f32 %d, [%out], %y;", f32(1.5f), f32(2.0f)),
            std::uint64_t{f32(3.5f)} << 32 | f32(1.5f));
  EXPECT_EQ(old_and_new("atom.global.add.noftz.f16x2 %d, [%out], %y;", 0x3c003c00, 0x3c000000),
            0x40003c003c003c00u);
  EXPECT_EQ(old_and_new("red.global.xor.b32 [%out], %y;", 0xff, 0x0f), 0xf000000000u);
}

/// Warp-wide results: 32 lanes write %d.
std::vector<std::uint32_t> warp(const std::string& body) {
  TestMachine m;
  EXPECT_TRUE(m.load(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %out, %l; .reg .b32 %d, %x, %e; .reg .pred %p, %q;
  ld.param.u64 %out, [out];
  mov.u32 %x, %laneid;
  mov.b32 %d, 0;
)" + body + R"(
  mul.wide.u32 %l, %x, 4; add.u64 %out, %out, %l; st.global.u32 [%out], %d; ret;
})")) << m.error;
  std::vector<std::uint32_t> out(32);
  EXPECT_EQ(m.run("k", 32, {address_of(out)}), exec::FaultKind::none) << m.error;
  return out;
}

TEST(Chapters, WarpCollectives) {
  EXPECT_EQ(warp("shfl.sync.down.b32 %d|%p, %x, 3, 31, -1;")[5], 8u);
  EXPECT_EQ(warp("shfl.sync.down.b32 %d|%p, %x, 3, 31, -1;")[30], 30u);
  EXPECT_EQ(warp("shfl.sync.up.b32 %d|%p, %x, 1, 0x1800, -1; @!%p mov.u32 %d, 99;")[8], 99u);
  EXPECT_EQ(warp("shfl.sync.idx.b32 %d, %x, 2, 0x181f, -1;")[13], 10u);
  EXPECT_EQ(warp("setp.lt.u32 %p, %x, 4; vote.sync.ballot.b32 %d, %p, -1;")[9], 15u);
  EXPECT_EQ(warp("setp.lt.u32 %p, %x, 4; vote.sync.any.pred %q, %p, -1; selp.u32 %d, 1, 0, %q;")[9], 1u);
  EXPECT_EQ(warp("shr.u32 %e, %x, 3; match.any.sync.b32 %d, %e, -1;")[9], 0xff00u);
  EXPECT_EQ(warp("match.all.sync.b32 %d|%p, 5, -1;")[9], kU32);
  EXPECT_EQ(warp("redux.sync.add.s32 %d, %x, -1;")[3], 496u);
  EXPECT_EQ(warp("sub.s32 %e, %x, 5; redux.sync.min.s32 %d, %e, -1;")[3], static_cast<std::uint32_t>(-5));
  EXPECT_EQ(warp("setp.ge.u32 %q, %x, 4; @%q elect.sync %d|%p, 0xfffffff0; @%p mov.u32 %d, 77;")[4], 77u);
  EXPECT_EQ(warp("setp.lt.u32 %p, %x, 10; @%p activemask.b32 %d;")[4], 0x3ffu);
}

}  // namespace
}  // namespace raddle::interp
