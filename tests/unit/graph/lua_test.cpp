// Graph programs in Lua: both forms, values of the device, errors with lines, limits.
#include <cstdio>
#include <fstream>

#include "graph/lua/control_flow.h"
#include "graph_test.h"

namespace raddle::graph {
namespace {

struct Lua : testing::Test {
  Device device = open_device();
  Executor executor = Executor::open(device).value();
  LuaOptions options;
  std::vector<std::string> lines;

  Lua() {
    options.directory = testing::TempDir();
    options.output = [this](std::string_view line) { lines.emplace_back(line); };
    std::ofstream(options.directory + "raddle_lua_test.ptx") << kScale;
    for (const char* name : {"draw1", "draw2", "draw3"})
      options.commands.add(name, [name](const Arguments&) -> Result<Command> {
        return Command(Draw{name, [](Recorder&) -> Result<void> { return {}; }});
      });
  }
  Result<LuaReport> run(const std::string& text) { return run_lua(executor, text, "prog.lua", options); }
  std::vector<std::string> passes(const std::string& text) {
    const auto report = run(text);
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    std::vector<std::string> names;
    if (report.ok())
      for (const auto& graph : report->graphs)
        for (const PassInfo& pass : graph->passes()) names.push_back(pass.name);
    return names;
  }
  void expect_error(const std::string& text, unsigned line, const std::string& message) {
    const auto report = run(text);
    ASSERT_FALSE(report.ok()) << text;
    EXPECT_EQ(report.error().where.file, "prog.lua");
    EXPECT_EQ(report.error().where.line, line) << report.error().to_string();
    EXPECT_NE(report.error().message.find(message), std::string::npos) << report.error().to_string();
  }
};

using Names = std::vector<std::string>;

constexpr const char* kFirst = R"(
local R1, R2, R3 = buffer("R1", 64, "input"), buffer("R2", 64), buffer("R3", 64, "output")
local passA = pass{name="passA", reads={"r1"}, writes={"r2"}, commands=function(p) p:draw1() end}
local passB = pass{name="passB", reads={"r2"}, writes={"r3"}, commands=function(p) p:draw2():draw3() end}
passA{r1=R1, r2=R2}
if param("a", 0) == 1 then passB{r2=R2, r3=R3} end
if param("b", 0) == 1 then passB{r2=R2, r3=R3} end
)";

// proves: G-3d, G-3f, G-6a, G-6b, G-6c
TEST_F(Lua, FirstWorkedExample) {
  EXPECT_EQ(passes(kFirst), (Names{"passA"}));
  options.parameters = {{"a", "1"}};
  EXPECT_EQ(passes(kFirst), (Names{"passA", "passB"}));
  options.parameters = {{"b", "1"}};
  EXPECT_EQ(passes(kFirst), (Names{"passA", "passB"}));
  options.parameters = {{"a", "1"}, {"b", "1"}};
  EXPECT_EQ(passes(kFirst), (Names{"passA", "passB", "passB"}));
}

constexpr const char* kSecond = R"(
local R1, R2, R3, R5 = buffer("R1", 64, "input"), buffer("R2", 64, "output"), buffer("R3", 64, "output"), buffer("R5", 64)
blocks(param("blocks") or 1)
set_resources({R1}, {R2})
draw1()
if param("b", 0) == 1 then
  set_resources({R2}, {R5})
  draw2()
  set_resources({R5}, {R3})
  draw3()
end
)";

// proves: G-5c, G-5d, G-6d, G-6e
TEST_F(Lua, SecondWorkedExample) {
  EXPECT_EQ(passes(kSecond), (Names{"draw1"}));
  options.parameters = {{"b", "1"}};
  EXPECT_EQ(passes(kSecond), (Names{"draw1", "draw2", "draw3"}));
  options.parameters["blocks"] = "any";  // cut by control flow alone
  EXPECT_EQ(passes(kSecond), (Names{"draw1", "draw2+draw3"}));
}

// proves: G-5a, G-5c
TEST_F(Lua, ControlFlowCutsStreams) {
  EXPECT_EQ(passes(R"(
blocks("any")
local r = buffer("r", 64, "in_out")
local function two() set_resources({r}, {r}) draw2() draw2() end
set_resources({r}, {r}) draw1()
for i = 1, 2 do set_resources({r}, {r}) draw1() draw3() end
two()
set_resources({r}, {r}) draw1()
local i = 0
repeat i = i + 1 set_resources({r}, {r}) draw3() until i == 2
set_resources({r}, {r}) draw1()
while i < 4 do i = i + 1 set_resources({r}, {r}) draw2() end
)"),
            (Names{"draw1", "draw1+draw3", "draw1+draw3", "draw2+draw2", "draw1", "draw3", "draw3", "draw1",
                   "draw2", "draw2"}));
}

