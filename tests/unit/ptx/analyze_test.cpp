// Layout of variables and what `raddle inspect` reports before a launch.
#include "ptx/layout.h"
#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

KernelNeeds needs_of(const std::string& text, std::string_view kernel = "k") {
  const Module m = must_parse(text);
  return analyze(m, id_of(m, kernel));
}

VariableId variable_id(const Module& m, std::string_view name) {
  for (VariableId v = 0; v < m.variables.size(); ++v)
    if (m.variables[v].name == name) return v;
  ADD_FAILURE() << name;
  return 0;
}

// proves: K-8d
TEST(Layout, SharedMemoryOfKernelAndCallees) {
  const Module m = must_parse(module_text(
      ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 8 .b8 used[12];\n.shared .b8 unused[100];\n"
      ".func f() { .shared .align 4 .b8 in_callee[6]; ret; }\n.func g() { .shared .b8 elsewhere[50]; ret; }\n"
      ".entry k() { .shared .align 128 .b8 own[3]; .reg .b32 %r<3>; call f; mov.u32 %r1, used; ld.shared.u32 "
      "%r1, [dynamic]; ret; }\n"
      ".entry other() { ret; }"));
  const SharedLayout layout = shared_layout(m, id_of(m, "k"));
  EXPECT_EQ(layout.offset[variable_id(m, "used")], 1024u);
  EXPECT_EQ(layout.offset[variable_id(m, "in_callee")], 1036u);
  EXPECT_EQ(layout.offset[variable_id(m, "own")], 1152u);
  EXPECT_EQ(layout.offset[variable_id(m, "unused")], kNone);
  EXPECT_EQ(layout.offset[variable_id(m, "elsewhere")], kNone);
  EXPECT_EQ(layout.static_bytes, 131u);
  EXPECT_EQ(layout.dynamic_offset, 2048u);
  EXPECT_EQ(layout.offset[variable_id(m, "dynamic")], 2048u);
  EXPECT_TRUE(layout.has_dynamic);
  const SharedLayout empty = shared_layout(m, id_of(m, "other"));
  EXPECT_EQ(empty.static_bytes, 0u);
  EXPECT_EQ(empty.dynamic_offset, 1024u);
  EXPECT_FALSE(empty.has_dynamic);
}

TEST(Layout, Frames) {
  const Module m =
      must_parse(module_text(".func (.param .b32 r) f(.param .b8 a, .param .align 16 .b8 b[20]) { .local .b8 "
                             "x[3]; .local .align 8 .b64 y; { .param .b32 p; } { .param "
                             ".b64 p; } ret; }"));
  const FunctionId f = id_of(m, "f");
  const FrameLayout layout = frame_layout(m, f);
  EXPECT_EQ(layout.local_bytes, 16u);
  EXPECT_EQ(layout.local_align, 8u);
  EXPECT_EQ(m.variables[m.functions[f].parameters[1]].offset, 16u);
  EXPECT_EQ(m.variables[m.functions[f].returns[0]].offset, 36u);
  EXPECT_EQ(layout.formal_bytes, 40u);
  EXPECT_EQ(layout.formal_align, 16u);
  EXPECT_EQ(layout.call_bytes, 16u);
}

// proves: K-8d
TEST(Analyze, CountsRegistersAtTheirPeak) {
  const auto n =
      needs_of(kernel_text("mov.u32 %r2, 7; ld.shared.u32 %r1, [s]; ld.shared.u64 %rd1, [s]; "
                           "ld.shared.f64 %fd1, [s]; st.shared.u32 [s], %r1; st.shared.f64 [s], %fd1; "
                           "st.shared.u64 [s], %rd1; st.shared.u32 [s], %r2; setp.eq.u32 %p1, %r5, 0; "
                           "@%p1 trap;"));
  EXPECT_EQ(n.registers, 6u + 8) << "a word, two double words and the live-in %r5, and what machine code has "
                                    "beside them; predicates are apart, constants are made anew";
}

