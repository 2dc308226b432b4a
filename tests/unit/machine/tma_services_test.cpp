// The tensor memory units of a machine: which SM's unit gets a block's requests.
#include <array>
#include <atomic>

#include "exec/bulk.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using TmaServices = MachineTest;

// proves: T-1a
TEST_F(TmaServices, EachSmHasAUnit) {
  open({.workers = 2});
  alignas(128) static std::byte memory[128];
  std::array<std::atomic<std::uint64_t>, 256> asked{};
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    const exec::BulkRequest request{.kind = exec::BulkKind{.direction = exec::BulkDirection::to_cache}.word(),
                                    .bytes = sizeof memory,
                                    .global = reinterpret_cast<std::uint64_t>(memory)};
    warp.cta->services->bulk_copy(&warp, 0, &request);
    ++asked[warp.cta->smid];
  });
  EXPECT_EQ(run(kernel, {.x = 300}).kind, exec::FaultKind::none);
  unsigned used = 0;
  for (std::uint32_t i = 0; i < machine_->shape().sm_count(); ++i) {
    const Sm& sm = machine_->launches().sm(i);
    used += asked[i] != 0;
    EXPECT_EQ(sm.tma ? sm.tma->counters().requests : 0, asked[i]) << "SM " << i;
  }
  EXPECT_GT(used, 1u);
}

// A request that is wrong stops its kernel alone.
TEST_F(TmaServices, AWrongRequestIsAFaultOfItsKernel) {
  open({.workers = 1});
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    warp.line = 12;
    const exec::BulkRequest request{.kind = exec::BulkKind{.direction = exec::BulkDirection::to_cache}.word(),
                                    .bytes = 8};
    warp.cta->services->bulk_copy(&warp, 3, &request);
  });
  const exec::Fault fault = run(kernel, {.x = 4});
  EXPECT_EQ(fault.kind, exec::FaultKind::illegal_instruction);
  EXPECT_EQ(fault.ptx_line, 12u);
  EXPECT_EQ(fault.tid[0], 3u);
  EXPECT_NE(fault.detail.find("8 bytes"), std::string::npos) << fault.detail;
}

}  // namespace
}  // namespace raddle::machine