TEST_F(Lua, WhereControlFlowIsMarked) {
  EXPECT_EQ(with_control_flow("if a then b() end"), "if a then __flow();  b() end __flow(); ");
  EXPECT_EQ(with_control_flow("f(function(x) return x end)"), "f(function(x) __flow();  return x end)");
  EXPECT_EQ(with_control_flow("s = 'if then' -- do end\nt = [[ do ]]"),
            "s = 'if then' -- do end\nt = [[ do ]]");
  EXPECT_EQ(with_control_flow("while t[(function() return 1 end)()] do end"),
            "while t[(function() __flow();  return 1 end)()] do __flow();  end __flow(); ");
  EXPECT_EQ(with_control_flow("repeat return x until y"), "repeat __flow();  return x until y");
  EXPECT_EQ(with_control_flow("t.end_ = t.then_ --[==[ do ]==] do"),
            "t.end_ = t.then_ --[==[ do ]==] do __flow(); ");
}

// proves: G-3b, G-3c, G-4d, G-4e, G-4f, G-2a
TEST_F(Lua, LoopsAndKernels) {
  const auto report = run(R"(
local scale = kernel("raddle_lua_test.ptx", "scale")
local step = pass{name="step", reads={"from"}, writes={"to"}, state={factor=1},
  commands=function(p, a) p:dispatch{kernel=scale, grid=1, block=4, args={a.to, a.from, a.factor}} end}
local n = param("n", 3)
local from = buffer("in", 16, "in_out")
local out = buffer("out", 16, "output")
write(from, "u32", {0, 1, 2, 3})
for i = 1, n do
  local to = i == n and out or buffer("t" .. i, 16)
  step{from=from, to=to, factor=i}
  from = to
end
execute()
print(read(out, "u32", 0), read(out, "u32", 3))
)");
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(report->runs[0].schedule->nodes.size(), 3u);
  EXPECT_EQ(lines, (Names{"10\t28"}));
}

// proves: G-3a, G-3e
TEST_F(Lua, ValuesOfTheDeviceDecide) {
  const auto report = run(R"(
local scale = kernel("raddle_lua_test.ptx", "scale")
local state = buffer("state", 16, "temporal")
local runs = 0
while read(state, "u32", 0) < 20 do
  set_state{kernel=scale, grid=1, block=4}
  set_resources({previous(state)}, {state})
  dispatch{args={state, previous(state), 2}}
  execute()
  runs = runs + 1
end
print(runs, read(state, "u32", 1))
)");
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(lines, (Names{"5\t31"}));
  EXPECT_EQ(report->runs.size(), 5u);
}

// proves: G-20a, G-20b
TEST_F(Lua, BodiesInACompiledLanguage) {
  int calls = 0;
  options.bodies["fill"] = [&](Recorder& recorder, const Arguments& with) -> Result<void> {
    ++calls;
    TRY_ASSIGN(const View to, with.view("to"));
    TRY_ASSIGN(const std::int64_t value, with.whole("value"));
    TRY_ASSIGN(const DevicePtr address, recorder.address(to));
    return recorder.fill(
        {.to = address, .word = static_cast<std::uint64_t>(value), .word_bytes = 4, .width = 4});
  };
  const auto report = run(R"(
local out = buffer("out", 16, "output")
pass{name="native", writes={"to"}, state={value=0}, body="fill"}{to=out, value=7}
print("built")
execute()
print(read(out, "u32", 2))
)");
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(lines, (Names{"built", "7"}));
  EXPECT_EQ(calls, 1);
  expect_error("pass{name='x', body='none'}", 1, "no body is called 'none'");
}

// proves: G-20c
TEST_F(Lua, CommandStreamsHaveNoOtherLanguage) {
  options.bodies["fill"] = [](Recorder&, const Arguments&) -> Result<void> { return {}; };
  expect_error("local r = buffer('r', 64)\nset_resources({}, {r})\nbody('fill')", 3, "global 'body'");
  expect_error("local r = buffer('r', 64)\nset_resources({}, {r})\nfill{body='fill', view=r}", 3,
               "'word' is not given");
}

