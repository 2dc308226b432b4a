// Messages for malformed PTX: line, column, the expected text.
#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

std::string body_error(std::string_view statement) { return errors_of(kernel_text(statement)); }

TEST(Errors, RegisterTypes) {
  EXPECT_EQ(body_error("add.s32 %r1, %f1, 1;"),
            "7:14: '%f1' of 'add.s32' must be a 32-bit integer or .b32 register, not a .f32 register; the "
            "form is: add.type d, a, b\n");
  EXPECT_NE(body_error("add.f32 %f1, %r1x, %f2;").find("'%r1x' is not declared"), std::string::npos);
  EXPECT_EQ(body_error("add.f32 %f1, %r1, %f2;"), "") << ".b32 registers hold anything of 32 bits";
  EXPECT_NE(
      body_error("add.s64 %rd1, %r1, 1;").find("a 64-bit integer or .b64 register, not a .b32 register"),
      std::string::npos);
  EXPECT_NE(body_error("mov.pred %p1, %r1;").find("must be a .pred register"), std::string::npos);
  EXPECT_NE(body_error("add.s32 %r1, %p1, 1;").find("not a .pred register"), std::string::npos);
  EXPECT_EQ(body_error("ld.global.u8 %rd1, [%rd1];"), "") << "ld, st and cvt take wider registers";
  EXPECT_NE(body_error("ld.global.f32 %fd1, [%rd1];").find("a .f32 or .b32 register (or wider)"),
            std::string::npos);
  EXPECT_NE(body_error("ld.global.u32 %rs1, [%rd1];"), "");
}

TEST(Errors, OperandCountsAndKinds) {
  EXPECT_EQ(body_error("add.s32 %r1, %r2;"),
            "7:1: 'add.s32' takes 3 operands, not 2; the form is: add.type d, a, b\n");
  EXPECT_EQ(body_error("ret %r1;"), "7:1: 'ret' takes 0 operands, not 1; the form is: ret{.uni}\n");
  EXPECT_NE(body_error("add.s32 5, %r2, 1;").find("'5' of 'add.s32' must be a register, not a constant"),
            std::string::npos);
  EXPECT_NE(body_error("ld.global.u32 %r1, %rd1;").find("must be an address in brackets, not a register"),
            std::string::npos);
  EXPECT_NE(body_error("add.s32 %r1, [%rd1], 1;").find("not a memory operand"), std::string::npos);
  EXPECT_NE(body_error("add.s32 %r1, %r2, 1.5;").find("a floating-point constant where an integer is needed"),
            std::string::npos);
  EXPECT_NE(
      body_error("add.f32 %f1, %f2, 1;").find("an integer constant where a floating-point one is needed"),
      std::string::npos);
  EXPECT_NE(body_error("ld.global.v2.u32 %r1, [%rd1];").find("a vector of 2 elements"), std::string::npos);
  EXPECT_NE(body_error("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];").find("not a vector of 3"),
            std::string::npos);
  EXPECT_NE(body_error("add.s32 {%r1, %r2}, %r2, 1;").find("must be one value, not a vector of 2"),
            std::string::npos);
  EXPECT_NE(body_error("mov.b64 %rd1, {%r1, %rs1};").find("must be a 32-bit register"), std::string::npos);
  EXPECT_NE(body_error("add.s32 %r1|%p1, %r2, 1;").find("'|%p1' is not part of 'add.s32'"),
            std::string::npos);
  EXPECT_NE(body_error("add.s32 %r1, !%r2, 1;").find("an operand without '!'"), std::string::npos);
  EXPECT_NE(body_error("mov.u32 %r1, %tid;").find("needs a component"), std::string::npos);
  EXPECT_NE(body_error("bra 5;").find("must be a label"), std::string::npos);
}

