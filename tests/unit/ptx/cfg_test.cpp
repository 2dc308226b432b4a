// Blocks, control flow, liveness, and which registers an instruction reads and writes.
#include "ptx/cfg.h"

#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

struct Kernel {
  Module module;
  const Function* function;
  Cfg cfg;

  explicit Kernel(std::string_view body)
      : module(must_parse(kernel_text(body))),
        function(module.find_function("k")),
        cfg(build_cfg(*function)) {}
  RegisterId reg(std::string_view name) const {
    for (RegisterId r = 0; r < function->registers.size(); ++r)
      if (function->registers[r].name == name) return r;
    ADD_FAILURE() << "no register " << name;
    return 0;
  }
};

using Blocks = std::vector<BlockId>;

// proves: K-17a
TEST(Blocks, SplitAtUsedLabelsAndAfterControl) {
  const Kernel k(
      "mov.u32 %r1, 1;\nunused: mov.u32 %r2, 2;\nL: mov.u32 %r3, 3;\n@%p1 bra L;\nmov.u32 %r4, 4;\nret;");
  ASSERT_EQ(k.function->blocks.size(), 3u);
  EXPECT_EQ(k.function->blocks[0].end, 2u);
  EXPECT_EQ(k.function->blocks[1].label, "L");
  EXPECT_EQ(k.cfg.nodes[0].exit, Exit::fallthrough);
  EXPECT_EQ(k.cfg.nodes[1].exit, Exit::conditional);
  EXPECT_EQ(k.cfg.nodes[1].successors, (Blocks{1, 2}));
  EXPECT_EQ(k.cfg.nodes[1].predecessors, (Blocks{0, 1}));
  EXPECT_EQ(k.cfg.nodes[2].exit, Exit::end);
}

TEST(Blocks, EveryBodyEndsByLeaving) {
  EXPECT_EQ(Kernel("").function->instructions.size(), 1u);
  EXPECT_EQ(Kernel("mov.u32 %r1, 1;").function->instructions.size(), 2u);
  EXPECT_EQ(Kernel("mov.u32 %r1, 1; trap;").function->instructions.size(), 2u);
  EXPECT_EQ(Kernel("@%p1 ret;").function->instructions.size(), 2u);
  const Kernel at_end("@%p1 bra END; ret; END:");
  ASSERT_EQ(at_end.function->blocks.size(), 3u);
  EXPECT_EQ(at_end.function->blocks[2].end - at_end.function->blocks[2].begin, 1u);
}

TEST(Blocks, BranchToTheNextBlock) {
  const Kernel k("@%p1 bra N; N: ret;");
  EXPECT_EQ(k.cfg.nodes[0].successors, (Blocks{1, 1}));
  EXPECT_EQ(k.cfg.nodes[1].predecessors, (Blocks{0}));
}

TEST(Blocks, ExitsOfEveryKind) {
  const Kernel k(
      "bra.uni A;\nA: @%p1 exit;\nT: .branchtargets A, B, A;\nbrx.idx %r1, T;\nB: @%p1 brx.idx %r1, "
      "T;\ntrap;");
  EXPECT_EQ(k.cfg.nodes[0].exit, Exit::branch);
  EXPECT_EQ(k.cfg.nodes[1].exit, Exit::conditional_end);
  EXPECT_EQ(k.cfg.nodes[1].successors, (Blocks{2}));
  EXPECT_EQ(k.cfg.nodes[2].exit, Exit::indexed);
  EXPECT_EQ(k.cfg.nodes[2].successors, (Blocks{1, 3}));
  EXPECT_EQ(k.cfg.nodes[3].successors, (Blocks{1, 3, 4}));
  EXPECT_EQ(k.cfg.nodes[4].exit, Exit::end);
}

TEST(Blocks, CallsDoNotCut) {
  const Module m = must_parse(module_text(
      ".func f() { ret; } .entry k() { .reg .b32 %r<3>; mov.u32 %r1, 1; call f; mov.u32 %r2, 2; }"));
  EXPECT_EQ(function_of(m, "k").blocks.size(), 1u);
}

