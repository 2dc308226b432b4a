// One device compiles several kernels at once, each for its own thread and stream, once per kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>
#include <vector>

#include "raddle/raddle.h"

namespace {

constexpr unsigned kKernels = 6;

/// Kernel k writes thread index times k + 1, by k + 1 additions in a loop that depends on memory.
std::string module_text() {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (unsigned k = 0; k < kKernels; ++k)
    text += fmt::format(R"(
.visible .entry times_{0}(.param .u64 out)
{{
  .reg .pred %p;
  .reg .b32 %t, %sum, %n;
  .reg .b64 %out;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %sum, 0;
  mov.u32 %n, 0;
AGAIN:
  add.u32 %sum, %sum, %t;
  add.u32 %n, %n, 1;
  setp.le.u32 %p, %n, {0};
  @%p bra AGAIN;
  st.global.u32 [%out], %sum;
  ret;
}}
)",
                        k);
  return text;
}

using Outcome = raddle::Result<std::vector<std::uint32_t>>;

Outcome run(raddle::Device& device, raddle::Module& module, unsigned k) {
  TRY_ASSIGN(auto stream, device.stream());
  TRY_ASSIGN(auto kernel, module.kernel(fmt::format("times_{}", k)));
  TRY_ASSIGN(auto out, device.buffer<std::uint32_t>(64));
  TRY_ASSIGN(auto launch, kernel.launch({.grid = {1}, .block = {64}, .stream = &stream}, out));
  TRY(launch.wait());
  std::vector<std::uint32_t> values(64);
  TRY(out.read(values));
  return values;
}

TEST(ParallelCompilation, ThreadsLaunchKernelsThatNobodyHasCompiled) {
  for (const char* tier : {"quick", "optimised"}) {
    raddle::DeviceOptions options;
    options.engine = "jit";
    options.tier = tier;
    options.code_cache = "off";
    options.pin = false;
    auto device = raddle::Device::open(options);
    ASSERT_TRUE(device.ok()) << device.error().to_string();
    auto module = device->load(module_text());
    ASSERT_TRUE(module.ok()) << module.error().to_string();
    std::array<std::optional<Outcome>, 2 * kKernels> outcomes;  // every kernel twice at the same time
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < outcomes.size(); ++t)
      threads.emplace_back([&, t] { outcomes[t] = run(*device, *module, t % kKernels); });
    for (auto& thread : threads) thread.join();
    for (unsigned t = 0; t < outcomes.size(); ++t) {
      ASSERT_TRUE(outcomes[t]->ok()) << outcomes[t]->error().to_string();
      for (unsigned i = 0; i < 64; ++i) EXPECT_EQ((**outcomes[t])[i], i * (t % kKernels + 1)) << tier << t;
    }
  }
}

}  // namespace
