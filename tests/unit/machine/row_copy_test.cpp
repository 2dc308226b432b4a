// Copies of rows by each width of vectors against the definition of swizzles.
#include "machine/tma/row_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace raddle::machine {
namespace {

constexpr std::uint32_t kCopiedRows = 19, kCopiedStride = 400, kCopyMemory = 16 << 10;

class RowCopies : public testing::Test {
 protected:
  RowCopies() {
    std::iota(from_.begin(), from_.end(), 1u);
    for (auto& each : from_) each = each * 2654435761u >> 8;
  }
  const std::byte* from() const { return reinterpret_cast<const std::byte*>(from_.data()) + 16; }

  void compare(const RowShape& shape, std::uint32_t shared, CopyVectors vectors) {
    std::vector<std::byte> expected(kCopyMemory), memory(kCopyMemory);
    for (std::uint32_t row = 0; row < shape.count; ++row)
      for (std::uint32_t i = 0; i < shape.bytes; ++i)
        expected[swizzled(shared + row * shape.pitch + i, shape.swizzle)] = from()[row * shape.stride + i];
    copier_of(shape, shared, vectors)(shape, from(), memory.data(), shared);
    EXPECT_EQ(std::memcmp(memory.data(), expected.data(), kCopyMemory), 0)
        << "rows of " << shape.bytes << " bytes, " << shape.pitch << " apart, from " << shared
        << " on, swizzle " << static_cast<unsigned>(shape.swizzle) << ", vectors "
        << static_cast<unsigned>(vectors);
  }

 private:
  std::vector<std::uint32_t> from_ = std::vector<std::uint32_t>(4096);
};

TEST_F(RowCopies, AreWhatSwizzlesSay) {
  for (const auto vectors : {CopyVectors::none, CopyVectors::avx2, CopyVectors::avx512}) {
    if (vectors > host_vectors()) continue;
    for (const auto swizzle : {exec::TensorMap::Swizzle::none, exec::TensorMap::Swizzle::bytes32,
                               exec::TensorMap::Swizzle::bytes64, exec::TensorMap::Swizzle::bytes128})
      for (const std::uint32_t bytes : {32u, 64u, 96u, 128u, 256u, 384u})
        for (const std::uint32_t pitch : {bytes, (bytes + 63) / 64 * 64, (bytes + 127) / 128 * 128})
          for (const std::uint32_t shared : {0u, 32u, 64u, 128u, 896u, 1024u})
            compare({.bytes = bytes,
                     .count = kCopiedRows,
                     .stride = kCopiedStride,
                     .pitch = pitch,
                     .swizzle = swizzle},
                    shared, vectors);
  }
}

}  // namespace
}  // namespace raddle::machine
