#include "forms.h"

namespace raddle::attacks {

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      // Loads.
      {"ld.global.u64", "ld.global.u64 %x, {A};"},
      {"ld.global.u32", "ld.global.u32 %r, {A}; cvt.u64.u32 %x, %r;"},
      {"ld.global.u16", "ld.global.u16 %h, {A}; cvt.u64.u16 %x, %h;"},
      {"ld.global.u8", "ld.global.u8 %h, {A}; cvt.u64.u16 %x, %h;"},
      {"ld.global.v2.u64", "ld.global.v2.u64 {%x, %y}, {A};"},
      {"ld.global.v4.u32", "ld.global.v4.u32 {%r, %q, %r, %q}, {A}; cvt.u64.u32 %x, %r;"},
      {"ld.global.b128", "ld.global.b128 %b, {A}; mov.b128 {%x, %y}, %b;"},
      {"ld.u64", "ld.u64 %x, {A};"},
      {"ld.u8", "ld.u8 %h, {A}; cvt.u64.u16 %x, %h;"},
      {"ld.volatile.u64", "ld.volatile.global.u64 %x, {A};"},
      {"ld.relaxed.u64", "ld.relaxed.gpu.global.u64 %x, {A};"},
      {"ld.acquire.v2.u64", "ld.acquire.sys.v2.u64 {%x, %y}, {A};"},
      {"ld.global.nc.u64", "ld.global.nc.u64 %x, {A};"},
      {"ldu.global.u64", "ldu.global.u64 %x, {A};"},
      {"ld.const.u64", "ld.const.u64 %x, {A};"},
      {"ld.local.u64", "ld.local.u64 %x, {A};", false, false},
      {"ld.local from own", "cvta.local.u64 %y, %l; sub.s64 %y, %a, %y; ld.local.u64 %x, [%y];", true, false},
      {"ld.shared.u64", "ld.shared.u64 %x, {A};", false, false},
      {"ld.shared::cluster.u64", "ld.shared::cluster.u64 %x, {A};", false, false},
      {"ld.shared from own", "cvta.shared.u64 %y, %s; sub.s64 %y, %a, %y; ld.shared.u64 %x, [%y];", false,
       false},
      {"ld.param.u64", "ld.param.u64 %x, [%a];", false, false},
      {"conditional", "@%p ld.global.u64 %x, {A};"},
      {"in a loop",
       "mov.u32 %r, 3;\nagain: ld.global.u64 %x, {A};\nsub.u32 %r, %r, 1;\n"
       "setp.ne.u32 %q1, %r, 0;\n@%q1 bra again;"},
      // Stores.
      {"st.global.u64", "st.global.u64 {A}, %g;", true, false, true},
      {"st.global.u8", "st.global.u8 {A}, %g;", true, false, true},
      {"st.global.v4.u32", "cvt.u32.u64 %r, %g; st.global.v4.u32 {A}, {%r, %r, %r, %r};", true, false, true},
      {"st.u64", "st.u64 {A}, %g;", true, false, true},
      {"st.volatile.u32", "cvt.u32.u64 %r, %g; st.volatile.global.u32 {A}, %r;", true, false, true},
      {"st.release.u64", "st.release.gpu.global.u64 {A}, %g;", true, false, true},
      {"st.local.u64", "st.local.u64 {A}, %g;", false, false},
      {"st.local from own", "cvta.local.u64 %y, %l; sub.s64 %y, %a, %y; st.local.u64 [%y], %g;", true, false},
      {"st.shared.u64", "st.shared.u64 {A}, %g;", false, false},
      {"st.shared::cluster.u64", "st.shared::cluster.u64 {A}, %g;", false, false},
      // Atomics.
      {"atom.global.exch.u64", "atom.global.exch.b64 %x, {A}, %g;", true, true, true},
      {"atom.global.cas.u64", "atom.global.cas.b64 %x, {A}, %g, %g;", true, true, false},
      {"atom.add.u32", "cvt.u32.u64 %r, %g; atom.add.u32 %r, {A}, %r; cvt.u64.u32 %x, %r;", true, true, true},
      {"atom.global.min.s64", "atom.global.min.s64 %x, {A}, %g;", true, true, false},
      {"atom.global.add.f32",
       "mov.b32 %f, 0f3f800000; atom.global.add.f32 %f, {A}, %f; mov.b32 %r, %f; "
       "cvt.u64.u32 %x, %r;"},
      {"atom.shared.add.u32", "cvt.u32.u64 %r, %g; atom.shared.add.u32 %r, {A}, %r; cvt.u64.u32 %x, %r;",
       false, false},
      {"red.global.or.b64", "red.global.or.b64 {A}, %g;", true, false, true},
      {"red.global.v2.f32", "mov.b32 %f, 0f3f800000; red.global.add.v2.f32 {A}, {%f, %f};", true, false,
       true},
      {"multimem.ld_reduce", "multimem.ld_reduce.relaxed.gpu.global.add.u64 %x, {A};"},
      {"multimem.st", "multimem.st.relaxed.gpu.global.u64 {A}, %g;", true, false, true},
      // Copies.
      {"cp.async 16",
       "cp.async.cg.shared.global [here], {A}, 16; cp.async.wait_all; ld.shared.u64 %x, [here];"},
      {"cp.async 4",
       "cp.async.ca.shared.global [here], {A}, 4; cp.async.wait_all; ld.shared.u64 %x, [here];"},
      {"cp.async partly",
       "cvt.u32.u64 %r, %g; and.b32 %r, %r, 7; add.u32 %r, %r, 1;\n"
       "cp.async.ca.shared.global [here], {A}, 8, %r; cp.async.wait_all;\n"
       "ld.shared.u64 %x, [here];"},
      {"cp.async.bulk in",
       "@%p mbarrier.init.shared.b64 [bar], 1;\n"
       "@%p mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n"
       "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
       "[here], {A}, 64, [bar];\n"
       "wait: @%p mbarrier.try_wait.parity.shared.b64 %q1, [bar], 0;\n"
       "@!%p setp.eq.u32 %q1, 0, 0;\n@!%q1 bra wait;\nld.shared.u64 %x, [here];"},
      {"cp.async.bulk out",
       "st.shared.u64 [here], %g;\nfence.proxy.async;\n"
       "@%p cp.async.bulk.global.shared::cta.bulk_group {A}, [here], 64;\n"
       "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
       true, false, false},
      {"cp.reduce.async.bulk",
       "st.shared.u64 [here], %g;\nfence.proxy.async;\n"
       "@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 {A}, [here], 64;\n"
       "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
       true, false, false},
      {"st.async",
       "@%p mbarrier.init.shared.b64 [bar], 1;\n"
       "@%p st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 {A}, %g, [bar];",
       false, false},
      {"tensor map elsewhere",
       "@%p mbarrier.init.shared.b64 [bar], 1;\n"
       "@%p cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
       "[here], [%a, {%z}], [bar];",
       false, false},
      {"tensor map to it",
       "@%p mbarrier.init.shared.b64 [bar], 1;\n"
       "@%p mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n"
       "@%p tensormap.replace.tile.global_address.global.b1024.b64 [%m], %a;\n"
       "@%p cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
       "[here], [%m, {%z}], [bar];\n"
       "wait: @%p mbarrier.try_wait.parity.shared.b64 %q1, [bar], 0;\n"
       "@!%p setp.eq.u32 %q1, 0, 0;\n@!%q1 bra wait;\nld.shared.u64 %x, [here];"},
      {"tensor map out",
       "st.shared.u64 [here], %g;\nfence.proxy.async;\n"
       "@%p tensormap.replace.tile.global_address.global.b1024.b64 [%m], %a;\n"
       "@%p cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%m, {%z}], [here];\n"
       "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
       true, false, false},
      {"tensor map far out",
       "st.shared.u64 [here], %g;\nfence.proxy.async;\n"
       "sub.s64 %y, %a, %w; shr.s64 %y, %y, 3; cvt.u32.u64 %r, %y;\n"
       "@%p tensormap.replace.tile.global_dim.global.b1024.b32 [%m], 0, 0xffffffff;\n"
       "@%p cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%m, {%r}], [here];\n"
       "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
       false, false, true},
      // Matrices.
      {"ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, {A}; cvt.u64.u32 %x, %r;", false, false},
      {"stmatrix", "cvt.u32.u64 %r, %g; stmatrix.sync.aligned.m8n8.x1.shared.b16 {A}, {%r};", false, false},
      {"wmma.load",
       "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r, %r, %r, %r, %r, %r, %r, %q}, [%w], %d;\n"
       "cvt.u64.u32 %x, %q;",
       false, false},
      {"wmma.store",
       "cvt.u32.u64 %r, %g;\n"
       "wmma.store.d.sync.aligned.row.m16n16k16.f16 [%w], {%r, %r, %r, %r}, %d;",
       false, false, true},
      // Barriers, hints, caches.
      {"mbarrier.init", "mbarrier.init.b64 {A}, 1;", true, false},
      {"mbarrier.arrive", "mbarrier.arrive.b64 %x, {A};", true, false},
      {"mbarrier.test_wait", "mbarrier.test_wait.parity.b64 %q1, {A}, 0; selp.u64 %x, 0, 0, %q1;", true,
       false},
      {"discard", "discard.global.L2 {A}, 128;", false, false},
      {"applypriority", "applypriority.global.L2::evict_normal {A}, 128;", false, false},
      {"prefetch", "prefetch.global.L1 {A};", false, false},
      {"prefetch.tensormap", "prefetch.tensormap {A};", false, false},
      {"cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2.global {A}, 64;", false, false},
      // Handles, functions, text.
      {"tex", "tex.1d.v4.u32.s32 {%r, %q, %r, %q}, [%a, {%z}]; cvt.u64.u32 %x, %r;", false, false},
      {"suld", "suld.b.1d.b64.trap %x, [%a, {%z}];", false, false},
      {"sust", "sust.b.1d.b64.trap [%a, {%z}], %g;", false, false},
      {"call", "{ .reg .b64 %f1; mov.u64 %f1, harmless; mov.u64 %f1, %a; call %f1, (), types; }", false,
       false},
      {"free", "{ .param .b64 p; st.param.b64 [p], %a; call free, (p); }", false, false},
      {"vprintf format",
       "{ .param .b64 p; .param .b64 q; .param .b32 n; st.param.b64 [p], %a; st.param.b64 [q], %w;\n"
       "call (n), vprintf, (p, q); }",
       true, false, false},
      {"vprintf string",
       "{ .param .b64 p; .param .b64 q; .param .b32 n; st.u64 [%w], %a;\n"
       "st.u64 [%w+128], 0x7325;\nadd.u64 %y, %w, 128;\n"  // "%s"
       "st.param.b64 [p], %y; st.param.b64 [q], %w; call (n), vprintf, (p, q); }",
       true, false, false},
      {"assert",
       "{ .param .b64 p; .param .b64 q; .param .b32 n; .param .b64 f; .param .b64 c;\n"
       "st.param.b64 [p], %a; st.param.b64 [q], %a; st.param.b32 [n], 1; st.param.b64 [f], %a;\n"
       "st.param.b64 [c], 1; call __assertfail, (p, q, n, f, c); }",
       false, false},
      {"alloca",
       "cvt.u64.u32 %y, %q; alloca.u64 %y, 64; st.local.u64 [%y+0x40000], %g; sub.s64 %y, %y, %a;\n"
       "ld.local.u64 %x, [%y];",
       false, false},
      {"stackrestore", "stackrestore.u64 %a; alloca.u64 %y, 64; st.local.u64 [%y], %g;", false, false},
  };
  return all;
}

