// Kernels whose better code takes the place of what they started with while grids run. What blocks have in
// registers, frames and shared memory by then was left there by one tier and is read by the other.
#include <atomic>
#include <chrono>
#include <thread>

#include "jit/engine.h"
#include "kernel_test.h"
#include "wait_until.h"

namespace {

#ifdef RADDLE_TEST_JIT

constexpr unsigned kReplacedThreads = 128, kLaunches = 2;

/// Each thread makes values of several types, waits until its block is released, and joins them. The last is
/// that of another warp, where the form has barriers.
constexpr const char* kReplaced = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry replaced(.param .u64 out, .param .u64 released) {
  .reg .u64 %out, %released, %wide, %high;
  .reg .u32 %thread, %block, %n, %told, %a, %x, %r;
  .reg .f32 %f;
  .reg .f64 %d;
  .reg .pred %p, %first, %waits;
  .shared .align 4 .b32 numbers[128];
  .shared .align 4 .b32 heard;
  ld.param.u64 %out, [out];
  ld.param.u64 %released, [released];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mad.lo.u32 %n, %block, 128, %thread;
  mul.wide.u32 %wide, %n, 4;
  add.u64 %out, %out, %wide;
  mul.lo.u32 %a, %n, 2654435761;
  mul.wide.u32 %wide, %a, %a;
  cvt.rn.f32.u32 %f, %n;
  cvt.rn.f64.u32 %d, %a;
  setp.lt.u32 %p, %a, 2000000000;
  setp.eq.u32 %first, %thread, 0;
  shl.b32 %x, %thread, 2;
  mov.u32 %r, numbers;
  add.u32 %x, %x, %r;
  st.shared.u32 [%x], %a;
  @before@
WAIT:
  @within@
  setp.le.u32 %waits, %told, %block;
  @%waits bra WAIT;
  @after@
  xor.b32 %x, %thread, @other@;
  shl.b32 %x, %x, 2;
  mov.u32 %r, numbers;
  add.u32 %x, %x, %r;
  ld.shared.u32 %x, [%x];
  add.u32 %a, %a, %x;
  fma.rn.f32 %f, %f, 0f40000000, 0f3f800000;
  cvt.rzi.u32.f32 %x, %f;
  xor.b32 %a, %a, %x;
  mul.f64 %d, %d, 0d3fe0000000000000;
  cvt.rzi.u32.f64 %x, %d;
  add.u32 %a, %a, %x;
  shr.u64 %high, %wide, 32;
  xor.b64 %wide, %wide, %high;
  cvt.u32.u64 %x, %wide;
  xor.b32 %a, %a, %x;
  selp.u32 %x, 77, 5, %p;
  add.u32 %a, %a, %x;
  st.global.u32 [%out], %a;
  ret;
})";

/// How a block of the kernel waits.
struct ReplacedForm {
  const char *name, *kind, *before, *within, *after;
  unsigned blocks;
  unsigned other;  ///< by which the number of the thread differs whose value is read
  unsigned cluster = 1;
};
constexpr const char* kHear = "ld.volatile.global.u32 %told, [%released];";
constexpr const char* kMeet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
constexpr const char* kHearByOne =
    "@!%first bra HEAR; ld.volatile.global.u32 %told, [%released]; st.shared.u32 [heard], %told;\n"
    "HEAR: bar.sync 0; ld.shared.u32 %told, [heard]; bar.sync 0;";
constexpr ReplacedForm kReplacedForms[] = {
    {"spins", "fibers", "", kHear, "", 16, 0},
    {"regions", "regions", "bar.sync 0;", kHear, "bar.sync 0;", 16, 96},
    {"barriers", "regions", "", kHearByOne, "", 4, 96},
    {"clusters", "fibers", kMeet, kHear, kMeet, 16, 96, 2},
    {"clusters and barriers", "regions", kMeet, kHearByOne, kMeet, 4, 96, 2},
};

