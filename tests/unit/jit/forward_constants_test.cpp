// Copies of registers that hold constants (jit/forward_constants.h).
#include "jit/forward_constants.h"

#include <gtest/gtest.h>

#include <string>

#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// What the first function's second-to-last instruction, a mov, copies after `body`: a number, or nothing.
std::optional<std::int64_t> copied_after(const std::string& body,
                                         const std::string& copy = "mov.b32 %d, %r;") {
  auto module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
      ".reg .b32 %d, %r, %s; .reg .b64 %w; .reg .f32 %f; .reg .pred %p;\n" +
      body + copy + "\nret;\n}\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function& before = module->functions[0];
  const auto after = forward_constants(before);
  const ptx::Function& function = after ? *after : before;
  const ptx::Instruction& mov = function.instructions[function.instructions.size() - 2];
  const ptx::Operand& source = function.operands_of(mov)[1];
  if (source.kind == ptx::Operand::Kind::immediate) return source.value;
  EXPECT_EQ(source.kind, ptx::Operand::Kind::reg);
  return std::nullopt;
}

TEST(ForwardConstants, OfTheBlockAreCopied) {
  EXPECT_EQ(copied_after("mov.u32 %r, 7;\n"), 7);
  EXPECT_EQ(copied_after("mov.u32 %s, 7; mov.s32 %r, %s; mov.u32 %s, 1;\n"), 7);
  EXPECT_EQ(copied_after("mov.f32 %f, 0f3f800000; mov.b32 %r, %f;\n"), 0x3f800000);
}

TEST(ForwardConstants, NotWhenTheRegisterHasChanged) {
  EXPECT_EQ(copied_after("mov.u32 %r, 7; add.u32 %r, %r, 1;\n"), std::nullopt);
  EXPECT_EQ(copied_after("mov.u32 %r, 7; mov.u32 %r, %s;\n"), std::nullopt);
  EXPECT_EQ(copied_after("setp.eq.u32 %p, %s, 0; mov.u32 %r, 7; @%p mov.u32 %r, 8;\n"), std::nullopt);
  EXPECT_EQ(copied_after("mov.b64 %w, 5; mov.u32 %r, 7; mov.b64 {%r, %s}, %w;\n"), std::nullopt);
}

TEST(ForwardConstants, NotFromAnotherBlock) {
  EXPECT_EQ(copied_after("setp.eq.u32 %p, %s, 0; mov.u32 %r, 7; @%p bra L;\nL:\n"), std::nullopt);
  EXPECT_EQ(copied_after("mov.u32 %r, 7; setp.eq.u32 %p, %s, 0; @%p bra M;\nmov.u32 %r, 8;\nM:\n"),
            std::nullopt);
}

TEST(ForwardConstants, AGuardedCopyStaysOne) {
  EXPECT_EQ(copied_after("setp.eq.u32 %p, %s, 0; mov.u32 %r, 7;\n", "@%p mov.b32 %d, %r;"), std::nullopt);
}

}  // namespace
}  // namespace raddle::jit
