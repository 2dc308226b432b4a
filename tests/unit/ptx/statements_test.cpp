// Function bodies: operands, scopes, calls, lists, directives.
#include "ptx_test.h"
#include "unit/source_directory.h"

namespace raddle::ptx::test {
namespace {

Module parse_file(std::string_view name) {
  return must_parse(read_file(std::filesystem::path(source_directory()) / "tests/data/ptx" / name));
}

/// One statement, parsed and printed again.
std::string round(std::string_view statement) {
  const Module m = must_parse(kernel_text(statement));
  const Function* f = m.find_function("k");
  return f && !f->instructions.empty() ? print_instruction(m, *f, 0) : "nothing";
}

const Operand& operand(const Function& f, std::size_t instruction, std::size_t i) {
  return f.operands_of(f.instructions.at(instruction))[i];
}

// proves: K-17a
TEST(Statements, OperandForms) {
  EXPECT_EQ(round("add.s32 %r1, %r2, -5;"), "add.s32 %r1, %r2, -5;");
  EXPECT_EQ(round("add.u32 %r1, %r2, -1;"), "add.u32 %r1, %r2, 4294967295;");
  EXPECT_EQ(round("add.f32 %f1, %f2, 0f3F800000;"), "add.f32 %f1, %f2, 0f3f800000;");
  EXPECT_EQ(round("add.f32 %f1, %f2, 1.5;"), "add.f32 %f1, %f2, 0f3fc00000;");
  EXPECT_EQ(round("ld.global.u32 %r1, [%rd1];"), "ld.global.u32 %r1, [%rd1];");
  EXPECT_EQ(round("ld.global.u32 %r1, [%rd1+-8];"), "ld.global.u32 %r1, [%rd1+-8];");
  EXPECT_EQ(round("ld.global.u32 %r1, [%rd1 + 4*2];"), "ld.global.u32 %r1, [%rd1+8];");
  EXPECT_EQ(round("ld.global.u32 %r1, [g+4];"), "ld.global.u32 %r1, [g+4];");
  EXPECT_EQ(round("ld.shared.u32 %r1, [s[2]];"), "ld.shared.u32 %r1, [s+8];");
  EXPECT_EQ(round("ld.u32 %r1, [4096];"), "ld.u32 %r1, [4096];");
  EXPECT_EQ(round("mov.u64 %rd1, g;"), "mov.u64 %rd1, g;");
  EXPECT_EQ(round("mov.u32 %r1, s+4;"), "mov.u32 %r1, s+4;");
  EXPECT_EQ(round("mov.b64 {%r1, %r2}, %rd1;"), "mov.b64 {%r1, %r2}, %rd1;");
  EXPECT_EQ(round("mov.b64 {_, %r2}, %rd1;"), "mov.b64 {_, %r2}, %rd1;");
  EXPECT_EQ(round("ld.global.v2.u32 {%r1,%r2},[%rd1];"), "ld.global.v2.u32 {%r1, %r2}, [%rd1];");
  EXPECT_EQ(round("setp.eq.s32 %p1|%p2, %r1, 0;"), "setp.eq.s32 %p1|%p2, %r1, 0;");
  EXPECT_EQ(round("setp.eq.and.s32 %p1, %r1, 0, !%p3;"), "setp.eq.and.s32 %p1, %r1, 0, !%p3;");
  EXPECT_EQ(round("@!%p1 mov.u32 %r1, %tid.y;"), "@!%p1 mov.u32 %r1, %tid.y;");
  EXPECT_EQ(round("mov.u32 %r1, %envreg17;"), "mov.u32 %r1, %envreg17;");
  EXPECT_EQ(round("mov.u32 %r1, %pm3;"), "mov.u32 %r1, %pm3;");
  EXPECT_EQ(round("mov.u64 %rd1, %pm3_64;"), "mov.u64 %rd1, %pm3_64;");
  EXPECT_EQ(round("mov.u32 %r1, WARP_SZ;"), "mov.u32 %r1, 32;");
  EXPECT_EQ(round("mov .u32 %r1, 0x10;"), "mov.u32 %r1, 16;");
  EXPECT_EQ(round("mov.pred %p1, 7;"), "mov.pred %p1, 1;");
}

// proves: K-17a
TEST(Statements, OptionalOperandsFillFromTheLeft) {
  const Module m =
      must_parse(kernel_text("bar.red.popc.u32 %r1, 0, %p1; bar.red.popc.u32 %r1, 0, 64, !%p1; "
                             "shfl.sync.up.b32 %r1, %r2, 1, 0, -1;"));
  const Function& f = function_of(m, "k");
  EXPECT_EQ(operand(f, 0, 2).kind, Operand::Kind::none);
  EXPECT_EQ(operand(f, 0, 3).kind, Operand::Kind::reg);
  EXPECT_EQ(operand(f, 1, 2).value, 64);
  EXPECT_TRUE(operand(f, 1, 3).negated);
  EXPECT_EQ(operand(f, 2, 1).kind, Operand::Kind::none) << "the predicate of shfl was not written";
  EXPECT_EQ(operand(f, 2, 2).kind, Operand::Kind::reg);
}

TEST(Statements, ImmediatesHaveTheirOperandsType) {
  const Module m = must_parse(kernel_text(
      "mov.b16 %rs1, -1; mov.s16 %rs1, 0xffff; mov.f64 %fd1, 0f3f800000; shl.b64 %rd1, %rd2, 3;"));
  const Function& f = function_of(m, "k");
  EXPECT_EQ(operand(f, 0, 1).value, 0xffff);
  EXPECT_EQ(operand(f, 1, 1).value, -1);
  EXPECT_EQ(operand(f, 2, 1).value, 0x3ff0000000000000);
  EXPECT_EQ(operand(f, 3, 2).type, Type::u32);
}

// proves: K-17a
TEST(Statements, LinesAndColumns) {
  const Module m = must_parse(kernel_text("\n  add.s32 %r1, %r2, 1;\n\t@%p1\tmov.u32 %r1, 5;"));
  const Function& f = function_of(m, "k");
  EXPECT_EQ(f.instructions[0].line, kFirstBodyLine + 1);
  EXPECT_EQ(f.instructions[0].column, 3u);
  EXPECT_EQ(f.instructions[1].line, kFirstBodyLine + 2);
  EXPECT_EQ(f.instructions[1].column, 7u);
}

// proves: K-17a
TEST(Statements, RegistersExistFromTheirFirstUse) {
  const Module m =
      must_parse(module_text(".entry k() { .reg .b32 %r<47000>; .reg .b64 x, y; mov.u32 %r46999, 1; add.u32 "
                             "%r3, %r46999, %r46999; }"));
  const Function& f = function_of(m, "k");
  ASSERT_EQ(f.registers.size(), 4u);  // x, y, %r46999, %r3
  EXPECT_EQ(f.registers[2].name, "%r46999");
  EXPECT_EQ(f.registers[2].type, Type::b32);
}

// proves: K-17a, K-17f
TEST(Statements, ScopesShadowAndAreMadeUnique) {
  const Module m = parse_file("scopes.ptx");
  const Function& f = function_of(m, "scopes");
  std::vector<std::string> names;
  for (const Register& r : f.registers) names.push_back(r.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "two registers have one name";
  EXPECT_EQ(std::count(names.begin(), names.end(), "p"), 1);
  EXPECT_EQ(
      std::count_if(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("p$"); }), 1);
  std::vector<std::string> labels;
  for (const Block& b : f.blocks)
    if (!b.label.empty()) labels.push_back(b.label);
  EXPECT_EQ(labels.size(), 3u);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(std::adjacent_find(labels.begin(), labels.end()), labels.end());
  ASSERT_EQ(f.variables.size(), 4u) << "two param0, two retval0";
  EXPECT_NE(m.variables[f.variables[0]].name, m.variables[f.variables[2]].name);
}

// proves: K-17a
TEST(Statements, LabelsBelongToTheirScope) {
  const Module m = must_parse(
      kernel_text("{ @%p1 bra L; mov.u32 %r1, 1; L: }\n@%p2 bra L;\nmov.u32 %r1, 2;\nL: mov.u32 %r1, 3;"));
  const Function& f = function_of(m, "k");
  const auto target = [&](std::size_t i) {
    return f.blocks[f.operands_of(f.instructions[i])[0].index].begin;
  };
  EXPECT_EQ(target(0), 2u);
  EXPECT_EQ(target(2), 4u);
}

// proves: K-17a
TEST(Statements, AnInnerLabelMayBeUsedFromWithinOnly) {
  EXPECT_EQ(errors_of(kernel_text("{ L: mov.u32 %r1, 1; }\nbra L;")),
            "8:5: label 'L' is not defined in this function\n");
  EXPECT_EQ(errors_of(kernel_text("{ { bra L; } }\nL: mov.u32 %r1, 1;")), "")
      << "an outer label is seen from inside";
}

// proves: K-17a
TEST(Statements, InnerRegistersHideOuterOnes) {
  const Module m =
      must_parse(kernel_text("mov.u32 %r1, 1; { .reg .f32 %r<3>; mov.f32 %r1, 0f00000000; } mov.u32 %r1, 2; "
                             "{ .reg .f32 %r5; mov.f32 %r5, 0f00000000; } mov.u32 %r5, 3;"));
  const Function& f = function_of(m, "k");
  EXPECT_EQ(operand(f, 0, 0).index, operand(f, 2, 0).index);
  EXPECT_NE(operand(f, 0, 0).index, operand(f, 1, 0).index);
  EXPECT_EQ(f.registers[operand(f, 3, 0).index].type, Type::f32);
  EXPECT_EQ(f.registers[operand(f, 4, 0).index].type, Type::b32);
}

// proves: K-17a
TEST(Statements, Calls) {
  const Module m = parse_file("control.ptx");
  const Function& f = function_of(m, "control");
  ASSERT_EQ(f.calls.size(), 3u);
  EXPECT_EQ(m.functions[f.calls[0].callee.index].name, "plus");
  ASSERT_EQ(f.calls[0].returns.size(), 1u);
  ASSERT_EQ(f.calls[0].arguments.size(), 2u);
  EXPECT_EQ(f.calls[0].arguments[1].value, 4);
  EXPECT_EQ(f.calls[0].arguments[1].type, Type::u32);
  EXPECT_EQ(f.calls[1].callee.kind, Operand::Kind::reg);
  EXPECT_EQ(f.calls[1].prototype, 0u);
  EXPECT_EQ(f.prototypes[0].parameters.size(), 1u);
  ASSERT_EQ(f.calls[2].targets.size(), 2u);
  EXPECT_EQ(m.functions[f.calls[2].targets[1]].name, "callee_b");
}

// proves: K-17a
TEST(Statements, RegisterFormals) {
  const Module m = parse_file("control.ptx");
  const Function& f = function_of(m, "plus");
  ASSERT_EQ(f.parameters.size(), 2u);
  const Variable& a = m.variables[f.parameters[0]];
  EXPECT_EQ(a.space, Space::reg);
  EXPECT_EQ(f.registers[a.offset].name, "a");
  EXPECT_EQ(f.registers[m.variables[f.returns[0]].offset].name, "sum");
}

// proves: K-17a
TEST(Statements, BranchTables) {
  const Module m = parse_file("control.ptx");
  const Function& f = function_of(m, "control");
  ASSERT_EQ(f.branch_targets.size(), 1u);
  ASSERT_EQ(f.branch_targets[0].size(), 3u);
  EXPECT_EQ(f.blocks[f.branch_targets[0][0]].label, "ZERO");
  EXPECT_EQ(f.blocks[f.branch_targets[0][2]].label, "LAST");
  const auto brx = std::find_if(f.instructions.begin(), f.instructions.end(),
                                [](const Instruction& i) { return i.opcode->text == "brx.idx"; });
  ASSERT_NE(brx, f.instructions.end());
  EXPECT_EQ(brx->extra, 0u);
}

// proves: K-17a
TEST(Statements, FunctionDirectives) {
  const Module m = parse_file("control.ptx");
  const PerformanceDirectives& d = function_of(m, "control").directives;
  EXPECT_EQ(d.reqntid[0], 64u);
  EXPECT_EQ(d.reqntid[1], 1u);
  EXPECT_EQ(d.reqnctapercluster[0], 2u);
  EXPECT_TRUE(d.explicitcluster);
  EXPECT_EQ(d.maxnreg, 128u);
  EXPECT_EQ(function_of(m, "clusters").directives.maxclusterrank, 8u);
  EXPECT_TRUE(function_of(m, "pick").directives.noreturn);
  EXPECT_TRUE(function_of(m, "pick").is_declaration);
  EXPECT_EQ(m.functions[function_of(m, "renamed").alias_of].name, "callee_c");
  EXPECT_EQ(function_of(m, "callee_a").linkage, Linkage::weak);
}

// proves: K-17a
TEST(Statements, NounrollMarksItsBlock) {
  const Module m = parse_file("control.ptx");
  for (const Block& b : function_of(m, "control").blocks) EXPECT_EQ(b.no_unroll, b.label == "ONE") << b.label;
}

// proves: K-17e
TEST(Statements, LocationsAndInlining) {
  const Module m = parse_file("debug.ptx");
  const Function& f = function_of(m, "debug");
  ASSERT_EQ(f.instructions.size(), 4u);
  const Location& inlined = m.locations[f.instructions[1].location];
  EXPECT_EQ(inlined.file, 2u);
  EXPECT_EQ(inlined.line, 3u);
  EXPECT_EQ(inlined.function, "helper_two");
  ASSERT_NE(inlined.inlined_at, kNone);
  EXPECT_EQ(m.locations[inlined.inlined_at].line, 12u);
  EXPECT_EQ(m.locations[inlined.inlined_at].column, 9u);
  EXPECT_EQ(m.locations[f.instructions[2].location].function, "_two");
  EXPECT_EQ(m.files[2], "/src/helper.h");
  EXPECT_EQ(f.blocks.size(), 1u) << "labels of debug information cut nothing";
}

// proves: K-17g
TEST(Statements, UnsupportedIsMergedAndKeepsOthersUsable) {
  const std::string text = module_text(
      ".entry a() { .reg .b32 %r<4>; frobnicate.u32 %r1, {%r2, %r3};\n frobnicate.u32 %r1, %r1; "
      "add.newmode.u32 %r1, %r1, 1; ret; }\n"
      ".entry b() { ret; }");
  const Module m = must_parse(text);
  const Function& a = function_of(m, "a");
  ASSERT_EQ(a.unsupported.size(), 2u);
  EXPECT_EQ(a.unsupported[0].what, "frobnicate.u32");
  EXPECT_EQ(a.unsupported[0].count, 2u);
  EXPECT_EQ(a.unsupported[0].first_line, 4u);
  EXPECT_TRUE(a.unsupported[0].unknown);
  EXPECT_EQ(a.unsupported[1].what, "add.newmode.u32");
  EXPECT_EQ(a.instructions.size(), 1u) << "only ret is left";
  EXPECT_TRUE(function_of(m, "b").unsupported.empty());
}

// proves: K-17a
TEST(Statements, TextWithoutLineBreaksAndWithNuls) {
  std::string text =
      ".version 9.0 .target sm_50 .address_size 64 .entry k(.param .u64 p){.reg .b64 %rd<2>;ld.param.u64 "
      "%rd1,[p];ret;}";
  text.append(100, '\0');
  EXPECT_EQ(function_of(must_parse(text), "k").instructions.size(), 2u);
}

// proves: K-17a
TEST(Statements, VectorRegisters) {
  const Module m =
      must_parse(kernel_text(".reg .v4 .f32 v; .reg .v2 .u32 w<3>; ld.global.v4.f32 v, [%rd1]; add.f32 %f1, "
                             "v.x, v.a; mov.u32 %r1, w2.y;"));
  const Function& f = function_of(m, "k");
  EXPECT_EQ(operand(f, 0, 0).count, 4u);
  EXPECT_EQ(f.elements_of(operand(f, 0, 0))[0].index, operand(f, 1, 1).index);
  EXPECT_EQ(f.elements_of(operand(f, 0, 0))[3].index, operand(f, 1, 2).index);
  EXPECT_EQ(f.registers[operand(f, 2, 1).index].type, Type::u32);
}

// From the first releases of nvcc to today's compilers.
// proves: K-17a, K-17b, K-17c, K-17d
TEST(Statements, EveryVersionAndTarget) {
  for (const char* version : {"1.0", "1.4", "2.3", "3.0", "3.2", "4.3", "5.0", "6.0", "6.5", "7.0", "7.8",
                              "8.0", "8.8", "9.0", "9.4"})
    for (const char* target : {"sm_10", "sm_13", "sm_20", "sm_35", "sm_52", "sm_61", "sm_70", "sm_75",
                               "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
      const Module module = must_parse(fmt::format(
          ".version {} .target {} .address_size 64 .entry k() {{ .loc 1 2 3 exit; }}", version, target));
      EXPECT_EQ(fmt::format("{}.{}", module.version / 10, module.version % 10), version);
      EXPECT_EQ(module.target, target);
    }
}

}  // namespace
}  // namespace raddle::ptx::test