TEST_F(Lua, TheSameGraphAsInCpp) {
  const auto report = run(R"(
local a, b = buffer("a", 4096, "in_out"), buffer("b", 4096)
local fill = pass{name="fill", writes={"to"}, commands=function(p, v) p:fill{view=v.to, word=5} end}
local copy = pass{name="copy", reads={"from"}, writes={"to"}, commands=function(p, v) p:copy{to=v.to, from=v.from} end}
fill{to=b:bytes(0, 2048)}
copy{from=b:bytes(0, 2048), to=a:bytes(2048, 2048)}
execute()
print(read(a, "u32", 0), read(a, "u32", 512))
)");
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(lines, (Names{"0\t5"}));
  const Schedule& schedule = *report->runs[0].schedule;
  ASSERT_EQ(schedule.nodes.size(), 2u);
  EXPECT_EQ(schedule.edges_of(1)[0].reason, Reason::read_after_write);
}

// proves: G-5h, G-14e
TEST_F(Lua, ErrorsHaveTheProgramsLine) {
  expect_error("\nlocal r = buffer('r', 64)\nlocal s = buffer('s', 64\n", 4, "expected");
  expect_error("\n\ndraw1()\nset_resources({}, {})", 3, "names no resources");
  expect_error("local r = buffer('r', 64)\nset_resources({r}, {})\ndraw1()", 3, "nobody writes");
  expect_error("local r = buffer('r', -1)", 1, "bytes: -1 is not in");
  for (const char* bytes : {"7.8e112", "-1e300", "1/0", "0/0", "2.5"})
    expect_error(fmt::format("local r = buffer('r', {})", bytes).c_str(), 1, "a whole number is wanted");
  expect_error("local r = buffer('r', 64)\n\nlocal x = nil + 1", 3, "arithmetic");
  expect_error("error('mine')", 1, "mine");
  expect_error("local p = pass{name='p', reads={'a'}}\np{}", 2, "without its resource 'a'");
  expect_error("kernel('../secret.ptx', 'x')", 1, "does not lie beside the program");
  expect_error("kernel('/etc/passwd', 'x')", 1, "does not lie beside the program");
  expect_error(R"(local k = kernel("raddle_lua_test.ptx", "scale")
local r = buffer("r", 16, "in_out")
set_state{kernel=k}
set_resources({r}, {r})
dispatch{args={r, r, "x"}})",
               5, "parameter 2 (pf) of kernel scale");
}

TEST_F(Lua, RunawayProgramsStopAtTheirLimits) {
  options.most_instructions = 1'000'000;
  options.seconds = 5;
  expect_error("local i = 0\nwhile true do i = i + 1 end", 2, "5 seconds: instructions");
  expect_error("local function f() return f() end\nf()", 1, "5 seconds: instructions");
  expect_error("local t = {}\nlocal function f() t[#t + 1] = f; f() return 1 end\nf()", 2, "");
  options.memory_bytes = 4 << 20;
  expect_error("local s = 'x'\nfor i = 1, 60 do s = s .. s end", 2, "limit");
  expect_error("local s = ('x'):rep(1 << 40)", 1, "too large");
  options.most_instructions = ~std::uint64_t{0} >> 1;
  options.seconds = 0.2;
  expect_error("while true do end", 1, "seconds of processor time");
  options.seconds = 60;
  EXPECT_TRUE(run("local t = {} for i = 1, 1000 do t[i] = i end").ok());
}

TEST_F(Lua, NothingOutsideIsReached) {
  for (const char* name :
       {"io",           "os",         "debug", "package",     "require",     "load",           "loadfile",
        "dofile",       "loadstring", "pcall", "xpcall",      "coroutine",   "collectgarbage", "getmetatable",
        "setmetatable", "rawset",     "_G",    "string.dump", "string.find", "string.gsub",    "table.move",
        "_read",        "_define"}) {
    const auto report = run(std::string("assert(") + name + " == nil)");
    EXPECT_TRUE(report.ok()) << name << ": " << report.error().to_string();
  }
  EXPECT_FALSE(run("\x1bLua").ok());  // bytecode
  EXPECT_TRUE(run("assert(('x'):upper() == 'X')").ok());
  EXPECT_FALSE(run("local s = ('x'):find('x')").ok());
}

TEST_F(Lua, DryProgramsRunNothing) {
  options.dry = true;
  const auto report = run(R"(
local r = buffer("r", 16, "in_out")
set_resources({}, {r}) fill{view=r, word=1}
execute()
print(read(r, "u32", 0))
)");
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(lines, (Names{"0"}));
  ASSERT_EQ(report->runs.size(), 1u);
  EXPECT_TRUE(report->runs[0].times.empty());
}

}  // namespace
}  // namespace raddle::graph
