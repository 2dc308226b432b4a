// Where arrays begin: loads from one wait for stores to another whose lowest 12 bits agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "machine/memory/device_memory.h"

namespace raddle::machine {
namespace {

TEST(DeviceMemory, ArraysInARowBeginElsewhereInTheirPages) {
  DeviceMemory memory(8ull << 30, DeviceSpace::instance(), Bounds::hardware);
  for (const std::uint64_t bytes : {64ull << 10, 100'000ull, 2ull << 20, 64ull << 20}) {
    std::set<std::uint64_t> starts;
    std::optional<std::uint64_t> last;
    for (int k = 0; k < 8; ++k) {
      const std::uint64_t address = memory.allocate(bytes)->value, start = address % 4096;
      EXPECT_EQ(address % 512, 0u) << bytes;
      starts.insert(start);
      if (last) EXPECT_GE(std::min((start - *last) % 4096, (*last - start) % 4096), 1024u) << bytes;
      last = start;
      *reinterpret_cast<volatile char*>(address + bytes - 1) = 1;
    }
    EXPECT_EQ(starts.size(), 8u) << bytes;
  }
}

}  // namespace
}  // namespace raddle::machine