TEST(RegisterUses, DestinationsSourcesAddressesAndGuards) {
  const Kernel k(
      "@%p3 ld.global.v2.u32 {%r1, %r2}, [%rd1];\nst.global.u32 [%rd2], %r3;\nsetp.eq.s32 %p1|%p2, %r4, "
      "%r5;\nmov.b64 %rd3, {%r6, %r7};");
  RegisterUses uses;
  const auto at = [&](std::size_t i) { register_uses(*k.function, k.function->instructions[i], uses); };
  using Ids = std::vector<RegisterId>;
  at(0);
  EXPECT_EQ(uses.definitions, (Ids{k.reg("%r1"), k.reg("%r2")}));
  EXPECT_EQ(uses.uses, (Ids{k.reg("%p3"), k.reg("%rd1")}));
  at(1);
  EXPECT_TRUE(uses.definitions.empty());
  EXPECT_EQ(uses.uses, (Ids{k.reg("%rd2"), k.reg("%r3")}));
  at(2);
  EXPECT_EQ(uses.definitions, (Ids{k.reg("%p1"), k.reg("%p2")}));
  at(3);
  EXPECT_EQ(uses.uses, (Ids{k.reg("%r6"), k.reg("%r7")}));
}

TEST(RegisterUses, CallsUseArgumentsAndDefineResults) {
  const Module m =
      must_parse(module_text(".func (.reg .b32 r) f(.reg .b32 a) { mov.u32 r, a; ret; } .entry k() { .reg "
                             ".b32 %r<3>; call (%r1), f, (%r2); }"));
  const Function& f = function_of(m, "k");
  RegisterUses uses;
  register_uses(f, f.instructions[0], uses);
  ASSERT_EQ(uses.definitions.size(), 1u);
  EXPECT_EQ(f.registers[uses.definitions[0]].name, "%r1");
  EXPECT_EQ(f.registers[uses.uses.at(0)].name, "%r2");
}

TEST(Liveness, AroundALoop) {
  const Kernel k(
      "mov.u32 %r1, 10;\nmov.u32 %r2, 0;\nL: add.u32 %r2, %r2, %r1;\nmov.u32 %r3, 1;\nsub.u32 %r1, %r1, "
      "%r3;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra L;\nst.shared.u32 [s], %r2;");
  const Liveness live = liveness(*k.function, k.cfg);
  EXPECT_FALSE(live.live(0, k.reg("%r1")));
  EXPECT_TRUE(live.live(1, k.reg("%r1")));
  EXPECT_TRUE(live.live(1, k.reg("%r2")));
  EXPECT_FALSE(live.live(1, k.reg("%r3")));
  EXPECT_TRUE(live.live(2, k.reg("%r2")));
  EXPECT_FALSE(live.live(2, k.reg("%r1")));
}

TEST(Liveness, AGuardedDefinitionKeepsTheOldValueAlive) {
  const Kernel k("L: @%p1 mov.u32 %r1, 5;\nst.shared.u32 [s], %r1;\n@%p2 bra L;");
  const Liveness live = liveness(*k.function, k.cfg);
  EXPECT_TRUE(live.live(0, k.reg("%r1")));
  EXPECT_TRUE(live.live(0, k.reg("%p1")));
}

TEST(Liveness, AReturnReadsTheFormalsThatAreRegisters) {
  const Module m = must_parse(module_text(R"(.func (.reg .b32 %r, .reg .b32 %q) f(.reg .b32 %a)
{
  .reg .pred %p;
  setp.eq.u32 %p, %a, 0;
  mov.u32 %q, 1;
  @%p bra OTHER;
  mov.u32 %r, 10;
  bra DONE;
OTHER:
  mov.u32 %r, 20;
DONE:
  ret;
})"));
  const Function& f = function_of(m, "f");
  const Liveness live = liveness(f, build_cfg(f));
  const auto last = static_cast<BlockId>(f.blocks.size() - 1);
  ASSERT_EQ(f.return_registers.size(), 2u);
  for (const RegisterId r : f.return_registers) EXPECT_TRUE(live.live(last, r));
  EXPECT_FALSE(live.live(1, f.return_registers[0])) << "written before the return";
  EXPECT_TRUE(live.live(1, f.return_registers[1]));
}

// Nothing may be quadratic in registers or blocks.
TEST(Liveness, ManyRegisters) {
  std::string body = ".reg .b32 %x<47000>;\nmov.u32 %x0, 1;\n";
  for (int i = 1; i < 47000; ++i)
    body += fmt::format("add.s32 %x{}, %x{}, {};\n{}", i, i - 1, i, i % 100 == 0 ? "@%p1 bra END;\n" : "");
  body += "END: st.shared.u32 [s], %x0;";
  const Kernel k(body);
  const Liveness live = liveness(*k.function, k.cfg);
  EXPECT_TRUE(live.live(static_cast<BlockId>(k.function->blocks.size() - 1), k.reg("%x0")));
  EXPECT_GT(k.function->blocks.size(), 470u);
}

}  // namespace
}  // namespace raddle::ptx::test
