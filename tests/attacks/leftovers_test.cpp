// What a tenant leaves behind is not there for the next one: shared memory, local memory, registers, stacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>

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

/// After a kernel of a space that is still there, and after one of a space that has gone.
void look_for_leftovers(const std::string& engine, Translation how) {
  const auto leave = Kernel::make(kernel_text(true), engine, how);
  const auto look = Kernel::make(kernel_text(false), engine, how);
  ASSERT_TRUE(leave != nullptr && look != nullptr);
  Arena arena;
  std::string printed;
  const auto found_in = [&](machine::AddressSpace& space) {
    const DevicePtr out = *space.memory().allocate(32 * 8);
    EXPECT_EQ(run(space, *look, {out.value}).kind, exec::FaultKind::none);
    const auto* words = reinterpret_cast<const std::uint64_t*>(space.memory().host(out));
    return std::accumulate(words, words + 32, std::uint64_t{0});
  };
  auto former = arena.open(how, &printed);
  const auto fill = [&] {
    const DevicePtr out = *former->memory().allocate(32 * 8);
    ASSERT_EQ(run(*former, *leave, {out.value}).kind, exec::FaultKind::none);
  };
  for (const bool has_gone : {false, false, true}) {
    fill();
    EXPECT_NE(found_in(*former), 0u) << "a space finds its own";
    fill();
    if (has_gone) former.reset();
    EXPECT_EQ(found_in(*arena.open(how, &printed)), 0u);
  }
}

// proves: A-10a
TEST_P(Leftovers, AreNotThereForTheNextSpace) { look_for_leftovers(GetParam(), Translation::windowed); }
// proves: A-10a
TEST_P(Leftovers, AreNotThereForTheNextModelledSpace) {
  look_for_leftovers(GetParam(), Translation::modelled);
}

/// What a space has of memory when it comes: allocations, constants, the heap of its kernels.
std::vector<std::span<std::uint64_t>> memory_of(machine::AddressSpace& space) {
  constexpr std::size_t kBytes = 64 << 10;
  const auto words = [](std::byte* start) {
    return std::span(reinterpret_cast<std::uint64_t*>(start), kBytes / 8);
  };
  machine::DeviceMemory& memory = space.memory();
  std::vector<std::span<std::uint64_t>> all;
  for (int i = 0; i < 8; ++i) all.push_back(words(memory.host(*memory.allocate(kBytes))));
  all.push_back(words(memory.host(*memory.allocate_constants(kBytes))));
  all.push_back(words(reinterpret_cast<std::byte*>(space.heap().allocate(kBytes))));
  return all;
}

// A client that comes gets the memory of one that has gone, without what was in it.
// proves: A-10a
TEST(Stale, MemoryOfASpaceThatHasGoneComesEmpty) {
  Arena arena;
  std::string printed;
  for (const Translation how : {Translation::windowed, Translation::modelled})
    for (int times = 0; times < 3; ++times) {
      const auto space = arena.open(how, &printed);
      for (const std::span<std::uint64_t> words : memory_of(*space)) {
        EXPECT_EQ(std::ranges::count(words, kSecret), 0);
        std::ranges::fill(words, kSecret);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, Leftovers, ::testing::ValuesIn(engines()));

}  // namespace
}  // namespace raddle::attacks