// proves: K-4b, K-8d
TEST(Analyze, BarriersAtomicsAndFrames) {
  const auto n =
      needs_of(module_text(".const .align 8 .b8 table[20];\n.func leaf() { .local .b8 x[40]; ret; }\n.func "
                           "mid() { .local .b8 y[8]; call leaf; ret; }\n"
                           ".entry k(.param .b64 p) { .local .b8 z[4]; .reg .b32 %r<3>; call mid; call leaf; "
                           "bar.sync 3; atom.shared.add.u32 %r1, [%r2], 1; ret; }"));
  EXPECT_EQ(n.barriers, 4u);
  EXPECT_TRUE(n.has_barrier);
  EXPECT_TRUE(n.has_atomics);
  EXPECT_EQ(n.local_bytes, 16u + 16u + 40u);
  EXPECT_EQ(n.parameter_bytes, 8u);
  EXPECT_EQ(n.const_bytes, 20u);
  EXPECT_EQ(n.callees.size(), 2u);
  EXPECT_FALSE(n.is_recursive);
  EXPECT_EQ(needs_of(kernel_text("bar.sync %r1;")).barriers, 16u);
}

// proves: K-17g, K-18f
TEST(Analyze, RecursionIndirectCallsAndWhatIsMissing) {
  const auto n = needs_of(module_text(
      ".extern .func vprintf(.param .b64 f, .param .b64 a);\n.extern .func missing();\n.func taken(.param "
      ".b32 a) { ret; }\n"
      ".func loop() { call loop; call missing; ret; }\n.global .u64 pointers[1] = {taken};\n"
      ".entry k() { .reg .b64 %rd<3>; .param .b64 x, y; .param .b32 z; call loop; call vprintf, (x, y);\n"
      "P: .callprototype _ (.param .b32 _); call %rd1, (z), P; frobnicate.b32; ret; }"));
  EXPECT_TRUE(n.is_recursive);
  EXPECT_TRUE(n.has_indirect_calls);
  EXPECT_EQ(n.unresolved, std::vector<std::string>{"missing"});
  EXPECT_EQ(n.callees.size(), 4u) << "vprintf, missing, taken, loop";
  ASSERT_EQ(n.unsupported.size(), 1u);
  EXPECT_EQ(n.unsupported[0].what, "frobnicate.b32");
}

bool waits(std::string_view body) { return needs_of(kernel_text(body)).may_wait_on_memory; }

// proves: K-4b
TEST(Analyze, LoopsThatWaitOnMemory) {
  EXPECT_TRUE(waits("L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"));
  EXPECT_TRUE(waits(
      "L: ld.acquire.gpu.global.u32 %r1, [%rd1]; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;"));
  EXPECT_TRUE(waits("L: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;"));
  EXPECT_FALSE(waits(
      "ld.volatile.global.u32 %r1, [%rd1]; L: sub.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"))
      << "read before the loop";
  EXPECT_FALSE(waits(
      "L: atom.global.add.u32 %r2, [%rd1], 1; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;"))
      << "the exit does not depend on it";
}

// proves: K-4b
TEST(Analyze, PlainLoadsThatOnlyAnotherThreadCanChange) {
  EXPECT_TRUE(waits("L: ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"));
  EXPECT_TRUE(waits("L: ld.shared.u32 %r1, [s]; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;"));
  EXPECT_TRUE(waits("L: add.u64 %rd2, %rd1, 4; ld.u32 %r1, [%rd2]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"))
      << "computed anew, and the same";
  EXPECT_FALSE(
      waits("L: ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;"))
      << "each turn comes nearer to the end";
  EXPECT_FALSE(
      waits("L: ld.global.u32 %r1, [%rd1]; add.u64 %rd1, %rd1, 4; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"))
      << "each turn looks elsewhere";
  EXPECT_FALSE(
      waits("L: bar.sync 0; ld.shared.u32 %r1, [s]; bar.sync 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"))
      << "the barrier waits";
  EXPECT_FALSE(waits("L: ld.global.nc.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"))
      << "nobody writes it";
}

// proves: K-4b
TEST(Analyze, ReadsThatOthersAnswer) {
  for (const char* read : {"ld.volatile.u32 %r1, [%rd1];", "ld.global.cg.u32 %r1, [%rd1];",
                           "ld.global.cv.u32 %r1, [%rd1];", "ld.relaxed.cta.u32 %r1, [%rd1];",
                           "ld.acquire.sys.u32 %r1, [%rd1];", "ld.mmio.relaxed.sys.u32 %r1, [%rd1];",
                           "atom.add.u32 %r1, [%rd1], 0;", "atom.cas.b32 %r1, [%rd1], 0, 0;"})
    EXPECT_TRUE(waits(std::string("L: ") + read +  // even if the end depends on more
                      "add.u32 %r2, %r2, %r1; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;"))
        << read;
  for (const char* read : {"ld.u32 %r1, [%rd1];", "ld.global.ca.u32 %r1, [%rd1];", "red.add.u32 [%rd1], 1;"})
    EXPECT_FALSE(
        waits(std::string("L: ") + read + "add.u32 %r2, %r2, %r1; setp.lt.u32 %p1, %r2, 9; @%p1 bra L;"))
        << read;
}