std::string text_of_form(const ReplacedForm& form) {
  std::string text = kReplaced;
  const auto put = [&](const std::string& mark, const std::string& by) {
    text.replace(text.find(mark), mark.size(), by);
  };
  put("@before@", form.before), put("@within@", form.within), put("@after@", form.after);
  put("@other@", std::to_string(form.other));
  return text;
}

unsigned joined_values(unsigned n, unsigned other) {
  constexpr unsigned kFactor = 2654435761;
  const unsigned a = n * kFactor;
  const std::uint64_t wide = std::uint64_t{a} * a;
  unsigned sum = a + (n ^ other) * kFactor;
  sum ^= 2 * n + 1;
  sum += a / 2;
  sum ^= static_cast<unsigned>(wide ^ wide >> 32);
  return sum + (a < 2000000000 ? 77 : 5);
}

class ReplacedCode : public KernelTestBase, public testing::WithParamInterface<EngineChoice> {
 protected:
  ReplacedCode() : KernelTestBase(GetParam()) { options_.code_cache = "off"; }

  static void check(const std::vector<unsigned>& found, const ReplacedForm& form) {
    for (unsigned n = 0; n < found.size(); ++n) ASSERT_EQ(found[n], joined_values(n, form.other)) << n;
  }

  /// Launches that wait in all of their blocks. Some are released, so that the kernel is found to have run
  /// for long; the others when their code has been replaced.
  void replace(const ReplacedForm& form) {
    SCOPED_TRACE(form.name);
    load_text(text_of_form(form));
    auto kernel = module().kernel("replaced");
    ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
    auto released = buffer(std::vector<unsigned>(1));
    std::atomic_ref told(*reinterpret_cast<unsigned*>(released.address().value));
    std::vector<raddle::Stream> streams;
    std::vector<raddle::Buffer<unsigned>> outs;
    std::vector<raddle::Launch> launches;
    raddle::LaunchConfig config{.grid = {form.blocks}, .block = {kReplacedThreads}};
    config.cluster = {form.cluster}, config.tells_begin = true;
    const std::uint64_t before = raddle::jit::replacements();
    for (unsigned k = 0; k < kLaunches; ++k) {
      auto stream = device().stream();
      streams.push_back(std::move(*stream));
      outs.push_back(buffer(std::vector<unsigned>(form.blocks * kReplacedThreads)));
      config.stream = &streams.back();
      auto launch = kernel->launch(config, outs.back(), released);
      ASSERT_TRUE(launch.ok()) << launch.error().to_string();
      launches.push_back(std::move(*launch));
      streams.back().record_begin().wait();
    }
    using Clock = std::chrono::steady_clock;
    auto next = Clock::now() + std::chrono::milliseconds(200);  // longer than the kernel must have run for
    const bool has_replaced = raddle::wait_until([&] {
      if (Clock::now() > next && told.load() + 2 < form.blocks) {
        told.fetch_add(2);
        next = Clock::now() + std::chrono::seconds(1);
      }
      return raddle::jit::replacements() > before;
    });
    EXPECT_TRUE(has_replaced);
    EXPECT_LT(told.load(), form.blocks) << "blocks still wait in the code so far";
    told.store(form.blocks);
    for (unsigned k = 0; k < kLaunches; ++k) {
      auto report = launches[k].wait();
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_EQ(report->block_kind, form.kind);
      check(contents(outs[k]), form);
    }
    auto out = buffer(std::vector<unsigned>(form.blocks * kReplacedThreads));
    config.stream = nullptr;
    run(*kernel, config, out, released);
    check(contents(out), form);
    EXPECT_EQ(raddle::jit::replacements(), before + 1);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, ReplacedCode,
                         testing::Values(EngineChoice{"jit", ""}, EngineChoice{"jit", "avx2"}), engine_name);

TEST_P(ReplacedCode, WhileGridsRun) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "kernels start optimised on this host";
  for (const ReplacedForm& form : kReplacedForms) replace(form);
}

#endif

}  // namespace
