// Calls that only the stack or a time limit ends, on every engine; and kernels too large to be compiled.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>

#include "kernel_test.h"

namespace {

using raddle::ErrorCode;

class Depth : public KernelTest {};
ON_EVERY_ENGINE(Depth);

TEST_P(Depth, AServiceAtTheEndOfTheStackIsTheKernelsFault) {
  for (const std::uint32_t threads : {32u, 1024u}) {
    auto report = try_run(kernel("depth.ptx", "descent"), {.grid = {2}, .block = {threads}}, ~0u);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kernel_fault);
    EXPECT_NE(report.error().message.find("stack overflow in kernel descent"), std::string::npos)
        << report.error().message;
    close();
  }
}

TEST_P(Depth, ServicesWorkAHundredCallsDeep) {
  run(kernel("depth.ptx", "descent"), {.grid = {2}, .block = {96}}, 100u);
}

TEST_P(Depth, RecursionObeysTheTimeLimit) {
  options_.time_limit = std::chrono::milliseconds(200);
  auto out = buffer(std::vector<std::uint32_t>(1));
  auto report = try_run(kernel("depth.ptx", "fibonacci_of"), {.grid = {1}, .block = {32}}, out, 60u);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::timeout) << report.error().message;
}

TEST_P(Depth, RecursionReturns) {
  auto out = buffer(std::vector<std::uint32_t>(1));
  run(kernel("depth.ptx", "fibonacci_of"), {.grid = {1}, .block = {32}}, out, 12u);
  EXPECT_EQ(contents(out)[0], 144u);
}

constexpr const char* kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// f0 calls f1, and so on; each adds one.
std::string chain(unsigned length) {
  std::string text = kHead;
  text += fmt::format(".func (.reg .b32 %r) f{}(.reg .b32 %a)\n{{ add.u32 %r, %a, 1; ret; }}\n", length - 1);
  for (unsigned i = length - 1; i-- > 0;)
    text += fmt::format(
        ".func (.reg .b32 %r) f{}(.reg .b32 %a)\n{{ call.uni (%r), f{}, (%a); add.u32 %r, %r, 1; ret; }}\n",
        i, i + 1);
  return text +
         ".visible .entry k(.param .u64 out)\n{ .reg .b64 %o; .reg .b32 %t; ld.param.u64 %o, [out];\n"
         "mov.u32 %t, 5; call.uni (%t), f0, (%t); st.global.u32 [%o], %t; ret; }\n";
}

/// Index i of brx.idx leads to label i % labels, which is the result.
std::string branches(unsigned targets, unsigned labels) {
  std::string text = std::string(kHead) +
                     ".visible .entry k(.param .u64 out)\n{ .reg .b64 %o, %d; .reg .b32 %t, %r;\n"
                     "ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.lo.u32 %r, %t, 977;\n"
                     "mul.wide.u32 %d, %t, 4; add.u64 %o, %o, %d;\ntable: .branchtargets L0";
  for (unsigned i = 1; i < targets; ++i) text += fmt::format(",L{}", i % labels);
  text += ";\nbrx.idx %r, table;\n";
  for (unsigned i = 0; i < labels; ++i) text += fmt::format("L{}: mov.u32 %t, {}; bra END;\n", i, i);
  return text + "END: st.global.u32 [%o], %t; ret; }\n";
}

/// Texts as large as these need one engine's word only: the interpreter runs them for every JIT.
class Beyond : public testing::Test {
 protected:
  std::vector<std::uint32_t> run(const std::string& text, unsigned threads) {
    auto device = raddle::Device::open();
    EXPECT_TRUE(device.ok());
    auto module = device->load(text);
    if (!module.ok()) return ADD_FAILURE() << module.error().to_string(), std::vector<std::uint32_t>();
    auto out = std::move(*device->buffer(std::vector<std::uint32_t>(threads)));
    auto launch = module->kernel("k")->launch({.grid = {1}, .block = {threads}}, out);
    auto report = launch->wait();
    if (!report.ok()) return ADD_FAILURE() << report.error().to_string(), std::vector<std::uint32_t>();
    engine_ = report->engine;
    std::vector<std::uint32_t> result(threads);
    EXPECT_TRUE(out.read(result).ok());
    return result;
  }
  std::string engine_;
};

TEST_F(Beyond, AChainOfTwentyThousandFunctionsIsInterpreted) {
  EXPECT_EQ(run(chain(20'000), 1), std::vector<std::uint32_t>{20'005});
  EXPECT_EQ(engine_, "interp");
}

TEST_F(Beyond, ABranchToTwentyThousandLabelsIsInterpreted) {
  const auto result = run(branches(20'000, 20'000), 20);
  for (unsigned i = 0; i < result.size(); ++i) EXPECT_EQ(result[i], i * 977) << i;
  EXPECT_EQ(engine_, "interp");
}

TEST_F(Beyond, AHundredThousandTargetsOfTenLabelsAreNot) {
  const auto result = run(branches(100'000, 10), 96);
  for (unsigned i = 0; i < result.size(); ++i) EXPECT_EQ(result[i], i * 977 % 10) << i;
#ifdef RADDLE_TEST_JIT
  EXPECT_EQ(engine_, "jit");
#endif
}

}  // namespace