const std::vector<Trick>& tricks() {
  static const std::vector<Trick> all = {
      {"as it is", "mov.u64 %a, %t;", "[%a]"},
      {"far above", "sub.u64 %a, %t, 0x7ffffff0;", "[%a+0x7ffffff0]"},
      {"far below", "add.u64 %a, %t, 0x7ffffff0;", "[%a-0x7ffffff0]"},
      {"a little above", "sub.u64 %a, %t, 64;", "[%a+64]"},
      {"eight megabytes above", "sub.u64 %a, %t, 0x7ffff0;", "[%a+0x7ffff0]"},
      {"lane by lane", "mad.wide.u32 %a, %i, 16, %t;", "[%a]"},
      {"last lane only",
       "sub.u64 %a, %t, 496; mad.wide.u32 %a, %i, 16, %a;\nsetp.ne.u32 %q1, %i, 31;\n@%q1 exit;", "[%a]"},
      {"megabytes apart",
       "mul.wide.u32 %y, %i, 0x100000; sub.u64 %a, %t, 0x1f00000; add.u64 %a, %a, %y;\n"
       "setp.ne.u32 %q1, %i, 31;\n@%q1 exit;",
       "[%a]"},
      {"second lane only",
       "sub.u64 %a, %t, %w; mul.wide.u32 %y, %i, 1; mul.lo.u64 %a, %a, %y; add.u64 %a, %a, %w;", "[%a]"},
      {"one lane of many", "setp.eq.u32 %q1, %i, 17; selp.b64 %a, %t, %w, %q1;", "[%a]"},
      {"by a misaligned address",
       "and.b64 %y, %t, 15; or.b64 %y, %y, 1; and.b64 %a, %t, -16; or.b64 %a, %a, %y;\n"
       "shl.b64 %y, %y, 61; sub.u64 %a, %a, %y;",
       "[%a]", true},
      {"by a misaligned address of 4", "or.b64 %a, %t, 3; shl.b64 %y, %a, 62; sub.u64 %a, %a, %y;", "[%a]",
       true},
      {"after a call",
       "{ .param .b64 p; .param .b64 r; st.param.b64 [p], %t; call (r), same, (p);\n"
       "ld.param.b64 %a, [r]; }",
       "[%a]"},
  };
  return all;
}

