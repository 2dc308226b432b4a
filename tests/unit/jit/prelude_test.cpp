// Which kernels may begin with the CTAs that follow, and that these then need not read again.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "exec/services.h"
#include "jit/engine.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// out[i] = the sum of in[i], in[i + all], ... up to in[n - 1], where i is the thread's number and `all` that
/// of the grid's threads. `turn` is in the loop, `before` before it.
std::string text(const std::string& turn = "", const std::string& before = "") {
  return R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry k (.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %t, %b, %w, %i, %n, %all, %v, %sum, %x;
  .reg .b64 %in, %out, %a, %y, %z;
  .shared .align 4 .b8 s[4096];
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %w, %ntid.x;
  mov.u32 %all, %nctaid.x;
  mul.lo.u32 %all, %all, %w;
  mad.lo.u32 %i, %b, %w, %t;
  mad.wide.u32 %out, %i, 4, %out;
  mov.u32 %sum, 0;
)" + before +
         R"(
  setp.ge.u32 %p, %i, %n;
  @%p bra DONE;
AGAIN:
  mul.wide.s32 %a, %i, 4;
  add.s64 %a, %a, %in;
  ld.global.u32 %v, [%a];
  add.u32 %sum, %sum, %v;
)" + turn +
         R"(
  add.u32 %i, %i, %all;
  setp.lt.u32 %p, %i, %n;
  @%p bra AGAIN;
DONE:
  st.global.u32 [%out], %sum;
  ret;
}
)";
}

constexpr std::uint32_t kCtas = 16, kThreads = 256, kAll = kCtas * kThreads;

class Preludes : public ::testing::Test {
 protected:
  /// Together as far as any host can, few though its registers may be.
  std::unique_ptr<exec::Executable> compile(const std::string& ptx, Tier tier = Tier::optimised) {
    auto module = ptx::parse(ptx, "prelude");
    if (!module.ok()) {
      ADD_FAILURE() << module.error().to_string();
      return nullptr;
    }
    modules_.push_back(std::make_unique<ptx::Module>(std::move(*module)));
    engines_.push_back(make_engine({.tier = tier, .together = Together::wherever_possible}));
    auto code = engines_.back()->compile(*modules_.back(), 0, {.block = {kThreads, 1, 1}});
    if (code.ok()) return std::move(*code);
    ADD_FAILURE() << code.error().to_string();
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<ptx::Module>> modules_;
  std::vector<std::unique_ptr<exec::Engine>> engines_;
};

/// A launch over its own memory; CTAs run as a test says.
class Launch {
 public:
  Launch(std::uint32_t words, std::uint64_t grid) : in(words), out(kAll) {
    for (std::uint32_t i = 0; i < words; ++i) in[i] = i * 2654435761u;
    parameters = {reinterpret_cast<std::uint64_t>(in.data()), reinterpret_cast<std::uint64_t>(out.data()),
                  words};
    launch.set_ntid(kThreads, 1, 1);
    launch.nctaid[0] = kCtas;
    launch.ntid[1] = launch.ntid[2] = launch.nctaid[1] = launch.nctaid[2] = 1;
    launch.parameters = reinterpret_cast<const std::byte*>(&parameters);
    launch.grid_id = grid;
    services.poll = [](exec::WarpContext* warp)
                        __attribute__((preserve_most)) { warp->cta->machine = warp->cta; };
  }
  /// @returns whether the CTA asked the machine whether to go on
  bool run(exec::Executable& code, std::uint32_t x, std::uint32_t following, std::uint32_t asked = 0) {
    exec::CtaContext cta{};
    std::atomic<std::uint32_t> poll{asked};
    cta.launch = &launch;
    cta.services = &services;
    cta.poll = &poll;
    cta.ctaid[0] = x;
    cta.following = following;
    cta.thread_count = cta.live_threads = kThreads;
    cta.warp_count = kThreads / 32;
    code.run_block(cta);
    EXPECT_EQ(cta.ctaid[0], x);
    EXPECT_EQ(cta.following, following) << "they are still to be run";
    return cta.machine != nullptr;
  }
  /// Whether a CTA has written the sums of what is there now; else, of what was there before `change`.
  bool is_of_now(std::uint32_t x) const {
    const std::uint32_t i = x * kThreads;
    const bool now = sum(in, i) == out[i];
    for (std::uint32_t t = 0; t < kThreads; ++t)
      EXPECT_EQ(out[i + t], sum(now ? in : before, i + t)) << x << ' ' << t;
    return now;
  }
  void change() {
    before = in;
    for (std::uint32_t& word : in) word ^= 0x5a5a5a5a;
  }
  std::vector<std::uint32_t> in, before, out;