TEST(Errors, Addresses) {
  EXPECT_NE(
      body_error("ld.global.u32 %r1, [s];").find("accesses .global memory, but 's' is a .shared variable"),
      std::string::npos);
  EXPECT_NE(body_error("ld.global.u32 %r1, [%f1];").find("an address in a 32-bit or 64-bit integer register"),
            std::string::npos);
  EXPECT_EQ(body_error("ld.global.u32 %r1, [nowhere];"), "7:21: 'nowhere' is not declared\n");
  EXPECT_EQ(body_error("ld.global.u32 %r1, [%rd1;"), "7:25: expected ']' after an address, found ';'\n");
}

TEST(Errors, NamesAndScopes) {
  EXPECT_EQ(body_error(".reg .b32 x; .reg .b64 x;"), "7:24: 'x' is already declared in this scope\n");
  EXPECT_EQ(body_error(".reg .b32 %r<5>;"), "7:11: registers '%r<...>' are already declared in this scope\n");
  EXPECT_EQ(body_error("L: L: ret;"), "7:4: label 'L' is defined twice in this scope\n");
  EXPECT_EQ(body_error("bra elsewhere;"), "7:5: label 'elsewhere' is not defined in this function\n");
  EXPECT_EQ(body_error("@%r1 ret;"), "7:2: the guard '%r1' must be a .pred register\n");
  EXPECT_EQ(body_error("@nothing ret;"), "7:2: 'nothing' is not declared\n");
  EXPECT_EQ(body_error("add.s32 %r1, %r20, 1;"), "7:14: '%r20' is not declared\n") << "%r<20> ends at %r19";
  EXPECT_EQ(body_error("add.s32 %r1, %r01, 1;"), "7:14: '%r01' is not declared\n");
  EXPECT_EQ(errors_of(module_text(".func f() { L: ret; }\n.func g() { bra L; }")),
            "5:17: label 'L' is not defined in this function\n");
}

// proves: K-17g
TEST(Errors, ModifiersThatAnOpcodeDoesNotHaveAreUnknownInstructionsAndNoError) {
  const Module m = must_parse(kernel_text("add.sat.u32 %r1, %r2, %r3;\nret;"));
  const Function& f = function_of(m, "k");
  ASSERT_EQ(f.unsupported.size(), 1u);
  EXPECT_EQ(f.unsupported[0].what, "add.sat.u32");
  EXPECT_EQ(f.unsupported[0].first_line, 7u);
  EXPECT_TRUE(f.unsupported[0].unknown);
  EXPECT_NE(f.unsupported[0].reason.find("add"), std::string::npos);
}

TEST(Errors, Calls) {
  const auto call = [](std::string_view statement) {
    return errors_of(
        module_text(fmt::format(".func (.param .b32 r) f(.param .b32 a, .param .b64 b) {{ ret; }}\n.entry "
                                "k() {{ .param .b32 x; .param "
                                ".b64 y; .reg .b64 %rd<2>; .reg .b32 %r<3>;\n{}\n}}",
                                statement)));
  };
  EXPECT_EQ(call("call (x), f, (x, y);"), "");
  EXPECT_EQ(call("call (%r1), f, (%r2, 5);"), "");
  EXPECT_EQ(call("call (x), f, (x);"), "6:11: 'f' has 2 arguments, the call gives 1\n");
  EXPECT_EQ(call("call f, (x, y);"), "6:6: 'f' has 1 result, the call gives 0\n");
  EXPECT_EQ(call("call (x), f, (y, y);"),
            "6:11: argument 1 of the call does not fit 'f', which has a .b32 of 4 bytes there\n");
  EXPECT_EQ(call("call (x), nobody, (x);"), "6:11: function 'nobody' is not declared\n");
  EXPECT_EQ(call("call %rd1, (x);"),
            "6:6: an indirect call needs a prototype or a list of targets behind its arguments\n");
  EXPECT_EQ(call("call (_), %rd1, (x), P;"),
            "6:22: 'P' is neither a .callprototype nor a .calltargets list\n6:11: an indirect call needs a "
            "prototype or a list of targets "
            "behind its arguments\n");
  EXPECT_EQ(call("call k;"), "6:6: 'k' is a kernel and cannot be called\n");
}

