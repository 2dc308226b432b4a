// Bulk copies on every engine, in kernels as nvcc compiles them.
#include "exec/tensor_map.h"
#include "kernel_test.h"

namespace {

using Values = std::vector<int>;
constexpr int kTile = 1024;

class Bulk : public KernelTest {
 protected:
  static Values numbers(int count) {
    Values values(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i * 7919 % 100'003;
    return values;
  }
  static Values changed(Values values) {
    for (int& value : values) value = 2 * value + 1;
    return values;
  }
};
ON_EVERY_ENGINE(Bulk);

// proves: T-11a, T-11c, T-15a, T-15d, T-15e
TEST_P(Bulk, ThroughSharedMemoryAndBack) {
  const Values in = numbers(24 * kTile);
  auto data = buffer(in), out = buffer(Values(in.size()));
  run(kernel("bulk.ptx", "through"), {.grid = {24}, .block = {96}}, data, out);
  EXPECT_EQ(contents(out), changed(in));
}

TEST_P(Bulk, ARingOfStages) {
  const Values in = numbers(11 * kTile);
  auto data = buffer(in), out = buffer(Values(in.size()));
  run(kernel("bulk.ptx", "ring"), {.grid = {1}, .block = {128}}, data, out, 11);
  EXPECT_EQ(contents(out), changed(in));
}

// proves: T-12a, T-12b
TEST_P(Bulk, ToAllMembersOfACluster) {
  for (std::uint32_t size : {1u, 4u, 8u}) {
    const std::uint32_t blocks = 3 * size;
    const Values in = numbers(3 * kTile);
    auto data = buffer(in), out = buffer(Values(blocks * kTile));
    run(kernel("bulk.ptx", "multicast"), {.grid = {blocks}, .block = {64}, .cluster = {size}}, data, out);
    Values expected;
    for (std::uint32_t block = 0; block < blocks; ++block)
      for (int i = 0; i < kTile; ++i)
        expected.push_back(in[block / size * kTile + static_cast<std::size_t>(i)] +
                           static_cast<int>(block % size));
    EXPECT_EQ(contents(out), expected) << size;
  }
}

// proves: T-11d
TEST_P(Bulk, FromMemberToMember) {
  const std::uint32_t size = 4, blocks = 8;
  const Values in = numbers(blocks * kTile);
  auto data = buffer(in), out = buffer(Values(in.size()));
  run(kernel("bulk.ptx", "pass_on"), {.grid = {blocks}, .block = {64}, .cluster = {size}}, data, out);
  Values expected;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t from = block / size * size + (block + size - 1) % size;
    expected.insert(expected.end(), in.begin() + from * kTile, in.begin() + (from + 1) * kTile);
  }
  EXPECT_EQ(contents(out), expected);
}

// proves: T-13f, T-14e
TEST_P(Bulk, BlocksAddUp) {
  const int blocks = 40;
  const Values in = numbers(blocks * kTile);
  auto data = buffer(in), out = buffer(Values(kTile, 5));
  run(kernel("bulk.ptx", "add"), {.grid = {blocks}, .block = {64}}, data, out);
  Values expected(kTile, 5);
  for (std::size_t i = 0; i < in.size(); ++i) expected[i % kTile] += in[i];
  EXPECT_EQ(contents(out), expected);
}

struct alignas(64) Map {
  std::byte bytes[raddle::exec::kTensorMapBytes];
};

/// u32, `width` x `height`, boxes of 32 x 32.
Map map_of(std::uint64_t address, std::uint64_t width, std::uint64_t height) {
  Map made;
  raddle::exec::TensorMap map;
  map.element = raddle::exec::TensorMap::Element::u32;
  map.rank = 2;
  map.address = address;
  map.size = {width, height};
  map.stride = {4, width * 4};
  map.box = {32, 32};
  map.step = {1, 1};
  encode(map, made.bytes);
  return made;
}

// proves: T-3a, T-4a, T-5f, T-11a, T-11c
TEST_P(Bulk, BlocksOfATensorTurned) {
  constexpr int kWidth = 100, kHeight = 68;  // no multiples of the box
  const Values in = numbers(kWidth * kHeight);
  auto data = buffer(in), out = buffer(Values(in.size()));
  run(kernel("bulk.ptx", "transpose"), {.grid = {4, 3}, .block = {64}},
      map_of(data.address().value, kWidth, kHeight), map_of(out.address().value, kHeight, kWidth));
  Values expected(in.size());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      expected[static_cast<std::size_t>(x * kHeight + y)] = in[static_cast<std::size_t>(y * kWidth + x)];
  EXPECT_EQ(contents(out), expected);
}

}  // namespace
