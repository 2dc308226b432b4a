// Where hosts without mask registers store whole vectors to shared memory, though some lanes alone write.
#include <fmt/format.h>

#include <regex>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// Of threads below n, which store to `place`, a word each, or every other one.
std::string storing(const std::string& store, const std::string& before = "") {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n) {{
 .reg .b64 %at; .reg .b32 %t, %n, %w, %v; .reg .pred %q;
 .shared .align 16 .b8 tile[1024];
 ld.param.u64 %at, [data];
 ld.param.u32 %n, [n];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %at, %t, 4, %at;
 mov.u32 %w, tile;
 mad.lo.u32 %v, %t, 8, %w;
 mad.lo.u32 %w, %t, 4, %w;
 setp.lt.u32 %q, %t, %n;
 {}
 @%q {};
 bar.sync 0;
 ld.shared.u32 %v, [%w];
 st.global.u32 [%at], %v;
 ret;
}})",
                     before, store);
}

/// Bytes that a warp's vectors span, of which code asks whether they lie in shared memory, as it writes all
/// of them. 0: it does not.
unsigned written(const std::string& ptx, SimdLevel level, bool clustered = false) {
  const std::string text = dump_of("ir", ptx, {.simd = level, .tier = Tier::optimised},
                                   {.block = {64, 1, 1}, .clustered = clustered});
  std::smatch asked;
  const std::regex question(R"(call i64 @llvm\.usub\.sat\.i64\(i64 %\w+, i64 (\d+)\))");
  return std::regex_search(text, asked, question) ? std::stoul(asked[1]) + 1 : 0;
}

TEST(StoresOfSome, ToSharedMemoryAreWholeWithoutMaskRegisters) {
  for (const auto& [store, bytes] : {std::pair("st.shared.u32 [%w], %n", 128u),
                                     {"st.shared.u32 [%v], %n", 256u},
                                     {"st.shared.u16 [%w], 5", 128u}}) {
    EXPECT_EQ(written(storing(store), SimdLevel::avx2), bytes) << store;
    EXPECT_EQ(written(storing(store), SimdLevel::sse42), bytes) << store;
    EXPECT_EQ(written(storing(store), SimdLevel::avx512), 0u) << store;
  }
}

TEST(StoresOfSome, NotToOtherMemory) {
  EXPECT_EQ(written(storing("st.global.u32 [%at], %n"), SimdLevel::avx2), 0u);
}

TEST(StoresOfSome, NotByAllLanes) {
  EXPECT_EQ(written(storing("bra all; all: st.shared.u32 [%w], %n"), SimdLevel::avx2), 0u);
}

TEST(StoresOfSome, NotWhereOthersMayWrite) {
  const char* kStore = "st.shared.u32 [%w], %n";
  EXPECT_EQ(written(storing(kStore), SimdLevel::avx2, true), 0u) << "a CTA of the cluster";
  const char* kCopy =
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%w], [%at], 16, [%v];";
  EXPECT_EQ(written(storing(kStore, kCopy), SimdLevel::avx2), 0u) << "a copy";
}

}  // namespace
}  // namespace raddle::jit
