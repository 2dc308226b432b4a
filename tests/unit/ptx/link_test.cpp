// Linking: which definition a name gets, what stays a module's own, and what cannot be linked.
#include "ptx/link.h"

#include <cstring>

#include "ptx/signature.h"
#include "ptx_test.h"

namespace raddle::ptx::test {
namespace {

Module part(const std::string& name, std::string_view text) {
  auto module = parse(module_text(text), name);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().to_string());
  return module.ok() ? std::move(*module) : Module{};
}

template <class... Parts>
std::vector<Module> list(Parts... parts) {
  std::vector<Module> out;
  (out.push_back(std::move(parts)), ...);
  return out;
}

Module must_link(std::vector<Module> modules, std::vector<Module> library = {}) {
  auto linked = link(std::move(modules), std::move(library), "linked");
  EXPECT_TRUE(linked.ok()) << (linked.ok() ? "" : linked.error().message);
  return linked.ok() ? std::move(*linked) : Module{};
}

std::string error_of(std::vector<Module> modules) {
  auto linked = link(std::move(modules), {}, "linked");
  EXPECT_FALSE(linked.ok());
  return linked.ok() ? "" : linked.error().message;
}

constexpr const char* kCaller = R"(
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .align 4 .u32 counter;
.extern .const .align 4 .b8 table[];
.func helper() { ret; }
.visible .global .align 8 .u64 where = generic(counter);
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<3>;
  .param .b32 x; .param .b32 r;
  call helper;
  ld.global.u32 %r0, [counter];
  ld.const.u32 %r1, [table+4];
  st.param.b32 [x], %r1;
  call (r), twice, (x);
  ret;
}
)";
constexpr const char* kCallee = R"(
.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .u32 table[2] = {1, 2};
.global .align 4 .u32 where = 3;
.func helper() { .reg .b32 %r; ld.global.u32 %r, [where]; ret; }
.visible .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r;
  call helper;
  ld.param.u32 %r, [x];
  add.u32 %r, %r, %r;
  st.param.b32 [r], %r;
  ret;
}
)";

// proves: K-18e
TEST(Link, BindsWhatOneModuleDeclaresToWhatAnotherDefines) {
  const Module m = must_link(list(part("a.ptx", kCaller), part("b.ptx", kCallee)));
  const Function& k = function_of(m, "k");
  ASSERT_EQ(k.calls.size(), 2u);
  const Function& twice = m.functions.at(k.calls[1].callee.index);
  EXPECT_EQ(twice.name, "twice");
  EXPECT_FALSE(twice.is_declaration);
  EXPECT_EQ(m.find_variable("counter")->linkage, Linkage::visible);
  EXPECT_EQ(m.variables.at(k.operands_of(k.instructions[1])[1].index).name, "counter");
  EXPECT_EQ(m.variables.at(m.find_variable("where")->relocations.at(0).index).name, "counter");
  EXPECT_EQ(m.variables.at(twice.parameters.at(0)).function, k.calls[1].callee.index);
  EXPECT_TRUE(analyze(m, static_cast<FunctionId>(&k - m.functions.data())).unresolved.empty());
}

TEST(Link, KeepsAModulesOwnNamesApart) {
  const Module m = must_link(list(part("a.ptx", kCaller), part("b.ptx", kCallee)));
  const Function& k = function_of(m, "k");
  const Function& twice = function_of(m, "twice");
  EXPECT_EQ(m.functions.at(k.calls[0].callee.index).name, "helper");
  const Function& own = m.functions.at(twice.calls[0].callee.index);
  EXPECT_EQ(own.name, "helper$2");
  EXPECT_EQ(m.variables.at(own.operands_of(own.instructions[0])[1].index).name, "where$2");
  const std::string once = print(m);
  EXPECT_EQ(print(must_parse(once)), once);
}

TEST(Link, CountsLinesThroughAllParts) {
  const Module m = must_link(list(part("a.ptx", kCaller), part("b.ptx", kCallee)));
  const Function& twice = function_of(m, "twice");
  EXPECT_EQ(line_name(m, twice.line), "b.ptx:9");
  EXPECT_EQ(line_name(m, function_of(m, "k").line), "a.ptx:10");
  EXPECT_EQ(line_name(part("c.ptx", kCallee), 8), "8");
}

TEST(Link, AStrongDefinitionReplacesWeakAndCommonOnes) {
  const Module m = must_link(list(part("a.ptx",
                                       ".weak .func f() { ret; }\n.common .global .b8 c[4];"
                                       ".weak .global .u32 w = 1;"),
                                  part("b.ptx",
                                       ".visible .func f() { .reg .b32 %r; mov.u32 %r, 1; ret; }\n"
                                       ".common .global .b8 c[16]; .weak .global .u32 w = 2;"),
                                  part("c.ptx",
                                       ".weak .func f() { ret; }\n.extern .global .b8 c[4];"
                                       ".visible .global .u32 w = 3;")));
  EXPECT_EQ(function_of(m, "f").instructions.size(), 2u);
  EXPECT_EQ(m.functions.size(), 1u);
  EXPECT_EQ(m.find_variable("c")->size, 16u);
  std::uint32_t value = 0;
  std::memcpy(&value, m.find_variable("w")->initial.data(), sizeof value);
  EXPECT_EQ(value, 3u);
  EXPECT_EQ(m.variables.size(), 2u);
}

