// malloc, free, new and delete in kernels, on every engine.
#include <algorithm>
#include <cstdint>

#include "kernel_test.h"

namespace {

class Heap : public KernelTest {};
ON_EVERY_ENGINE(Heap);

// proves: K-20d
TEST_P(Heap, ListsGrowOverLaunchesAndAreFreedByOtherThreads) {
  constexpr unsigned kThreads = 100;
  auto heads = buffer(std::vector<std::uint64_t>(kThreads));
  auto sums = buffer(std::vector<std::int64_t>(kThreads, -1));
  run(kernel("heap.ptx", "extend"), {.grid = {2}, .block = {50}}, heads, 0, 5);
  run(kernel("heap.ptx", "extend"), {.grid = {1}, .block = {100}}, heads, 5, 3);
  run(kernel("heap.ptx", "sum_and_free"), {.grid = {4}, .block = {32}}, heads, sums,
      static_cast<int>(kThreads));
  std::vector<std::int64_t> want;
  for (unsigned i = 0; i < kThreads; ++i) {
    std::int64_t sum = 0;
    for (int place = 0; place < 8; ++place) sum = sum * 3 + (7 - place) + 1000 * std::int64_t{i} + place;
    want.push_back(sum);
  }
  EXPECT_EQ(contents(sums), want);
  EXPECT_EQ(contents(heads), std::vector<std::uint64_t>(kThreads));
}

// The heap has the size that the device was opened with; the next launch gets what one frees.
// proves: K-20d
TEST_P(Heap, AnExhaustedHeapGivesNullAndRecovers) {
  options_.heap_bytes = 1 << 20;
  constexpr unsigned kThreads = 40;
  constexpr int kMost = 2000;
  constexpr std::uint64_t kBytes = 1000;  // and a header
  auto pieces = buffer(std::vector<std::uint64_t>(kThreads * kMost));
  for (int round = 0; round < 3; ++round) {
    auto counts = buffer(std::vector<int>(kThreads));
    run(kernel("heap.ptx", "exhaust"), {.grid = {2}, .block = {kThreads / 2}}, pieces, counts, kMost, kBytes);
    int total = 0;
    for (const int count : contents(counts)) {
      EXPECT_GE(count, 0);
      total += count;
    }
    EXPECT_EQ(total, (1 << 20) / 1024) << round;
    run(kernel("heap.ptx", "release"), {.grid = {2}, .block = {kThreads / 2}}, pieces, counts, kMost);
  }
}

TEST_P(Heap, SizesAndAlignment) {
  const std::vector<std::uint64_t> bytes = {
      1, 0, 16, 17, 100000, 8u << 20, std::uint64_t{1} << 40, ~std::uint64_t{0}};
  auto sizes = buffer(bytes), addresses = buffer(std::vector<std::uint64_t>(bytes.size(), 1));
  run(kernel("heap.ptx", "allocate"), {.grid = {1}, .block = {static_cast<unsigned>(bytes.size())}},
      addresses, sizes);
  const std::vector<std::uint64_t> got = contents(addresses);
  for (const std::size_t i : {0, 2, 3, 4}) {
    EXPECT_NE(got[i], 0u) << bytes[i];
    EXPECT_EQ(got[i] % 16, 0u) << bytes[i];
  }
  for (const std::size_t i : {1, 5, 6, 7}) EXPECT_EQ(got[i], 0u) << bytes[i];  // the default heap has 8 MiB
}

TEST_P(Heap, NewAndDeleteConstructAndDestroy) {
  auto live = buffer(std::vector<int>(1)), most = buffer(std::vector<int>(1));
  run(kernel("heap.ptx", "new_and_delete"), {.grid = {1}, .block = {75}}, live, most);
  EXPECT_EQ(contents(live)[0], 0);
  EXPECT_EQ(contents(most)[0], 75);
}

TEST_P(Heap, FreeingWhatIsNoChunkIsAFault) {
  auto other = buffer(std::vector<int>(64));
  run(kernel("heap.ptx", "free_address"), {.grid = {1}, .block = {1}}, std::uint64_t{0});
  auto failed =
      try_run(kernel("heap.ptx", "free_address"), {.grid = {1}, .block = {1}}, other.address().value);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, raddle::ErrorCode::kernel_fault);
  EXPECT_NE(failed.error().message.find("free_address"), std::string::npos) << failed.error().message;
}

}  // namespace
