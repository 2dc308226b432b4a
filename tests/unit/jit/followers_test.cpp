// Which kernels go on with the CTAs that follow, and what their code does with them.
#include <gtest/gtest.h>

#include <vector>

#include "exec/services.h"
#include "jit/engine.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// out[i] = %smid << 16 | i * 3, where i is the thread's number along x; `more` follows.
std::string text(const std::string& more) {
  return R"(.version 8.4
.target sm_90
.address_size 64
.visible .func (.param .b32 r) outside(.param .b32 v)
{
  .reg .b32 %v;
  ld.param.b32 %v, [v];
  st.param.b32 [r], %v;
  ret;
}
.visible .entry k (.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %t, %b, %n, %i, %s;
  .reg .b64 %out, %c;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %i, %b, %n, %t;
  mad.wide.u32 %out, %i, 4, %out;
  mul.lo.u32 %i, %i, 3;
  mov.u32 %s, %smid;
  shl.b32 %s, %s, 16;
  or.b32 %i, %i, %s;
  st.global.u32 [%out], %i;
)" + more +
         "\n  ret;\n}\n";
}

std::unique_ptr<exec::Executable> compile(exec::Engine& engine, const std::string& more,
                                          const exec::CompileOptions& options) {
  static std::vector<std::unique_ptr<ptx::Module>> modules;  // outlive what is compiled
  auto module = ptx::parse(text(more), "followers");
  if (!module.ok()) {
    ADD_FAILURE() << module.error().to_string();
    return nullptr;
  }
  modules.push_back(std::make_unique<ptx::Module>(std::move(*module)));
  for (ptx::FunctionId f = 0; f < modules.back()->functions.size(); ++f) {
    if (!modules.back()->functions[f].is_entry) continue;
    auto code = engine.compile(*modules.back(), f, options);
    if (code.ok()) return std::move(*code);
    ADD_FAILURE() << code.error().to_string();
  }
  return nullptr;
}

/// A CTA of a launch, as the machine makes one.
struct OneCta {
  explicit OneCta(std::uint32_t threads, std::size_t words) : memory(words) {
    parameter = reinterpret_cast<std::uint64_t>(memory.data());
    launch.set_ntid(threads, 1, 1);
    launch.parameters = reinterpret_cast<const std::byte*>(&parameter);
    cta.launch = &launch;
    cta.poll = &poll;
    cta.thread_count = threads;
    cta.warp_count = (threads + 31) / 32;
  }
  std::vector<std::uint32_t> memory;
  alignas(128) std::uint64_t parameter = 0;
  exec::LaunchContext launch{};
  std::atomic<std::uint32_t> poll{0};
  exec::CtaContext cta{};
};

TEST(Followers, RunUntilThereAreNoneOrSomebodyAsks) {
  for (const Tier tier : {Tier::quick, Tier::optimised})
    for (const std::uint32_t threads : {64u, 256u, 40u})
      for (const bool asked : {false, true}) {
        auto engine = make_engine({.tier = tier});
        auto code = compile(*engine, "", {.block = {threads, 1, 1}});
        ASSERT_TRUE(code && code->goes_on);
        OneCta one(threads, 10 * threads);
        one.cta.ctaid[0] = 2;
        one.cta.smid = 5;
        one.cta.smid_step = 3;
        one.cta.following = 4;
        one.poll = asked ? 1 : 0;
        code->run_block(one.cta);
        const std::uint32_t ran = asked ? 1 : 5;
        EXPECT_EQ(one.cta.following, 5 - ran);
        EXPECT_EQ(one.cta.ctaid[0], 2 + ran - 1) << "whom a fault would name";
        EXPECT_EQ(one.cta.smid, 5 + 3 * (ran - 1));
        for (std::uint32_t i = 0; i < one.memory.size(); ++i) {
          const std::uint32_t block = i / threads, sm = 5 + 3 * (block - 2);
          ASSERT_EQ(one.memory[i], block >= 2 && block < 2 + ran ? sm << 16 | i * 3 : 0) << i;
        }
      }
}

TEST(Followers, AreLeftAloneByKernelsThatMayBeLongOrWait) {
  auto engine = make_engine({});
  const std::string loop =
      "AGAIN:\n add.u32 %t, %t, 1;\n setp.lt.u32 %p, %t, 1000;\n @%p bra AGAIN;\n st.global.u32 [%out], %t;";
  const std::string call =
      "{\n .param .b32 v0;\n .param .b32 r0;\n st.param.b32 [v0], %t;\n call (r0), outside, (v0);\n "
      "ld.param.b32 %t, [r0];\n st.global.u32 [%out], %t;\n}";
  const exec::CompileOptions options{.block = {64, 1, 1}};
  EXPECT_TRUE(compile(*engine, "setp.lt.u32 %p, %t, 9;\n @%p st.global.u32 [%out], %t;", options)->goes_on);
  EXPECT_FALSE(compile(*engine, loop, options)->goes_on);
  EXPECT_FALSE(compile(*engine, call, options)->goes_on);
  EXPECT_FALSE(compile(*engine, "nanosleep.u32 5;", options)->goes_on);
  EXPECT_FALSE(compile(*engine, "mov.u64 %c, %globaltimer;\n st.global.u64 [%out], %c;", options)->goes_on);
  EXPECT_FALSE(compile(*engine, "bar.sync 0;", options)->goes_on);
  EXPECT_TRUE(compile(*engine, "", {.block = {64, 1, 1}, .windowed = true})->goes_on)
      << "a look at a bad address ends the kernel or does nothing";
}

}  // namespace
}  // namespace raddle::jit