// proves: K-4b
TEST(Analyze, WaitingThroughControl) {
  // A lock taken inside the loop: the flag that ends it is set on a path that the atomic chooses.
  EXPECT_TRUE(
      waits("mov.u32 %r5, 0;\nL: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra "
            "N;\nmov.u32 %r5, 1;\n"
            "N: setp.eq.u32 %p2, %r5, 0; @%p2 bra L;"));
  EXPECT_TRUE(waits("L: ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 ret; bra L;"));
  EXPECT_TRUE(
      waits("O: L: ld.relaxed.sys.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; sub.u32 %r2, %r2, 1; "
            "setp.ne.u32 %p2, %r2, "
            "0; @%p2 bra O;"))
      << "an inner loop waits";
}

// proves: K-4b
TEST(Analyze, WaitingInACallee) {
  EXPECT_TRUE(needs_of(module_text(".func (.param .b32 r) look(.param .b64 a) { .reg .b64 %rd<2>; .reg .b32 "
                                   "%r<2>; ld.param.u64 %rd1, [a]; "
                                   "ld.volatile.u32 %r1, [%rd1]; st.param.b32 [r], %r1; ret; }\n"
                                   ".entry k() { .param .b64 a; .param .b32 r; .reg .b32 %r<3>; .reg .pred "
                                   "%p<2>;\nL: call (r), look, (a); "
                                   "ld.param.b32 %r1, [r]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret; }"))
                  .may_wait_on_memory);
}

// proves: K-4c
TEST(Analyze, ACalleeThatIsNotKnownMayWait) {
  const char* loop =
      "L: call (r), look, (a); ld.param.b32 %r1, [r]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret; }";
  const std::string kernel =
      ".entry k() { .param .b64 a; .param .b32 r; .reg .b32 %r<3>; .reg .pred %p<2>;\n" + std::string(loop);
  EXPECT_TRUE(needs_of(module_text(".extern .func (.param .b32 r) look(.param .b64 a);\n" + kernel))
                  .may_wait_on_memory);
  EXPECT_FALSE(needs_of(module_text(".func (.param .b32 r) look(.param .b64 a) { ret; }\n" + kernel))
                   .may_wait_on_memory);
  EXPECT_TRUE(needs_of(module_text(".entry k() { .param .b64 a; .param .b32 r; .reg .b32 %r<3>; .reg .b64 "
                                   "%f; .reg .pred %p<2>;\nP: .callprototype (.param .b32 _) _ (.param .b64 "
                                   "_);\nL: call (r), %f, (a), P; ld.param.b32 %r1, [r]; setp.eq.u32 %p1, "
                                   "%r1, 0; @%p1 bra L; ret; }"))
                  .may_wait_on_memory);
}

// proves: K-4b
TEST(Analyze, PlainLoadsInACallee) {
  const auto kernel = [](const char* step) {
    return module_text(
        std::string(".func (.param .b32 r) look(.param .b64 a) { .reg .b64 %a; .reg .b32 %v; "
                    "ld.param.u64 %a, [a]; ld.u32 %v, [%a]; st.param.b32 [r], %v; ret; }\n"
                    ".entry k() { .param .b64 a; .param .b32 r; .reg .b32 %r<3>; .reg .b64 %a; "
                    ".reg .pred %p<2>;\nL: st.param.b64 [a], %a; call (r), look, (a); "
                    "ld.param.b32 %r1, [r]; ") +
        step + " setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret; }");
  };
  EXPECT_TRUE(needs_of(kernel("")).may_wait_on_memory);
  EXPECT_FALSE(needs_of(kernel("add.u64 %a, %a, 4;")).may_wait_on_memory) << "each turn looks elsewhere";
}

}  // namespace
}  // namespace raddle::ptx::test