TEST(Errors, FunctionHeaders) {
  const auto error = [](std::string_view text) { return errors_of(module_text(text)); };
  EXPECT_EQ(error(".entry k() { ret; } .entry k() { ret; }"), "4:28: 'k' is already defined in line 4\n");
  EXPECT_EQ(error(".func f(.param .b32 a); .func f(.param .b64 a) { ret; }"),
            "4:31: 'f' differs from its declaration in line 4\n");
  EXPECT_EQ(error(".entry k() .frobnicate 5 { ret; }"),
            "4:12: '.frobnicate' is no directive of a function\n");
  EXPECT_EQ(error(".entry k(.param .b32 a, .param .b32 a) { ret; }"), "4:8: two parameters are named 'a'\n");
  EXPECT_EQ(error(".global .u32 k; .entry k() { ret; }"), "4:24: 'k' is already the name of a variable\n");
  EXPECT_EQ(error(".entry k(.global .u32 a) { ret; }"),
            "4:23: expected .param or .reg in front of a parameter, found 'a'\n");
  EXPECT_EQ(error(".alias f, g;"), "4:8: 'f' is not a declared function\n");
  EXPECT_EQ(errors_of(".target sm_90 .entry k() { ret; }"), "1:1: the module does not say its '.version'\n");
  EXPECT_EQ(errors_of(".version nine .target sm_90"), "1:10: expected a version such as 9.0, found 'nine'\n");
}

TEST(Errors, OneMistakeHidesNoOther) {
  const std::string errors = errors_of(kernel_text("add.s32 %r1, %f1, 1;\nmov.u32 %r1, {%r2, %r3;\nadd.s32 "
                                                   "%r1, %r2, nope;\nld.global.u32 %r1, [%rd1];\nbra L;") +
                                       "\n.entry second() { bra M; }");
  for (const char* line : {"7:14: ", "8:", "9:19: ", "11:5: ", "14:23: "})
    EXPECT_NE(errors.find(line), std::string::npos) << line << "\n" << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 5) << errors;
}

TEST(Errors, TheFirstErrorIsTheResult) {
  const auto module = parse(kernel_text("add.s32 %r1, %f1, 1;\nbra L;"), "dir/file.ptx");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, ErrorCode::invalid);
  EXPECT_EQ(module.error().to_string().substr(0, 19), "dir/file.ptx:7:14: ");
}

TEST(Errors, TruncatedTextNamesWhatIsMissing) {
  EXPECT_EQ(errors_of(module_text(".entry k() { ret;")),
            "4:18: expected '}' to close the function's body, found the end of the text\n");
  EXPECT_NE(errors_of(module_text(".entry k(")).find("the end of the text"), std::string::npos);
  EXPECT_NE(errors_of(module_text("/* ...")).find("a comment that is never closed"), std::string::npos);
}

TEST(Errors, DeepNestingAndHugeNumbers) {
  std::string deep = module_text(".entry k() ");
  for (int i = 0; i < 100000; ++i) deep += "{";
  EXPECT_NE(errors_of(deep).find("nested too deeply"), std::string::npos);
  EXPECT_NE(errors_of(module_text(".entry k() { .reg .b32 %r<99999999999>; }")).find("a number of registers"),
            std::string::npos);
  EXPECT_NE(errors_of(module_text(".file 999999999999 \"x\"")).find("a file number"), std::string::npos);
  EXPECT_NE(errors_of(module_text(".entry k() { { .reg .b32 %r<4194304>; } { .reg .b32 %r<4194304>; } }"))
                .find("registers in one module"),
            std::string::npos);
}

TEST(Errors, ThereIsAnEndToTheirNumber) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "bra;\n";
  std::vector<Error> errors;
  EXPECT_FALSE(parse(kernel_text(text), "t", &errors).ok());
  EXPECT_LE(errors.size(), 200u);
}

}  // namespace
}  // namespace raddle::ptx::test