 private:
  static std::uint32_t sum(const std::vector<std::uint32_t>& of, std::uint32_t i) {
    std::uint32_t sum = 0;
    for (; i < of.size(); i += kAll) sum += of[i];
    return sum;
  }
  alignas(128) std::array<std::uint64_t, 3> parameters{};
  exec::LaunchContext launch{};
  exec::Services services{};
};

// The last turn is of all lanes, of some warps, of some lanes.
TEST_F(Preludes, RunSideBySideWithThoseOfTheCtasThatFollow) {
  auto code = compile(text());
  ASSERT_TRUE(code && code->begins_ahead && code->kind == exec::BlockKind::regions);
  std::uint64_t grid = 0;
  for (const std::uint32_t more : {0u, 5 * kThreads, 5 * kThreads + 64, 5 * kThreads + 71}) {
    Launch launch(6 * kAll + more, ++grid);
    launch.run(*code, 2, 6);
    EXPECT_TRUE(launch.is_of_now(2));
    launch.change();
    for (const std::uint32_t x : {3u, 7u, 4u, 8u}) {
      launch.run(*code, x, 0);
      EXPECT_FALSE(launch.is_of_now(x)) << x << " had read before";
    }
    for (const std::uint32_t x : {2u, 3u, 9u, 1u}) {
      launch.run(*code, x, 0);
      EXPECT_TRUE(launch.is_of_now(x)) << x << " had not, or somebody has taken it";
    }
  }
}

TEST_F(Preludes, BelongToTheirLaunchAndToTheirCode) {
  auto code = compile(text()), other = compile(text());
  ASSERT_TRUE(code && other);
  Launch launch(6 * kAll, 1), next(6 * kAll, 2);
  launch.run(*code, 0, 15);
  launch.change();
  launch.run(*other, 1, 0);
  EXPECT_TRUE(launch.is_of_now(1)) << "other code";
  next.run(*code, 2, 0);
  EXPECT_TRUE(next.is_of_now(2)) << "another grid, of no changed memory";
  launch.run(*code, 2, 0);
  EXPECT_FALSE(launch.is_of_now(2)) << "the first is not forgotten for that";
  for (std::uint64_t grid = 3; grid < 10; ++grid) Launch(6 * kAll, grid).run(*code, 0, 15);
  launch.run(*code, 3, 0);
  EXPECT_TRUE(launch.is_of_now(3)) << "but for many others";
}

// Each CTA asks by itself, in its own time.
TEST_F(Preludes, StopWhenSomebodyAsks) {
  auto code = compile(text());
  ASSERT_TRUE(code);
  Launch launch(6 * kAll + 71, 1);
  EXPECT_TRUE(launch.run(*code, 0, 15, 1));
  EXPECT_TRUE(launch.is_of_now(0));
  launch.change();
  EXPECT_TRUE(launch.run(*code, 1, 15, 1));
  EXPECT_TRUE(launch.is_of_now(1)) << "nobody had begun it";
  EXPECT_FALSE(launch.run(*code, 2, 15)) << "all turns are taken side by side";
  EXPECT_TRUE(launch.is_of_now(2));
}

// It has no form in which warps run together, and does as it did.
TEST_F(Preludes, AreLeftToTheirTimeByQuickCode) {
  auto code = compile(text(), Tier::quick);
  ASSERT_TRUE(code);
  Launch launch(6 * kAll + 71, 1);
  launch.run(*code, 0, 15);
  launch.change();
  launch.run(*code, 1, 0);
  EXPECT_TRUE(launch.is_of_now(1));
}

// Lanes of a warp that lie side by side but for where an index wraps: their vectors wait in the frame, too.
// In each CTA another lane is the first, so that none finds those of another CTA in the host's registers.
TEST_F(Preludes, KeepWhatWraps) {
  constexpr std::int64_t kStep = 4096;
  auto code =
      compile(text("add.s64 %y, %y, 4096;\n shr.u64 %z, %y, 32;\n cvt.u32.u64 %x, %z;\n "
                   "add.u32 %sum, %sum, %x;",
                   "shl.b32 %x, %b, 3;\n sub.u32 %x, %t, %x;\n add.u32 %x, %x, 0x7ffffff0;\n "
                   "mul.wide.s32 %y, %x, 4;"));
  ASSERT_TRUE(code && code->begins_ahead);
  constexpr std::uint32_t kTurns = 6;
  Launch launch(kTurns * kAll, 1);
  for (std::uint32_t x = 0; x < kCtas; ++x) launch.run(*code, x, kCtas - 1 - x);
  for (std::uint32_t i = 0; i < kAll; ++i) {
    const std::uint32_t index = i % kThreads - 8 * (i / kThreads) + 0x7ffffff0;
    std::int64_t y = std::int64_t{static_cast<std::int32_t>(index)} * 4;
    for (std::uint32_t n = 0; n < kTurns; ++n)
      launch.out[i] -= static_cast<std::uint32_t>((y += kStep) >> 32);
  }
  for (std::uint32_t x = 0; x < kCtas; ++x) EXPECT_TRUE(launch.is_of_now(x));
}

TEST_F(Preludes, AreNoneWhereOthersCouldTell) {
  const auto begins = [&](const std::string& turn, const std::string& before = "") {
    auto code = compile(text(turn, before));
    return code && code->begins_ahead;
  };
  EXPECT_TRUE(begins(""));
  EXPECT_TRUE(begins("mov.u32 %x, %nsmid;\n add.u32 %sum, %sum, %x;"));
  EXPECT_TRUE(begins("", "ld.global.u32 %x, [%in];\n add.u32 %sum, %sum, %x;"));
  EXPECT_FALSE(begins("", "ld.volatile.global.u32 %x, [%in];"));
  EXPECT_FALSE(begins("", "ld.acquire.gpu.global.u32 %x, [%in];"));
  EXPECT_FALSE(begins("", "st.global.u32 [%out], %t;"));
  EXPECT_FALSE(begins("", "atom.global.add.u32 %x, [%out], 1;"));
  EXPECT_FALSE(begins("", "fence.acq_rel.gpu;"));
  EXPECT_FALSE(begins("", "bar.sync 0;"));
  EXPECT_FALSE(begins("", "mov.u32 %x, s;\n ld.shared.u32 %sum, [%x];")) << "of which CTA?";
  EXPECT_FALSE(begins("", "mov.u32 %x, %smid;\n add.u32 %sum, %sum, %x;"));
  EXPECT_FALSE(begins("", "mov.u32 %x, %clock;\n add.u32 %sum, %sum, %x;"));
  EXPECT_FALSE(begins("", "mov.u32 %all, %w;")) << "a CTA's memory lies in one piece";
  EXPECT_FALSE(begins("st.global.u32 [%out], %sum;"));
  EXPECT_FALSE(begins("ld.volatile.global.u32 %x, [%in];"));
  EXPECT_FALSE(begins("", "setp.ge.u32 %p, %i, %n;\n @%p ret;")) << "lanes may be missing";
}

}  // namespace
}  // namespace raddle::jit