std::string kernel_of(const Form& form, const Trick& trick) {
  std::string body = form.text;
  for (std::size_t at; (at = body.find("{A}")) != std::string::npos;) body.replace(at, 3, trick.operand);
  return std::string(R"(.version 8.7
.target sm_90a
.address_size 64
.extern .func (.param .b32 n) vprintf (.param .b64 a, .param .b64 b);
.extern .func free (.param .b64 a);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 n, .param .b64 c, .param .b64 d) .noreturn;
.func harmless () { ret; }
.func (.param .b64 r) same (.param .b64 p) {
  .reg .b64 %v; ld.param.b64 %v, [p]; st.param.b64 [r], %v; ret;
}
.visible .entry attack (.param .u64 target, .param .u64 out, .param .u64 own) {
  .reg .b16 %h; .reg .b32 %r, %q, %i, %z, %d; .reg .f32 %f; .reg .b128 %b; .reg .pred %p, %q1;
  .reg .b64 %t, %o, %w, %m, %a, %x, %y, %g, %s, %l;
  .shared .align 128 .b8 here[2048];
  .shared .align 8 .b64 bar;
  .local .align 16 .b8 mine[256];
  types: .callprototype _ ();
  ld.param.u64 %t, [target]; ld.param.u64 %o, [out]; ld.param.u64 %w, [own];
  mov.u32 %i, %tid.x; mov.u32 %z, 0; mov.u32 %r, 0; mov.u32 %q, 0; mov.b32 %f, 0f00000000;
  setp.eq.u32 %p, %i, 0;
  add.u64 %m, %w, 1024;
  mov.u64 %g, 0xbad0bad0bad0bad0; mov.u64 %x, 0; mov.u64 %s, here; mov.u64 %l, mine;
  sub.s64 %y, %t, %w; shr.s64 %y, %y, 4; cvt.u32.u64 %d, %y;
)") + trick.text +
         "\n" + body + R"(
  mad.wide.u32 %o, %i, 8, %o;
  st.global.u64 [%o], %x;
  ret;
}
)";
}

}  // namespace raddle::attacks
