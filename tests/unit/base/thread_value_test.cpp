#include "base/thread_value.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define RADDLE_LSAN 1
#endif
#endif

namespace raddle {
namespace {

int alive = 0;

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  std::vector<int> numbers;
};

Counted& counted() { return thread_value<Counted, struct Mine>(); }

TEST(ThreadValue, BelongsToItsThreadAndTag) {
  counted().numbers = {1, 2};
  EXPECT_EQ(&counted(), &counted());
  EXPECT_NE(&counted(), (&thread_value<Counted, struct Other>()));
  std::thread([] {
    EXPECT_TRUE(counted().numbers.empty());
    EXPECT_EQ(alive, 3);
  }).join();
  EXPECT_EQ(alive, 2);
}

std::size_t numbers_at_the_end = 0;

struct UsesItLate {
  ~UsesItLate() {
#ifdef RADDLE_LSAN
    __lsan::ScopedDisabler stays_on_purpose;
#endif
    counted().numbers.push_back(5);
    numbers_at_the_end = counted().numbers.size();
  }
};

TEST(ThreadValue, IsMadeAnewAfterItsEnd) {
  std::thread([] {
    thread_local UsesItLate late;  // made before the value, so destroyed after it
    (void)&late;
    counted().numbers = {1, 2, 3};
  }).join();
  EXPECT_EQ(numbers_at_the_end, 1u);
}

}  // namespace
}  // namespace raddle
