// Remote accesses of the interpreter: where they go is what the tables say (exec/routing.h).
#include <gtest/gtest.h>

#include "test_machine.h"

namespace raddle::interp {
namespace {

/// Two CTAs read, write and count in each other's memory, by shared and generic addresses.
constexpr const char* kExchange = R"(.visible .entry k(.param .u64 out) {
  .shared .align 16 .b32 words[4];
  .shared .align 8 .b64 signal;
  .reg .b64 %out, %there, %state;
  .reg .b32 %rank, %peer, %a, %b, %v, %w;
  .reg .pred %first, %done;
  ld.param.u64 %out, [out];
  mov.u32 %rank, %cluster_ctarank;
  xor.b32 %peer, %rank, 1;
  setp.eq.u32 %first, %rank, 0;
  mad.wide.u32 %out, %rank, 16, %out;
  add.u32 %v, %rank, 40;
  st.shared.u32 [words], %v;
  st.shared.u32 [words + 4], 0;
  st.shared.u32 [words + 8], 0;
  mbarrier.init.shared.b64 [signal], 1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %a, words;
  mapa.shared::cluster.u32 %b, %a, %peer;
  ld.shared::cluster.u32 %v, [%b];
  st.global.u32 [%out], %v;
  add.u32 %v, %v, 100;
  st.shared::cluster.u32 [%b + 4], %v;
  cvt.u64.u32 %there, %a;
  cvta.shared.u64 %there, %there;
  mapa.u64 %there, %there, %peer;
  atom.cluster.add.u32 %w, [%there + 8], 7;
  mov.u32 %a, signal;
  mapa.shared::cluster.u32 %a, %a, %peer;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%a];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [signal], 0;
  @!%done bra WAIT;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.shared.u32 %v, [words + 4];
  st.global.u32 [%out + 4], %v;
  ld.shared.u32 %v, [words + 8];
  st.global.u32 [%out + 8], %v;
  ret;
})";

// proves: W-17d, W-17f
TEST(InterpreterClusters, AccessesFollowMemoryThatMoves) {
  for (const std::uint32_t moved : {0u, 1024u, 64u << 10}) {
    TestMachine machine;
    ASSERT_TRUE(machine.load(".version 8.7\n.target sm_90\n.address_size 64\n" + std::string(kExchange)))
        << machine.error;
    machine.cluster = 2, machine.moved = moved;
    std::vector<std::uint32_t> out(8);
    EXPECT_EQ(machine.run("k", 1, {address_of(out)}), exec::FaultKind::none)
        << machine.error << machine.outcome.problem;
    EXPECT_EQ(out, (std::vector<std::uint32_t>{41, 140, 7, 0, 40, 141, 7, 0})) << "moved by " << moved;
  }
}

}  // namespace
}  // namespace raddle::interp
