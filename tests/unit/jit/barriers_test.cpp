// How blocks run whose lanes part before a barrier: behind it none is elsewhere, so that those which part
// before the next one do not meet them.
#include <gtest/gtest.h>

#include "jit/engine.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// Every lane waits for a word of its own; later, some pass what others do. `between` is what lies in
/// between.
exec::BlockKind kind_of(const std::string& between) {
  auto module = ptx::parse(R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry k (.param .u64 flags)
{
  .reg .pred %p;
  .reg .b32 %t, %v;
  .reg .b64 %a;
  ld.param.u64 %a, [flags];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %a, %t, 4, %a;
  bar.sync 0;
AGAIN:
  ld.volatile.global.u32 %v, [%a];
  setp.eq.u32 %p, %v, 0;
  @%p bra AGAIN;
)" + between + R"(
  setp.gt.u32 %p, %v, 7;
  @%p bra PASSED;
  st.global.u32 [%a], %t;
PASSED:
  bar.sync 0;
  ld.global.u32 %v, [%a+4];
  st.global.u32 [%a], %v;
  ret;
}
)",
                           "barriers");
  if (!module.ok()) {
    ADD_FAILURE() << module.error().to_string();
    return {};
  }
  auto engine = make_engine({.tier = Tier::optimised});
  auto code = engine->compile(*module, 0, {.block = {64, 1, 1}});
  if (code.ok()) return (*code)->kind;
  ADD_FAILURE() << code.error().to_string();
  return {};
}

TEST(Barriers, ToWhichAllHaveComeLeaveNobodyElsewhere) {
  EXPECT_EQ(kind_of("bar.sync 0;"), exec::BlockKind::regions);
  EXPECT_EQ(kind_of("bar.sync 0; add.u32 %v, %v, 1; bar.sync 0;"), exec::BlockKind::regions);
}

TEST(Barriers, OnTwoWaysOfLanesThatPartAreMetBySuspendedWarps) {
  EXPECT_EQ(kind_of("setp.gt.u32 %p, %v, 9; @%p bra PASSED; bar.sync 0;"), exec::BlockKind::fibers);
}

}  // namespace
}  // namespace raddle::jit
