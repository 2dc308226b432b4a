// What unit tests ask of the test machine (in a _test file so that the build's glob takes it), and a first
// kernel on it.
#include "test_machine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "interp/interpreter.h"
#include "ptx/parser.h"

namespace raddle::interp {

TestMachine::TestMachine(exec::AccessListener* listener) : engine_(make_engine(listener)) {}

bool TestMachine::load(const std::string& text) {
  std::string full = text.find(".version") == std::string::npos
                         ? ".version 8.0\n.target sm_90\n.address_size 64\n" + text
                         : text;
  auto parsed = ptx::parse(full, "test.ptx");
  if (!parsed) {
    error = parsed.error().to_string();
    return false;
  }
  module = std::move(parsed).value();
  return true;
}

exec::FaultKind TestMachine::run(const std::string& kernel, std::uint32_t threads,
                                 const std::vector<std::uint64_t>& arguments, std::uint32_t dynamic_shared) {
  const ptx::Function* function = module.find_function(kernel);
  if (function == nullptr) {
    error = "no kernel " + kernel;
    return exec::FaultKind::unsupported;
  }
  const auto id = static_cast<ptx::FunctionId>(function - module.functions.data());
  auto compiled = engine_->compile(module, id, {});
  if (!compiled) {
    error = compiled.error().to_string();
    return exec::FaultKind::unsupported;
  }
  alignas(128) std::byte parameters[4096] = {};
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const ptx::Variable& v = module.variables[function->parameters[k]];
    std::memcpy(parameters + v.offset, &arguments[k], std::min<std::size_t>(v.size, 8));
  }
  outcome = testing::run_cta({.module = &module,
                              .kernel = id,
                              .executable = compiled->get(),
                              .block = {block[0] != 0 ? block[0] : threads, block[1], block[2]},
                              .parameters = parameters,
                              .dynamic_shared = dynamic_shared,
                              .cluster = cluster,
                              .moved = moved});
  return outcome.fault;
}

std::vector<std::uint32_t> run(const std::string& text, std::uint32_t threads, std::size_t words,
                               std::uint32_t dynamic_shared) {
  TestMachine m;
  EXPECT_TRUE(m.load(text)) << m.error;
  std::vector<std::uint32_t> out(words);
  exec::FaultKind fault = m.run("k", threads, {address_of(out)}, dynamic_shared);
  EXPECT_EQ(fault, exec::FaultKind::none)
      << m.error << m.outcome.problem << " line " << m.outcome.line << " lane " << m.outcome.lane;
  return out;
}

namespace {

TEST(Interpreter, RunsAKernel) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [a];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
  ret;
})")) << m.error;
  std::vector<float> x(70), y(70);
  for (int k = 0; k < 70; ++k) x[k] = static_cast<float>(k), y[k] = 1.0f;
  ASSERT_EQ(m.run("saxpy", 70, {address_of(x), address_of(y), std::bit_cast<std::uint32_t>(2.0f)}),
            exec::FaultKind::none)
      << m.error;
  for (int k = 0; k < 70; ++k) EXPECT_EQ(y[k], 2.0f * static_cast<float>(k) + 1.0f);
}

}  // namespace
}  // namespace raddle::interp
