// Invariants of the distributor under random load: any machine, policy, mix of grids and order of events.
#include "random_events.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "sanitized.h"

namespace raddle::machine::testing {

namespace {
rc::Gen<Event> any_event() {
  return rc::gen::construct<Event>(rc::gen::inRange<std::uint8_t>(0, 16),
                                   rc::gen::inRange<std::uint16_t>(0, 0xffff),
                                   rc::gen::inRange<std::uint16_t>(0, 0xffff));
}
rc::Gen<Setup> any_setup() {
  const auto any = [] { return rc::gen::inRange<std::uint32_t>(0, 1u << 30); };
  return rc::gen::construct<Setup>(any(), any(), any(), any());
}

// proves: W-2a, W-2b, W-4a, W-4c, W-4d, W-9b, W-9c, W-9f, W-9g, W-11d, W-11f, W-12b, W-12c, W-16c, W-16d, W-23a, W-24d
TEST(DistributorInvariants, HoldUnderRandomEvents) {
  const int events =
      std::getenv("RADDLE_TEST_ALL") != nullptr && !kSanitized ? 6'000 : 600;  // at most, in each of 100 runs
  EXPECT_TRUE(rc::check("the distributor's model is the truth, and everything gets on", [events] {
    RandomEvents random(*rc::gen::resize(100, any_setup()));
    for (const Event& event : *rc::gen::resize(events, rc::gen::container<std::vector<Event>>(any_event()))) {
      random.happen(event);
      if (random.failure()) RC_FAIL(*random.failure());
    }
    random.finish();
    if (random.failure()) RC_FAIL(*random.failure());
  }));
}

}  // namespace
}  // namespace raddle::machine::testing
