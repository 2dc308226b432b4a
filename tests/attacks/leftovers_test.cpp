// What a tenant leaves behind is not there for the next one: shared memory, local memory, registers, stacks.
#include <gtest/gtest.h>

#include <numeric>

#include "arena.h"

namespace raddle::attacks {
namespace {

constexpr unsigned kRegisters = 40;

std::string each_register(const std::string& line) {
  std::string text;
  for (unsigned i = 0; i < kRegisters; ++i) {
    std::string one = line;
    for (std::size_t at; (at = one.find('#')) != std::string::npos;) one.replace(at, 1, std::to_string(i));
    text += one + "\n";
  }
  return text;
}

/// A kernel that fills what it has with secrets, or one that counts those that it finds in what it has not
/// written.
std::string kernel_text(bool leaves) {
  const std::string each_word =
      leaves ? "st.shared.u64 [%s], %g;\nst.local.u64 [%l], %g;\n"
             : "ld.shared.u64 %v, [%s];\nsetp.eq.u64 %p, %v, %g;\n@%p add.u64 %n, %n, 1;\n"
               "ld.local.u64 %v, [%l];\nsetp.eq.u64 %p, %v, %g;\n@%p add.u64 %n, %n, 1;\n";
  // Registers live across a barrier, in a frame; a warp reads what it has never written.
  const std::string registers =
      leaves ? each_register("add.u64 %u#, %g, %z;") + "bar.sync 0;\n" +
                   each_register("st.shared.u64 [here], %u#;")
             : "bar.sync 0;\n" + each_register("setp.eq.u64 %p, %u#, %g;\n@%p add.u64 %n, %n, 1;");
  return R"(.version 8.7
.target sm_90a
.address_size 64
.func (.param .b64 r) deep (.param .b64 n) {
  .local .align 8 .b8 more[512]; .reg .b64 %n, %l, %g, %v, %i; .reg .pred %p; .reg .b64 %found;
  ld.param.b64 %n, [n]; mov.u64 %l, more; mov.u64 %g, 0x5ec4e75ec4e75ec4; mov.u64 %i, 0; mov.u64 %found, 0;
next:)" +
         std::string(
             leaves ? "st.local.u64 [%l], %g;\n"
                    : "ld.local.u64 %v, [%l];\nsetp.eq.u64 %p, %v, %g;\n@%p add.u64 %found, %found, 1;\n") +
         R"(add.u64 %l, %l, 8; add.u64 %i, %i, 1; setp.lt.u64 %p, %i, 64;
  @%p bra next;
  st.param.b64 [r], %found;
  ret;
}
.visible .entry kernel (.param .u64 out) {
  .shared .align 16 .b8 here[2048]; .local .align 16 .b8 mine[2048];
  .reg .b64 %u<40>; .reg .b64 %g, %s, %l, %v, %n, %o, %z; .reg .b32 %i, %t; .reg .pred %p;
  ld.param.u64 %o, [out]; mov.u64 %g, 0x5ec4e75ec4e75ec4; mov.u64 %n, 0; mov.u32 %i, 0; mov.u64 %z, 0;
  mov.u64 %s, here; mov.u64 %l, mine;
next: )" +
         each_word +
         R"(add.u64 %s, %s, 8; add.u64 %l, %l, 8; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 256;
  @%p bra next;
)" + registers +
         R"({ .param .b64 a; .param .b64 b; st.param.b64 [a], %n; call (b), deep, (a); ld.param.b64 %v, [b]; }
  add.u64 %n, %n, %v;
  mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o; st.global.u64 [%o], %n;
  ret;
}
)";
}

class Leftovers : public ::testing::TestWithParam<std::string> {};

// proves: A-10a
TEST_P(Leftovers, AreNotThereForTheNextSpace) {
  const auto leave = Kernel::make(kernel_text(true), GetParam(), Translation::windowed);
  const auto look = Kernel::make(kernel_text(false), GetParam(), Translation::windowed);
  ASSERT_TRUE(leave != nullptr && look != nullptr);
  Arena arena;
  const auto found_in = [&](machine::AddressSpace& space) {
    const DevicePtr out = *space.memory().allocate(32 * 8);
    EXPECT_EQ(run(space, *look, {out.value}).kind, exec::FaultKind::none);
    const auto* words = reinterpret_cast<const std::uint64_t*>(space.memory().host(out));
    return std::accumulate(words, words + 32, std::uint64_t{0});
  };
  for (unsigned times = 0; times < 3; ++times) {
    const DevicePtr out = *arena.victim().memory().allocate(32 * 8);
    ASSERT_EQ(run(arena.victim(), *leave, {out.value}).kind, exec::FaultKind::none);
    if (times == 0) EXPECT_NE(found_in(arena.victim()), 0u) << "a space finds its own";
    ASSERT_EQ(run(arena.victim(), *leave, {out.value}).kind, exec::FaultKind::none);
    std::string printed;
    const auto next = arena.open(Translation::windowed, &printed);
    EXPECT_EQ(found_in(*next), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Leftovers, ::testing::ValuesIn(engines()));

}  // namespace
}  // namespace raddle::attacks
