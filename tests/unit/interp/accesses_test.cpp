// Both engines tell of every access of a kernel in the same words (exec/access.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <tuple>

#include "isa/harness/textures.h"
#include "test_machine.h"
#ifdef RADDLE_TEST_JIT
#include "jit/engine.h"
#endif

namespace raddle::interp {
namespace {

using exec::Access;
using exec::AccessKind;
using ptx::Space;

/// What is said of an access: kind, space, bytes of a lane.
using Words = std::tuple<AccessKind, Space, unsigned>;

/// Writes down who accesses what, by line.
class Listener final : public exec::AccessListener {
 public:
  void on_compiled(const Access& a) override { heard[a.instruction->line] = words_of(a); }
  void on_access(const Access& a, unsigned lane, std::uint64_t address) override {
    std::lock_guard lock(mutex_);
    heard[a.instruction->line] = words_of(a);
    addresses[a.instruction->line][lane] = address;
  }
  std::vector<Words> in_order() const {
    std::vector<Words> words;
    for (const auto& [line, said] : heard) words.push_back(said);
    return words;
  }

  std::map<std::uint32_t, Words> heard;
  std::map<std::uint32_t, std::map<unsigned, std::uint64_t>> addresses;

 private:
  static Words words_of(const Access& a) { return {a.kind, a.space, a.bytes}; }
  std::mutex mutex_;
};

/// One access a line, of every kind and space; the generic load by every second lane only.
constexpr const char* kKernel = R"(
.const .align 8 .b8 table[16];
.func (.param .b32 r) twice(.param .b32 a)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [a];
  add.u32 %r1, %r1, %r1;
  st.param.b32 [r], %r1;
  ret;
}
.visible .entry k(.param .u64 out, .param .u64 texture, .param .u64 surface)
{
  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<5>;
  .shared .align 16 .b8 tile[1024];
  .local .align 8 .b8 mine[16];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p, %r2, 0;
  mad.wide.u32 %rd2, %r1, 16, %rd1;
  mov.u64 %rd3, tile;
  mad.wide.u32 %rd3, %r1, 16, %rd3;
  st.global.v4.b32 [%rd2], {%r1, %r1, %r1, %r1};
  ld.volatile.global.u8 %r3, [%rd2];
  @%p ld.v2.b64 {%rd4, %rd5}, [%rd2];
  st.shared.b16 [%rd3], %r1;
  ld.shared.u16 %r3, [%rd3];
  ld.const.b64 %rd6, [table];
  st.local.b32 [mine], %r1;
  ld.local.v2.b32 {%r3, %r4}, [mine];
  atom.shared.add.u32 %r5, [tile], 1;
  atom.global.cas.b64 %rd7, [%rd1], 0, 1;
  red.global.add.u32 [%rd1], 1;
  red.max.u64 [%rd1], 1;
  ld.param.u64 %rd7, [texture];
  tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd7, {%f1}];
  ld.param.u64 %rd8, [surface];
  suld.b.1d.b32.zero %r6, [%rd8, {0}];
  sust.b.1d.v2.b32.zero [%rd8, {0}], {%r1, %r1};
  {
    .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    call (b), twice, (a);
    ld.param.b32 %r7, [b];
  }
  ret;
}
)";

const std::vector<Words> kAccesses = {
    {AccessKind::load, Space::param, 4},        {AccessKind::store, Space::param, 4},
    {AccessKind::load, Space::param, 8},        {AccessKind::store, Space::global, 16},
    {AccessKind::load, Space::global, 1},       {AccessKind::load, Space::generic, 16},
    {AccessKind::store, Space::shared, 2},      {AccessKind::load, Space::shared, 2},
    {AccessKind::load, Space::const_, 8},       {AccessKind::store, Space::local, 4},
    {AccessKind::load, Space::local, 8},        {AccessKind::atomic, Space::shared, 4},
    {AccessKind::atomic, Space::global, 8},     {AccessKind::reduction, Space::global, 4},
    {AccessKind::reduction, Space::generic, 8}, {AccessKind::load, Space::param, 8},
    {AccessKind::load, Space::tex, 16},         {AccessKind::load, Space::param, 8},
    {AccessKind::load, Space::tex, 4},          {AccessKind::store, Space::tex, 8},
    {AccessKind::store, Space::param, 4},       {AccessKind::load, Space::param, 4},
};

