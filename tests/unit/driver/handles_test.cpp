// Handles: what is stale, invented or of another type is found out.
#include "driver/handles.h"

#include <gtest/gtest.h>

namespace raddle::driver {
namespace {

using Table = HandleTable<int, 3>;

TEST(Handles, AreFoundUntilRemoved) {
  Table table;
  void* a = table.add<void*>(std::make_shared<int>(1));
  void* b = table.add<void*>(std::make_shared<int>(2));
  EXPECT_EQ(*table.find(a), 1);
  EXPECT_EQ(*table.remove(a), 1);
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_EQ(table.remove(a), nullptr);
  EXPECT_EQ(*table.find(b), 2);
}

TEST(Handles, OfReusedSlotsAreNew) {
  Table table;
  void* old = table.add<void*>(std::make_shared<int>(1));
  table.remove(old);
  void* fresh = table.add<void*>(std::make_shared<int>(2));
  EXPECT_NE(old, fresh);
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(*table.find(fresh), 2);
}

TEST(Handles, OfOtherTablesAndNumbersAreNone) {
  Table table;
  HandleTable<int, 4> other;
  void* a = table.add<void*>(std::make_shared<int>(1));
  EXPECT_EQ(other.find(a), nullptr);
  EXPECT_EQ(table.find(nullptr), nullptr);
  EXPECT_EQ(table.find(&table), nullptr);
  for (std::uint64_t number = 0; number < 4096; ++number)
    EXPECT_EQ(table.find(reinterpret_cast<void*>(number << 2)), nullptr);
}

TEST(Handles, EndTogether) {
  Table table;
  void* a = table.add<void*>(std::make_shared<int>(1));
  void* b = table.add<void*>(std::make_shared<int>(2));
  table.remove_if([](int value) { return value == 1; });
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_NE(table.find(b), nullptr);
}

}  // namespace
}  // namespace raddle::driver