TEST(Link, ConstantsLieBehindEachOther) {
  const Module m = must_link(list(part("a.ptx", ".visible .const .u32 a = 1;"),
                                  part("b.ptx", ".visible .const .align 8 .u64 b = 2;")));
  EXPECT_EQ(m.find_variable("a")->offset, 0u);
  EXPECT_EQ(m.find_variable("b")->offset, 8u);
}

TEST(Link, PositionsInSourcesMove) {
  constexpr const char* kLines = ".visible .func %s() { .loc 1 %d 0\n ret; }\n.file 1 \"%s.cu\"\n";
  char first[200], second[200];
  std::snprintf(first, sizeof first, kLines, "f", 5, "f");
  std::snprintf(second, sizeof second, kLines, "g", 6, "g");
  const Module m = must_link(list(part("a.ptx", first), part("b.ptx", second)));
  const Location& of_g = m.locations.at(function_of(m, "g").instructions.at(0).location);
  EXPECT_EQ(of_g.line, 6u);
  EXPECT_EQ(m.files.at(of_g.file), "g.cu");
}

TEST(Link, TakesOfALibraryWhatIsNeeded) {
  const auto library = [] {
    return list(
        part("unused.ptx", ".visible .func unused() { ret; }"),
        part("deep.ptx", ".visible .func deep() { ret; }"),
        part("f.ptx", ".extern .func deep(); .visible .func f() { call deep; ret; }"),
        part("printf.ptx", ".visible .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a) { ret; }"));
  };
  const Module m = must_link(
      list(part("a.ptx",
                ".extern .func f(); .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"
                ".visible .entry k() { call f; ret; }")),
      library());
  EXPECT_EQ(m.find_function("unused"), nullptr);
  EXPECT_FALSE(function_of(m, "deep").is_declaration);
  EXPECT_TRUE(function_of(m, "vprintf").is_declaration) << "the machine's own, not the library's";
}

TEST(Link, UndefinedFunctionsAreNamedOfTheKernelsThatCallThem) {
  const Module m =
      must_link(list(part("a.ptx", ".extern .func nowhere(); .visible .entry k() { call nowhere; ret; }"),
                     part("b.ptx", ".extern .func nowhere(); .visible .entry other() { ret; }")));
  const auto id = [&](const char* name) {
    return static_cast<FunctionId>(&function_of(m, name) - m.functions.data());
  };
  EXPECT_EQ(analyze(m, id("k")).unresolved, std::vector<std::string>{"nowhere"});
  EXPECT_TRUE(analyze(m, id("other")).unresolved.empty());
}

/// Numba declares every function of C with a result, and ignores that of those without.
TEST(Link, ResultsThatOneSideDoesNotHaveAreNobodys) {
  const Module m = must_link(list(part("a.ptx", R"(
.extern .func (.param .b64 r) without(.param .b32 x);
.extern .func with(.param .b32 x);
.visible .entry k() {
  .param .b32 x; .param .b64 r;
  st.param.b32 [x], 3;
  call (r), without, (x);
  call with, (x);
  ret;
}
)"),
                                  part("b.ptx", R"(
.visible .func without(.param .b32 x) { ret; }
.visible .func (.param .b32 r) with(.param .b32 x) { st.param.b32 [r], 1; ret; }
)")));
  for (const Function& f : m.functions)
    for (const Call& call : f.calls)
      EXPECT_TRUE(signature_fits(m, f, call, m.functions[call.callee.index]))
          << m.functions[call.callee.index].name;
  EXPECT_NE(error_of(list(part("a.ptx", ".extern .func (.param .b64 r) f();"),
                          part("b.ptx", ".visible .func (.param .b32 r) f() { st.param.b32 [r], 1; ret; }")))
                .find("'f' has another result"),
            std::string::npos);
}

TEST(Link, WhatCannotBeLinkedIsListed) {
  const std::string text = error_of(
      list(part("a.ptx",
                ".visible .func f() { ret; }\n.visible .global .u32 v; .extern .global .u32 w;"
                ".extern .func g(.param .b32 x); .visible .entry k() { ret; } .visible .func n() { ret; }"),
           part("b.ptx",
                ".visible .func f() { ret; }\n.visible .global .u32 v; .visible .global .u64 w;"
                ".visible .func g(.param .b64 x) { ret; } .entry k() { ret; } .visible .global .u32 n;")));
  for (const char* line :
       {"'f' is defined in a.ptx and in b.ptx", "'v' is defined in a.ptx and in b.ptx",
        "'k' is defined in a.ptx and in b.ptx", "'w' has another size in b.ptx than in a.ptx",
        "'g' has other parameters in b.ptx than in a.ptx", "'n' has another kind in b.ptx than in a.ptx"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  EXPECT_NE(error_of(list(part("a.ptx", ".extern .global .u32 v;"), part("b.ptx", ".visible .const .u32 v;")))
                .find("'v' has another state space"),
            std::string::npos);
  EXPECT_NE(error_of({}).find("nothing to link"), std::string::npos);
}

}  // namespace
}  // namespace raddle::ptx::test