TEST(Accesses, TheInterpreterTellsOfEachWithItsLanes) {
  constexpr unsigned kThreads = 40, kBytes = 16;
  Listener listener;
  TestMachine m(&listener);
  ASSERT_TRUE(m.load(kKernel)) << m.error;
  std::vector<std::uint64_t> out(kThreads * kBytes / 8);
  const auto texture = testing::TestTextures::texture(isa::Geometry::d1, false);
  const auto surface = testing::TestTextures::surface(isa::Geometry::d1);
  ASSERT_EQ(m.run("k", kThreads, {address_of(out), texture, surface}), exec::FaultKind::none) << m.error;
  EXPECT_THAT(listener.in_order(), ::testing::ElementsAreArray(kAccesses));
  for (const auto& [line, by_lane] : listener.addresses) {
    const Words& said = listener.heard.at(line);
    const bool guarded = said == Words{AccessKind::load, Space::generic, kBytes};
    EXPECT_EQ(by_lane.size(), guarded ? 16u : 32u) << "line " << line;
    if (said == Words{AccessKind::store, Space::global, kBytes})
      EXPECT_EQ(by_lane.at(20), address_of(out) + 20 * kBytes);
  }
}

#ifdef RADDLE_TEST_JIT
TEST(Accesses, TheJitTellsOfEachThatItCompiles) {
  Listener listener;
  TestMachine m;
  ASSERT_TRUE(m.load(kKernel)) << m.error;
  const auto kernel = static_cast<ptx::FunctionId>(m.module.find_function("k") - m.module.functions.data());
  auto engine = jit::make_engine({.tier = jit::Tier::quick, .cache = false, .listener = &listener});
  auto compiled = engine->compile(m.module, kernel, {});
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  EXPECT_THAT(listener.in_order(), ::testing::ElementsAreArray(kAccesses));
}
#endif

/// In the order in which they are made.
class Sequence final : public exec::AccessListener {
 public:
  void on_compiled(const Access& a) override { heard.emplace_back(a.kind, a.space, a.bytes); }
  void on_access(const Access& a, unsigned lane, std::uint64_t) override {
    if (lane == 0) on_compiled(a);
  }
  std::vector<Words> heard;
};

constexpr const char* kCopy = R"(
.visible .entry k(.param .u64 data)
{
  .reg .b64 %rd<3>;
  .shared .align 16 .b8 tile[16];
  ld.param.u64 %rd1, [data];
  cp.async.cg.shared.global [tile], [%rd1], 16;
  cp.async.ca.shared.global [tile], [%rd1], 8, 3;
  ret;
}
)";

const std::vector<Words> kCopied = {{AccessKind::load, Space::param, 8},
                                    {AccessKind::load, Space::global, 16},
                                    {AccessKind::store, Space::shared, 16},
                                    {AccessKind::load, Space::global, 8},
                                    {AccessKind::store, Space::shared, 8}};

TEST(Accesses, ACopyIsALoadAndAStore) {
  Sequence listener;
  TestMachine m(&listener);
  ASSERT_TRUE(m.load(kCopy)) << m.error;
  alignas(16) std::array<std::uint64_t, 2> data{};
  ASSERT_EQ(m.run("k", 1, {reinterpret_cast<std::uint64_t>(data.data())}), exec::FaultKind::none) << m.error;
  EXPECT_THAT(listener.heard, ::testing::ElementsAreArray(kCopied));
#ifdef RADDLE_TEST_JIT
  Sequence compiled;
  auto engine = jit::make_engine({.tier = jit::Tier::quick, .cache = false, .listener = &compiled});
  auto code = engine->compile(m.module, 0, {});
  ASSERT_TRUE(code) << code.error().to_string();
  EXPECT_THAT(compiled.heard, ::testing::ElementsAreArray(kCopied));
#endif
}

}  // namespace
}  // namespace raddle::interp
