// Grids of short blocks, whose code goes on from block to block: coordinates along all axes, and whom a fault
// in the middle names.
#include <fmt/format.h>

#include <cstdint>

#include "kernel_test.h"

namespace {

constexpr const char* kKernels = R"(.version 8.4
.target sm_90
.address_size 64
// out[thread of the grid] += x | y << 12 | z << 22 of the block; block (bad, 1, 0) writes there + wild.
.visible .entry coordinates(.param .u64 out, .param .u64 wild, .param .u32 bad)
{
  .reg .pred %p, %q;
  .reg .b32 %x, %y, %z, %n, %m, %t, %block, %bad, %old;
  .reg .b64 %out, %wild;
  ld.param.u64 %out, [out];
  ld.param.u64 %wild, [wild];
  ld.param.u32 %bad, [bad];
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  mov.u32 %z, %ctaid.z;
  mov.u32 %n, %nctaid.x;
  mov.u32 %m, %nctaid.y;
  mad.lo.u32 %block, %z, %m, %y;
  mad.lo.u32 %block, %block, %n, %x;
  mov.u32 %n, %ntid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %block, %block, %n, %t;
  mad.wide.u32 %out, %block, 4, %out;
  setp.eq.u32 %p, %x, %bad;
  setp.eq.and.u32 %q, %y, 1, %p;
  @%q add.s64 %out, %out, %wild;
  ld.global.u32 %old, [%out];
  shl.b32 %y, %y, 12;
  shl.b32 %z, %z, 22;
  or.b32 %x, %x, %y;
  or.b32 %x, %x, %z;
  add.u32 %x, %x, %old;
  st.global.u32 [%out], %x;
  ret;
}
)";

class Followers : public KernelTest {
 protected:
  raddle::Kernel coordinates() {
    load_text(kKernels);
    auto found = module().kernel("coordinates");
    EXPECT_TRUE(found.ok());
    return *found;
  }
};
ON_EVERY_ENGINE(Followers);

TEST_P(Followers, KnowWhereTheyStand) {
  const raddle::Kernel kernel = coordinates();
  for (const auto& [x, y, z] : {std::array{300u, 3u, 2u}, {1u, 9u, 5u}, {700u, 1u, 1u}, {33u, 4u, 3u}})
    for (const unsigned threads : {32u, 40u, 96u}) {
      std::vector<std::uint32_t> want;
      for (unsigned i = 0; i < x * y * z * threads; ++i) {
        const unsigned block = i / threads;
        want.push_back(block % x | block / x % y << 12 | block / (x * y) << 22);
      }
      auto out = buffer(std::vector<std::uint32_t>(want.size()));
      run(kernel, {.grid = {x, y, z}, .block = {threads}}, out, std::uint64_t{0}, ~0u);
      ASSERT_EQ(contents(out), want) << x << ' ' << y << ' ' << z << ' ' << threads;
    }
}

TEST_P(Followers, AFaultNamesTheOneThatMadeIt) {
  const raddle::Kernel kernel = coordinates();
  auto out = buffer(std::vector<std::uint32_t>(200 * 3 * 64));
  const auto failed = try_run(kernel, {.grid = {200, 3}, .block = {64}}, out, std::uint64_t{1} << 40, 130u);
  ASSERT_FALSE(failed.ok());
  const std::string& message = failed.error().message;
  EXPECT_NE(message.find("block (130,1,0)"), std::string::npos) << message;
}

}  // namespace
