// Copies past the caches are copies, wherever they begin and end.
#include "base/past_caches.h"

#include <gtest/gtest.h>

#include <vector>

namespace raddle {
namespace {

TEST(PastCaches, CopiesWhatMemcpyCopies) {
  std::vector<std::byte> from(1024), to, expected;
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (std::size_t at = 0; at < 130; at += 3)
    for (std::size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 640}) {
      to.assign(1024, std::byte{0x5a});
      expected = to;
      copy_past_caches(to.data() + at, from.data() + at / 2, bytes);
      order_stores_past_caches();
      std::copy_n(from.begin() + static_cast<long>(at / 2), bytes, expected.begin() + static_cast<long>(at));
      ASSERT_EQ(to, expected) << bytes << " bytes to " << at;
    }
}

}  // namespace
}  // namespace raddle
