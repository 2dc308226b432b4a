// print(parse(x)) parses to the same program and prints the same again.
#include "ptx_test.h"
#include "unit/source_directory.h"

namespace raddle::ptx::test {
namespace {

/// The contents of a program without positions and made-up names.
std::string shape(const Module& m) {
  std::string out;
  for (const Function& f : m.functions) {
    out += fmt::format("{} {} {} {} {}:", f.name, f.instructions.size(), f.blocks.size(), f.registers.size(),
                       f.parameter_bytes);
    for (const Instruction& i : f.instructions) out += i.opcode->text + " ";
    out += "\n";
  }
  return out;
}

// proves: K-17a
TEST(Printer, FixpointOnEveryInput) {
  ASSERT_GE(input_files().size(), 5u);
  for (const auto& path : input_files()) {
    const Module first = must_parse(read_file(path));
    const std::string once = print(first);
    const Module second = must_parse(once);
    EXPECT_EQ(print(second), once) << path;
    EXPECT_EQ(first.functions.size(), second.functions.size()) << path;
    for (const Function& f : first.functions) {
      const Function* again = second.find_function(f.name);
      ASSERT_NE(again, nullptr) << f.name;
      EXPECT_EQ(again->instructions.size(), f.instructions.size()) << f.name;
      EXPECT_EQ(again->blocks.size(), f.blocks.size()) << f.name;
      EXPECT_EQ(again->registers.size(), f.registers.size()) << f.name;
      EXPECT_EQ(again->local_bytes, f.local_bytes);
    }
  }
}

// proves: K-17a
TEST(Printer, InitialisersSurvive) {
  const Module first =
      must_parse(read_file(std::filesystem::path(source_directory()) / "tests/data/ptx/variables.ptx"));
  const Module second = must_parse(print(first));
  for (const Variable& v : first.variables) {
    if (v.function != kNone) continue;
    const Variable* again = second.find_variable(v.name);
    ASSERT_NE(again, nullptr) << v.name;
    EXPECT_EQ(again->size, v.size) << v.name;
    EXPECT_EQ(again->align, v.align) << v.name;
    EXPECT_EQ(again->initial, v.initial) << v.name;
    ASSERT_EQ(again->relocations.size(), v.relocations.size()) << v.name;
    for (std::size_t i = 0; i < v.relocations.size(); ++i) {
      EXPECT_EQ(again->relocations[i].offset, v.relocations[i].offset);
      EXPECT_EQ(again->relocations[i].addend, v.relocations[i].addend);
      EXPECT_EQ(again->relocations[i].mask_shift, v.relocations[i].mask_shift);
      EXPECT_EQ(again->relocations[i].generic, v.relocations[i].generic);
    }
  }
}

TEST(Printer, NamesHiddenInAScopeStayApart) {
  // `g` inside the braces is a register; behind them the module's variable again.
  const std::string text = kernel_text("{ .reg .b32 g; mov.u32 g, 1; }\nmov.u64 %rd1, g;");
  const Module once = must_parse(text);
  const Module twice = must_parse(print(once));
  EXPECT_EQ(shape(once), shape(twice));
  EXPECT_EQ(print_instruction(twice, function_of(twice, "k"), 1), "mov.u64 %rd1, g;");
}

TEST(Printer, BracketsHoldWhatTheyHeld) {
  for (const char* text : {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p1, [%rd1, {%f1, %f2}], {%r1, 1};",
                           "tex.level.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}], %r2;",
                           "sust.b.a1d.b32.zero [%rd1, {%r1, 4}], %r2;", "txq.width.b32 %r1, [%rd1];"}) {
    const Module once = must_parse(kernel_text(text));
    EXPECT_EQ(print_instruction(once, function_of(once, "k"), 0), text);
    EXPECT_EQ(shape(must_parse(print(once))), shape(once)) << text;
  }
}

}  // namespace
}  // namespace raddle::ptx::test
