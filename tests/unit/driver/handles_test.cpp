// Handles: what is stale, invented or of another type is found out.
#include "driver/handles.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace raddle::driver {
namespace {

struct Object {
  int value;
  void* handle = nullptr;
};
using Table = HandleTable<Object, void*, 3>;

TEST(Handles, AreFoundUntilRemoved) {
  Table table;
  void* a = table.add(std::make_shared<Object>(1));
  void* b = table.add(std::make_shared<Object>(2));
  EXPECT_EQ(table.find(a)->value, 1);
  EXPECT_EQ(table.remove(a)->value, 1);
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_EQ(table.remove(a), nullptr);
  EXPECT_EQ(table.find(b)->value, 2);
}

TEST(Handles, OfReusedSlotsAreNew) {
  Table table;
  void* old = table.add(std::make_shared<Object>(1));
  table.remove(old);
  void* fresh = table.add(std::make_shared<Object>(2));
  EXPECT_NE(old, fresh);
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.find(fresh)->value, 2);
}

TEST(Handles, OfOtherTablesAndNumbersAreNone) {
  Table table;
  HandleTable<Object, void*, 4> other;
  void* a = table.add(std::make_shared<Object>(1));
  EXPECT_EQ(other.find(a), nullptr);
  EXPECT_EQ(table.find(nullptr), nullptr);
  EXPECT_EQ(table.find(&table), nullptr);
  for (std::uint64_t number = 0; number < 4096; ++number)
    EXPECT_EQ(table.find(reinterpret_cast<void*>(number << 2)), nullptr);
}

TEST(Handles, EndTogether) {
  Table table;
  void* a = table.add(std::make_shared<Object>(1));
  void* b = table.add(std::make_shared<Object>(2));
  table.remove_if([](const Object& object) { return object.value == 1; });
  EXPECT_EQ(table.find(a), nullptr);
  EXPECT_NE(table.find(b), nullptr);
}

TEST(Handles, AreFoundByManyThreadsWhileOthersComeAndGo) {
  Table table;
  void* const stays = table.add(std::make_shared<Object>(1));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int value = 2; value < 6; ++value)
    threads.emplace_back([&, value] {
      for (int i = 0; i < 2000; ++i) {
        void* const own = table.add(std::make_shared<Object>(value));
        wrong += table.find(stays)->value != 1 || table.find(own)->value != value;
        wrong += table.remove(own)->value != value || table.find(own) != nullptr;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(table.all().size(), 1u);
}

}  // namespace
}  // namespace raddle::driver
