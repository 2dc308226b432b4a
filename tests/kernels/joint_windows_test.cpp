// Loads or stores of shared memory behind each other, near each other, which compiled code makes as one
// (src/jit/joint_windows.cpp): what they load and leave.
#include <fmt/format.h>

#include "kernel_test.h"

namespace {

constexpr unsigned kJointTileWords = 512;

class JointWindows : public KernelTest {
 protected:
  /// A tile of words i * 5 + 1; what is left of it after the body, and of %x by thread. %two steps by two
  /// words from thread to thread, %three by three, %left by pairs of four; %p says which threads are odd.
  std::vector<std::uint32_t> results(const std::string& body, unsigned threads) {
    load_text(fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
 .reg .b32 %t, %i, %two, %three, %left, %tile, %x, %y, %z; .reg .b64 %out, %at; .reg .pred %p, %q;
 .shared .align 4 .b8 tile[{0}];
 mov.u32 %t, %tid.x; mov.u32 %tile, tile; mov.u32 %x, 0; mov.u32 %i, %t;
FILL:
 mad.lo.u32 %z, %i, 4, %tile; mad.lo.u32 %y, %i, 5, 1; st.shared.u32 [%z], %y;
 add.u32 %i, %i, {1}; setp.lt.u32 %q, %i, {2}; @%q bra FILL;
 mad.lo.u32 %two, %t, 8, %tile; mad.lo.u32 %three, %t, 12, %tile;
 and.b32 %z, %t, 3; shl.b32 %left, %t, 1; sub.u32 %left, %left, %z; mad.lo.u32 %left, %left, 4, %tile;
 and.b32 %z, %t, 1; setp.eq.u32 %p, %z, 1;
 bar.sync 0;
{3}
 bar.sync 0;
 ld.param.u64 %out, [out]; mul.wide.u32 %at, %t, 4; add.u64 %at, %out, %at; st.global.u32 [%at+{0}], %x;
 mov.u32 %i, %t;
GIVE:
 mad.lo.u32 %z, %i, 4, %tile; ld.shared.u32 %y, [%z];
 mul.wide.u32 %at, %i, 4; add.u64 %at, %out, %at; st.global.u32 [%at], %y;
 add.u32 %i, %i, {1}; setp.lt.u32 %q, %i, {2}; @%q bra GIVE;
 ret;
}})",
                          4 * kJointTileWords, threads, kJointTileWords, body));
    auto out = buffer(std::vector<std::uint32_t>(kJointTileWords + threads));
    run(*module().kernel("k"), {.grid = {1}, .block = {threads}}, out);
    return contents(out);
  }

  /// By blocks of whole warps, and others.
  /// @param change  (thread, tile, x), thread by thread
  template <class Change>
  void expect(const std::string& body, const Change& change) {
    for (unsigned threads : {64u, 72u}) {
      std::vector<std::uint32_t> all(kJointTileWords + threads);
      for (unsigned i = 0; i < kJointTileWords; ++i) all[i] = i * 5 + 1;
      for (unsigned t = 0; t < threads; ++t) change(t, all.data(), all[kJointTileWords + t]);
      EXPECT_EQ(results(body, threads), all) << body;
    }
  }
};
ON_EVERY_ENGINE(JointWindows);

TEST_P(JointWindows, PairsAreExchanged) {
  const std::string exchange =
      "ld.shared.u32 %y, [{0}+{1}]; ld.shared.u32 %z, [{0}]; sub.u32 %x, %y, %z; "
      "st.shared.u32 [{0}], %y; st.shared.u32 [{0}+{1}], %z;";
  expect(fmt::format(fmt::runtime(exchange), "%two", 4),
         [](unsigned t, std::uint32_t* tile, std::uint32_t& x) {
           x = 5;
           std::swap(tile[2 * t], tile[2 * t + 1]);
         });
  expect(fmt::format(fmt::runtime(exchange), "%left", 16),
         [](unsigned t, std::uint32_t* tile, std::uint32_t& x) {
           const unsigned left = 2 * t - t % 4;
           x = 20;
           std::swap(tile[left], tile[left + 4]);
         });
}

TEST_P(JointWindows, ByLanesThatAreThere) {
  const auto odd = [](unsigned t, std::uint32_t* tile, std::uint32_t& x) {
    if (t % 2 == 0) return;
    x = tile[2 * t];
    tile[2 * t] = t;
    tile[2 * t + 1] = x;
  };
  expect(
      "@!%p bra NOT; ld.shared.u32 %y, [%two+4]; ld.shared.u32 %x, [%two]; "
      "st.shared.u32 [%two], %t; st.shared.u32 [%two+4], %x;\nNOT:",
      (odd));
}

TEST_P(JointWindows, MembersOfStructures) {
  expect(
      "ld.shared.u32 %x, [%three+4]; ld.shared.u32 %y, [%three]; ld.shared.u32 %z, [%three+8];"
      "add.u32 %x, %x, %y; st.shared.u32 [%three+8], %x; st.shared.u32 [%three], %t; "
      "st.shared.u32 [%three+4], %z;",
      [](unsigned t, std::uint32_t* tile, std::uint32_t& x) {
        std::uint32_t* mine = tile + 3 * t;
        x = mine[0] + mine[1];
        mine[1] = mine[2];
        mine[0] = t;
        mine[2] = x;
      });
}

TEST_P(JointWindows, WhatTheFirstLoadsMayBeTheAddressOfTheSecond) {
  expect(
      "st.shared.u32 [%two+1024], %three; ld.shared.u32 %two, [%two+1024]; ld.shared.u32 %x, [%two+4]; "
      "mad.lo.u32 %two, %t, 8, %tile; st.shared.u32 [%two+1024], 7;",
      [](unsigned t, std::uint32_t* tile, std::uint32_t& x) {
        x = tile[3 * t + 1];
        tile[256 + 2 * t] = 7;
      });
}

TEST_P(JointWindows, TheLaterOfTwoToOnePlaceStays) {
  expect(
      "st.shared.u32 [%two], %t; st.shared.u32 [%two], %tile; st.shared.u32 [%two], 9; "
      "ld.shared.u32 %x, [%two]; ld.shared.u32 %y, [%two+4]; ld.shared.u32 %x, [%two+4];",
      [](unsigned t, std::uint32_t* tile, std::uint32_t& x) {
        tile[2 * t] = 9;
        x = tile[2 * t + 1];
      });
}

// Addresses are 32 bits wide: register and offset add up modulo 2^32.
TEST_P(JointWindows, AddressesWrap) {
  expect(
      "sub.u32 %z, %two, 32768; ld.shared.u32 %x, [%z+32768]; "
      "ld.shared.u32 %y, [%z+32772]; add.u32 %x, %x, %y;",
      [](unsigned t, std::uint32_t* tile, std::uint32_t& x) { x = tile[2 * t] + tile[2 * t + 1]; });
}

TEST_P(JointWindows, OutsideFault) {
  load_text(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry k() {
 .reg .b32 %t, %x, %y;
 .shared .align 4 .b8 tile[1024];
 mov.u32 %t, %tid.x; mad.lo.u32 %t, %t, 8, 1048576;
 st.shared.u32 [%t], %t;
 st.shared.u32 [%t+4], %t;
 ret;
})");
  const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {32}});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().to_string().find("of the block's shared memory"), std::string::npos)
      << report.error().to_string();
  EXPECT_NE(report.error().to_string().find("PTX line 8"), std::string::npos) << report.error().to_string();
}

}  // namespace
