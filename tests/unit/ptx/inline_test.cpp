// Calls replaced by bodies. That the result does the same, the waiting kernels of tests/kernels say.
#include "ptx/inline.h"

#include "isa/op.h"
#include "ptx/cfg.h"
#include "ptx/waits.h"
#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

bool has_waiting_loop(const Module& m, FunctionId id) {
  const Function& f = m.functions[id];
  return Waits(m, f, build_cfg(f)).any();
}

bool inlined(Module& m, std::string_view kernel = "k") {
  return inline_calls(m, id_of(m, kernel), [&](FunctionId id) { return has_waiting_loop(m, id); });
}

std::size_t calls_in(const Function& f) {
  return static_cast<std::size_t>(std::count_if(f.instructions.begin(), f.instructions.end(),
                                                [](const Instruction& i) { return i.op() == Op::call; }));
}

constexpr const char* kWait =
    ".func wait(.param .b64 a) { .reg .b64 %a; .reg .b32 %v; .reg .pred %p; .local .b32 kept;\n"
    "ld.param.u64 %a, [a];\nL: ld.volatile.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra L; ret; }\n";

TEST(Inline, WhatIsWantedBecomesPartOfItsCallers) {
  Module m = must_parse(module_text(
      std::string(kWait) +
      ".func plain() { ret; }\n"
      ".func outer(.param .b64 a) { .param .b64 b; .reg .b64 %a; ld.param.u64 %a, [a]; st.param.b64 [b], %a; "
      "call wait, (b); ret; }\n"
      ".entry k() { .param .b64 x; .reg .pred %p; .local .b64 own; @%p call outer, (x); call wait, (x); call "
      "plain; ret; }"));
  const FunctionId k = id_of(m, "k");
  EXPECT_FALSE(has_waiting_loop(m, k));
  EXPECT_TRUE(inlined(m));
  EXPECT_TRUE(has_waiting_loop(m, k));
  EXPECT_EQ(calls_in(m.functions[k]), 1u) << "the one that does not wait";
  EXPECT_EQ(m.functions[k].local_bytes, 36u) << "a frame behind each other";
  for (const Block& b : m.functions[k].blocks)
    for (std::uint32_t i = b.begin; i < b.end; ++i)
      EXPECT_TRUE(i + 1 == b.end || m.functions[k].instructions[i].op() != Op::bra);
}

TEST(Inline, RecursionAndPointersStay) {
  Module recursive = must_parse(
      module_text(".func wait(.param .b64 a) { .param .b64 b; .reg .b64 %a; .reg .b32 %v; .reg .pred %p;\n"
                  "L: ld.volatile.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra L; call wait, (b); ret; }\n"
                  ".entry k() { .param .b64 x; call wait, (x); ret; }"));
  EXPECT_FALSE(inlined(recursive));
  Module pointer = must_parse(module_text(
      std::string(kWait) +
      ".entry k() { .param .b64 x; .reg .b64 %f; mov.u64 %f, wait; P: .callprototype _ (.param .b64 _); call "
      "%f, (x), P; ret; }"));
  EXPECT_FALSE(inlined(pointer));
}

}  // namespace
}  // namespace raddle::ptx::test
