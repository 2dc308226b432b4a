// Which stores may go past the host's caches: of whole lines, of which nobody learns before the warps of the
// block have come to a barrier or their end.
#include <fmt/format.h>

#include "exec/abi.h"
#include "jit/unseen_stores.h"
#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// @param body  %at is an address that steps by 4 bytes, %wide one by 16
std::string kernel_text(const std::string& body) {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data) {{
 .reg .b64 %at, %far, %wide, %other; .reg .b32 %t, %x, %y, %z, %w; .reg .pred %p;
 .shared .align 16 .b8 tile[1024];
 ld.param.u64 %at, [data];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %wide, %t, 16, %at;
 mad.wide.u32 %far, %t, 8, %at;
 mad.wide.u32 %at, %t, 4, %at;
 mov.u64 %other, %at;
 add.u64 %other, %other, 65536;
 {}
 ret;
}})",
                     body);
}

/// With vectors of every width, of which the shorter are a part of a line.
bool goes_past_caches(const std::string& body) {
  const auto does = [&](SimdLevel simd) {
    const std::string text =
        dump_of("ir", kernel_text(body), {.simd = simd, .tier = Tier::optimised}, {.block = {64}});
    return text.find("!nontemporal") != std::string::npos;
  };
  const bool widest = does(SimdLevel::avx512);
  EXPECT_EQ(does(SimdLevel::avx2), widest) << body;
  EXPECT_EQ(does(SimdLevel::sse42), widest) << body;
  return widest;
}

TEST(PastCaches, StoresOfWholeLines) {
  EXPECT_TRUE(goes_past_caches("st.global.u32 [%at], %t;"));
  EXPECT_TRUE(goes_past_caches("st.u32 [%at], %t;"));
  EXPECT_TRUE(goes_past_caches("st.global.v4.u32 [%wide], {%t, %t, %t, %t};"));
  EXPECT_TRUE(goes_past_caches("ld.global.u32 %x, [%other]; st.global.u32 [%at], %x;"));
  EXPECT_FALSE(goes_past_caches("st.global.u32 [%far], %t;")) << "every other word";
  EXPECT_FALSE(goes_past_caches("and.b32 %x, %t, 24; mad.wide.u32 %at, %x, 4, %at; st.global.u32 [%at], %t;"))
      << "every other eight words";
}

TEST(PastCaches, NotWhatTheThreadHasRead) {
  EXPECT_FALSE(goes_past_caches("ld.global.u32 %x, [%at]; add.u32 %x, %x, 1; st.global.u32 [%at], %x;"));
}

const std::string kStore = "st.global.u32 [%at], %t; ";

TEST(PastCaches, NotWhereOthersLearnOfIt) {
  EXPECT_FALSE(goes_past_caches(kStore + "membar.gl;"));
  EXPECT_FALSE(goes_past_caches(kStore + "fence.acq_rel.gpu;"));
  EXPECT_FALSE(goes_past_caches(kStore + "st.release.gpu.global.u32 [%other], %t;"));
  EXPECT_FALSE(goes_past_caches(kStore + "st.volatile.global.u32 [%other], %t;"));
  EXPECT_FALSE(goes_past_caches(kStore + "ld.acquire.gpu.global.u32 %x, [%other];"));
  EXPECT_FALSE(goes_past_caches(kStore + "atom.global.add.u32 %x, [%other], 1;"));
  EXPECT_FALSE(goes_past_caches(kStore + "red.global.add.u32 [%other], 1;"));
  EXPECT_FALSE(goes_past_caches("st.volatile.global.u32 [%at], %t;"));
  EXPECT_FALSE(goes_past_caches("st.shared.u32 [tile], %t;"));
}

TEST(PastCaches, WhatComesBeforeTellsNobody) {
  EXPECT_TRUE(goes_past_caches("membar.gl; " + kStore));
  EXPECT_TRUE(goes_past_caches("atom.global.add.u32 %x, [%other], 1; " + kStore));
  EXPECT_TRUE(
      goes_past_caches("st.shared.u32 [tile], %t; bar.sync 0; ld.shared.u32 %t, [tile+4]; " + kStore));
  EXPECT_FALSE(goes_past_caches("again: atom.global.add.u32 %x, [%other], 1; " + kStore +
                                "setp.lt.u32 %p, %x, 9; @%p bra again;"))
      << "the next turn does";
}

// The worker orders the stores where a region ends.
TEST(PastCaches, BarriersOrderThem) {
  EXPECT_TRUE(goes_past_caches(kStore + "bar.sync 0;"));
  EXPECT_TRUE(goes_past_caches(kStore + "bar.sync 0; st.release.gpu.global.u32 [%other], %t;"));
  EXPECT_TRUE(goes_past_caches(kStore + "bar.sync 0; ld.shared.u32 %x, [tile];"));
  EXPECT_FALSE(goes_past_caches(kStore + "bar.sync 0; ld.global.u32 %x, [%other];")) << "it may want them";
  EXPECT_FALSE(goes_past_caches(kStore + "bar.sync 1;")) << "no region ends there";
}

TEST(PastCaches, StoresInLoopsCountForTheirTurns) {
  const auto bytes_of = [](const std::string& body) {
    auto module = ptx::parse(kernel_text(body));
    EXPECT_TRUE(module.ok()) << module.error().to_string();
    const ptx::Function& f = module->functions[0];
    return stored_bytes(f, linear_order(*module, f, ptx::build_cfg(f)));
  };
  const std::string store = "st.global.v2.u32 [%at], {%x, %x}; ";
  EXPECT_EQ(bytes_of(store), 8u);
  EXPECT_EQ(bytes_of(store + "again: st.global.u32 [%at], %x; setp.lt.u32 %p, %x, 9; @%p bra again;"), 40u);
  EXPECT_EQ(bytes_of("again: st.shared.u32 [%at], %x; @%p bra again;"), 0u);
}

TEST(PastCaches, BytesOfAThreadDecide) {
  exec::LaunchContext launch{};
  EXPECT_FALSE(launch.outgrows_caches(~0u)) << "0: never";
  launch.past_caches = 17;
  EXPECT_FALSE(launch.outgrows_caches(16));
  EXPECT_TRUE(launch.outgrows_caches(17));
}

}  // namespace
}  // namespace raddle::jit
