// Tensor maps: the 128 bytes keep what was put into them, and every limit of cuda.h is one on both sides.
#include "exec/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>

namespace {

using namespace raddle::exec;
using testing::HasSubstr;
using Element = TensorMap::Element;
using Interleave = TensorMap::Interleave;
using Swizzle = TensorMap::Swizzle;

constexpr std::uint64_t k2To32 = std::uint64_t{1} << 32;
constexpr std::uint64_t k2To40 = std::uint64_t{1} << 40;

TensorMap tiled() {
  TensorMap m;
  m.element = Element::f16;
  m.rank = 5;
  m.address = 0x10000;
  m.size = {64, 32, 16, 8, 4};
  m.stride = {2, 128, 4096, 65536, 524288};
  m.box = {16, 4, 3, 2, 1};
  m.step = {1, 1, 2, 3, 8};
  return m;
}
TensorMap im2col() {
  TensorMap m = tiled();
  m.mode = TensorMap::Mode::im2col;
  m.box = {};
  m.lower = {-16, -1, 0};
  m.upper = {15, -1, 0};
  m.channels = 8;
  m.pixels = 64;
  return m;
}
TensorMap with_rank(TensorMap m, unsigned rank) {
  m.rank = rank;
  for (unsigned d = rank; d < kMaxTensorRank; ++d) m.size[d] = m.stride[d] = m.box[d] = m.step[d] = 0;
  return m;
}

struct EncodedBytes {
  std::byte bytes[kTensorMapBytes];
};
EncodedBytes encoded(const TensorMap& map) {
  EncodedBytes to;
  encode(map, to.bytes);
  return to;
}

using Edit = std::function<void(TensorMap&)>;

/// What `edit` makes of `map` is refused with a message that contains `says`.
void not_encodable(TensorMap map, const Edit& edit, const std::string& says) {
  edit(map);
  auto checked = check(map);
  ASSERT_FALSE(checked) << says;
  EXPECT_THAT(checked.error().message, HasSubstr(says));
}
/// Nor is it after encoding: kernels can write such a value into a map.
void refused(TensorMap map, const Edit& edit, const std::string& says) {
  not_encodable(map, edit, says);
  edit(map);
  EXPECT_FALSE(decode_tensor_map(encoded(map).bytes)) << says;
}
void accepted(TensorMap map, const Edit& edit) {
  edit(map);
  auto checked = check(map);
  EXPECT_TRUE(checked) << checked.error().message;
}

// proves: T-2a, T-2b, T-2c, T-2d, T-7a
TEST(TensorMaps, KeepsWhatIsEncoded) {
  std::mt19937 random(1);
  auto up_to = [&](unsigned most) { return random() % (most + 1); };
  for (int i = 0; i < 2000; ++i) {
    TensorMap m;
    m.mode = static_cast<TensorMap::Mode>(up_to(1));
    m.element = static_cast<Element>(up_to(12));
    m.rank = m.mode == TensorMap::Mode::im2col ? 3 + up_to(2) : 1 + up_to(4);
    m.address = (std::uint64_t{random()} << 32 | random()) & ~std::uint64_t{31};
    for (unsigned d = 0; d < m.rank; ++d) {
      m.size[d] = up_to(9) == 0 ? k2To32 : 1 + std::uint64_t{random()};
      m.stride[d] =
          d == 0 ? element_bytes(m.element) : (std::uint64_t{random()} << 8 & (k2To40 - 1)) & ~31ull;
      m.step[d] = d == 0 ? 1 : 1 + up_to(7);
    }
    m.swizzle = static_cast<Swizzle>(up_to(3));
    m.promotion = static_cast<TensorMap::Promotion>(up_to(3));
    if (is_floating(m.element)) m.fill = static_cast<TensorMap::Fill>(up_to(1));
    if (m.rank >= 3) m.interleave = static_cast<Interleave>(up_to(2));
    if (m.interleave == Interleave::bytes32) m.swizzle = Swizzle::bytes32;
    if (m.interleave != Interleave::none) m.stride[0] = slice_bytes(m.interleave);
    if (m.mode == TensorMap::Mode::im2col) {
      for (unsigned s = 0; s + 2 < m.rank; ++s) {
        m.lower[s] = static_cast<int>(up_to(31)) - 16;
        m.upper[s] = static_cast<int>(up_to(31)) - 16;
        auto& size = m.size[first_spatial(m) + s];
        size = std::max<std::uint64_t>(size, 64);
      }
      m.channels = 16 / element_bytes(m.element);
      m.pixels = 1 + up_to(1023);
    } else {
      for (unsigned d = 0; d < m.rank; ++d) m.box[d] = 1 + up_to(3);
      m.box[m.rank - 1] = 1 + up_to(255);
      m.box[0] = 16 / element_bytes(m.element);
    }
    auto back = decode_tensor_map(encoded(m).bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, m);
  }
}

// CUTLASS and Triton clear this bit in maps of small tensors, for a fault of drivers up to 13.1: Raddle says
// that it is 13.0.
TEST(TensorMaps, AreTheSameWithoutBit21OfTheSecondWord) {
  for (unsigned rank = 1; rank <= kMaxTensorRank; ++rank) {
    TensorMap map = with_rank(tiled(), rank);
    map.address = 0x200041600000;  // has the bit
    EncodedBytes kept = encoded(map), cleared = kept;
    cleared.bytes[10] &= std::byte{0xdf};
    EXPECT_EQ(std::memcmp(cleared.bytes, kept.bytes, kTensorMapBytes), 0);
    ASSERT_TRUE(decode_tensor_map(cleared.bytes).ok());
    EXPECT_EQ(decode_tensor_map(cleared.bytes)->address, map.address);
  }
}

TEST(TensorMaps, KnowsBytesThatWereNeverEncoded) {
  EncodedBytes garbage;
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    for (std::byte& b : garbage.bytes) b = i == 0 ? std::byte{} : static_cast<std::byte>(random());
    auto map = decode_tensor_map(garbage.bytes);
    ASSERT_FALSE(map);
    EXPECT_THAT(map.error().message, HasSubstr("none was ever encoded"));
  }
}

/// Every byte of an encoded map may be anything, since kernels can write there.
TEST(TensorMaps, DecodesAnyByteToAMapOrAnError) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    EncodedBytes e = encoded(i % 2 ? tiled() : im2col());
    for (int n = 0; n < 3; ++n)
      e.bytes[8 + random() % (kTensorMapBytes - 8)] = static_cast<std::byte>(random());
    if (auto map = decode_tensor_map(e.bytes)) EXPECT_TRUE(check(*map));
  }
}

// proves: T-2a, T-2i, T-2j, T-9b
TEST(TensorMaps, LimitsRank) {
  accepted(tiled(), [](auto& m) { m = with_rank(m, 1); });
  accepted(tiled(), [](auto&) {});
  refused(tiled(), [](auto& m) { m.rank = 0; }, "tensorRank is 0; it must be from 1 to 5");
  refused(tiled(), [](auto& m) { m.rank = 6; }, "tensorRank is 6");
  refused(tiled(), [](auto& m) { m.rank = 256 + 3; }, "tensorRank is 259");
  accepted(im2col(), [](auto& m) { m = with_rank(m, 3); });
  refused(im2col(), [](auto& m) { m = with_rank(m, 2); }, "from 3 to 5 in im2col mode");
  refused(im2col(), [](auto& m) { m.rank = 6; }, "tensorRank is 6");
  for (auto interleave : {Interleave::bytes16, Interleave::bytes32}) {
    auto edit = [=](unsigned rank) {
      return [=](TensorMap& m) {
        m = with_rank(m, rank);
        m.interleave = interleave;
        m.swizzle = Swizzle::bytes32;
      };
    };
    accepted(tiled(), edit(3));
    refused(tiled(), edit(2), "from 3 to 5 with an interleaved layout");
  }
}

// proves: T-2i, T-2j, T-2b
TEST(TensorMaps, LimitsEnumerators) {
  refused(tiled(), [](auto& m) { m.element = static_cast<Element>(13); }, "tensorDataType is 13");
  refused(tiled(), [](auto& m) { m.swizzle = static_cast<Swizzle>(4); }, "swizzle is 4");
  refused(tiled(), [](auto& m) { m.interleave = static_cast<Interleave>(3); }, "interleave is 3");
  refused(tiled(), [](auto& m) { m.promotion = static_cast<TensorMap::Promotion>(4); }, "l2Promotion is 4");
  refused(tiled(), [](auto& m) { m.fill = static_cast<TensorMap::Fill>(2); }, "oobFill is 2");
  refused(tiled(), [](auto& m) { m.mode = static_cast<TensorMap::Mode>(2); }, "neither tiled nor im2col");
  for (unsigned e = 0; e <= 12; ++e) {
    auto edit = [=](TensorMap& m) {
      m.element = static_cast<Element>(e);
      m.fill = TensorMap::Fill::nan;
    };
    if (e >= 6) {
      accepted(tiled(), edit);
    } else {
      refused(tiled(), edit, "oobFill asks for NaN");
    }
  }
}

// proves: T-2i, T-2j, T-9e, T-9f
TEST(TensorMaps, LimitsAddressSizesAndStrides) {
  auto sliced = [](TensorMap& m) {
    m.interleave = Interleave::bytes32;
    m.swizzle = Swizzle::bytes32;
  };
  for (TensorMap map : {tiled(), im2col()}) {
    accepted(map, [](auto& m) { m.address = 16; });
    refused(map, [](auto& m) { m.address = 8; }, "globalAddress is 0x8; it must be a multiple of 16");
    refused(
        map, [=](auto& m) { sliced(m), m.address = 16; },
        "globalAddress is 0x10; it must be a multiple of 32");
    accepted(map, [=](auto& m) { sliced(m), m.address = 32; });
    for (unsigned d = 0; d < 5; ++d) {
      const std::string size = "globalDim[" + std::to_string(d) + "]";
      refused(map, [=](auto& m) { m.size[d] = 0; }, size + " is 0; it must be from 1 to 4294967296");
      accepted(map, [=](auto& m) { m.size[d] = k2To32; });
      not_encodable(map, [=](auto& m) { m.size[d] = k2To32 + 1; }, size);
      if (d == 0) continue;
      const std::string stride = "globalStrides[" + std::to_string(d - 1) + "]";
      refused(map, [=](auto& m) { m.stride[d] = 24; }, stride + " is 24; it must be a multiple of 16");
      refused(
          map, [=](auto& m) { sliced(m), m.stride[d] = 48; }, stride + " is 48; it must be a multiple of 32");
      accepted(map, [=](auto& m) { sliced(m), m.stride[d] = 64; });
      accepted(map, [=](auto& m) { m.stride[d] = k2To40 - 16; });
      refused(
          map, [=](auto& m) { m.stride[d] = k2To40; },
          stride + " is 1099511627776; it must be less than 2^40");
    }
  }
}

// proves: T-2i, T-2j, T-6a, T-6c
TEST(TensorMaps, LimitsTraversalStrides) {
  for (TensorMap map : {tiled(), im2col()}) {
    for (unsigned d = 1; d < 5; ++d) {
      const std::string name = "elementStrides[" + std::to_string(d) + "]";
      refused(map, [=](auto& m) { m.step[d] = 0; }, name + " is 0; it must be from 1 to 8");
      refused(map, [=](auto& m) { m.step[d] = 9; }, name);
      refused(map, [=](auto& m) { m.step[d] = 256 + 1; }, name);
      for (unsigned step = 1; step <= 8; ++step) accepted(map, [=](auto& m) { m.step[d] = step; });
    }
    auto ignored = map;  // without interleave, if it is one
    ignored.step[0] = 7;
    auto back = decode_tensor_map(encoded(ignored).bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->step[0], 1u);
    refused(map, [](auto& m) { m.step[0] = 0; }, "elementStrides[0] is 0; it must be from 1 to 8");
    refused(map, [](auto& m) { m.step[0] = 9; }, "elementStrides[0] is 9");
    auto sliced = [](unsigned step) {
      return [=](TensorMap& m) {
        m.interleave = Interleave::bytes16;
        m.step[0] = step;
      };
    };
    accepted(map, sliced(8));
    refused(map, sliced(0), "elementStrides[0]");
    refused(map, sliced(9), "elementStrides[0]");
  }
}

// proves: T-2i, T-2j
TEST(TensorMaps, LimitsTheBox) {
  for (unsigned d = 0; d < 5; ++d) {
    const std::string name = "boxDim[" + std::to_string(d) + "]";
    accepted(tiled(), [=](auto& m) { m.box[d] = 256; });
    refused(tiled(), [=](auto& m) { m.box[d] = 0; }, name + " is 0; it must be from 1 to 256");
    refused(tiled(), [=](auto& m) { m.box[d] = 257; }, name);
    refused(tiled(), [=](auto& m) { m.box[d] = 65536 + 8; }, name);
  }
  for (unsigned e = 0; e <= 12; ++e) {
    const auto element = static_cast<Element>(e);
    const unsigned fits = 16 / element_bytes(element);
    auto edit = [=](unsigned box) {
      return [=](TensorMap& m) {
        m.element = element;
        m.box[0] = box;
      };
    };
    accepted(tiled(), edit(fits));
    refused(tiled(), edit(fits + 1), "must be a multiple of 16");
    if (fits > 1) refused(tiled(), edit(fits - 1), "must be a multiple of 16");
    const auto sliced = [=](unsigned box) {  // whose rows are slices; an H200 refuses them nevertheless
      return [=](TensorMap& m) { edit(box)(m), m.interleave = Interleave::bytes16; };
    };
    accepted(tiled(), sliced(fits));
    refused(tiled(), sliced(fits + 1), "must be a multiple of 16");
  }
}

TEST(TensorMaps, LimitsTheBytesOfABoxToAnSmsSharedMemory) {
  const auto box = [](std::array<std::uint32_t, 5> elements, std::array<std::uint32_t, 5> steps) {
    return [=](TensorMap& m) { m.box = elements, m.step = steps; };
  };
  accepted(tiled(), box({8, 57, 256, 1, 1}, {1, 1, 1, 1, 1}));  // 228 KiB
  refused(tiled(), box({8, 58, 256, 1, 1}, {1, 1, 1, 1, 1}),
          "237568 bytes; an SM has 233472 of shared memory");
  accepted(tiled(), box({8, 58, 256, 1, 1}, {1, 1, 2, 1, 1}));
  accepted(tiled(), box({8, 115, 255, 1, 1}, {1, 2, 1, 1, 1}));  // 115 / 2 is 57
}

// proves: T-2i, T-2j, T-10g, T-9d
TEST(TensorMaps, LimitsRowsToTheSwizzle) {
  const std::pair<Swizzle, unsigned> modes[] = {
      {Swizzle::bytes32, 32}, {Swizzle::bytes64, 64}, {Swizzle::bytes128, 128}};
  for (auto [swizzle, bytes] : modes) {
    auto edit = [=, s = swizzle](unsigned elements, Interleave interleave) {
      return [=](TensorMap& m) {
        m.swizzle = s;
        m.box[0] = m.channels = elements;
        m.interleave = interleave;
      };
    };
    const std::string says = "the swizzle allows " + std::to_string(bytes);
    for (TensorMap map : {tiled(), im2col()}) {
      accepted(map, edit(bytes / 2, Interleave::none));
      refused(map, edit(bytes / 2 + 8, Interleave::none), says);
      accepted(map, edit(bytes / 2 + 8, Interleave::bytes16));
      if (swizzle == Swizzle::bytes32) {
        accepted(map, edit(8, Interleave::bytes32));
      } else {
        refused(map, edit(8, Interleave::bytes32), "needs a swizzle of 32 bytes");
      }
    }
  }
  refused(tiled(), [](auto& m) { m.interleave = Interleave::bytes32; }, "needs a swizzle of 32 bytes");
}

// proves: T-2i, T-2j, T-7b
TEST(TensorMaps, LimitsCorners) {
  const int most[] = {32767, 127, 15};
  for (unsigned spatial = 1; spatial <= 3; ++spatial) {
    TensorMap map = with_rank(im2col(), spatial + 2);
    map.size = {64, 100000, 100000, 100000, 4};
    const int limit = most[spatial - 1];
    for (unsigned i = 0; i < spatial; ++i) {
      const std::string at = "[" + std::to_string(i) + "] is ";
      accepted(map, [=](auto& m) { m.lower[i] = limit, m.upper[i] = -limit - 1; });
      accepted(map, [=](auto& m) { m.lower[i] = -limit - 1, m.upper[i] = limit; });
      not_encodable(map, [=](auto& m) { m.lower[i] = limit + 1; }, "pixelBoxLowerCorner" + at);
      not_encodable(map, [=](auto& m) { m.lower[i] = -limit - 2; }, "pixelBoxLowerCorner" + at);
      not_encodable(map, [=](auto& m) { m.upper[i] = limit + 1; }, "pixelBoxUpperCorner" + at);
      not_encodable(map, [=](auto& m) { m.upper[i] = -limit - 2; }, "pixelBoxUpperCorner" + at);
      accepted(map, [=](auto& m) { m.size[i + 1] = 5, m.lower[i] = 3, m.upper[i] = -1; });
      refused(map, [=](auto& m) { m.size[i + 1] = 5, m.lower[i] = 4, m.upper[i] = -1; }, "box from");
    }
  }
}

// proves: T-2i, T-2j, T-7g, T-7h
TEST(TensorMaps, LimitsPixelsAndChannels) {
  accepted(im2col(), [](auto& m) { m.channels = 256; });
  refused(im2col(), [](auto& m) { m.channels = 1; }, "takes 2 bytes; they must be a multiple of 16");
  accepted(im2col(), [](auto& m) { m.pixels = 1024; });
  refused(im2col(), [](auto& m) { m.channels = 0; }, "channelsPerPixel is 0");
  refused(im2col(), [](auto& m) { m.channels = 257; }, "channelsPerPixel is 257; it must be from 1 to 256");
  refused(im2col(), [](auto& m) { m.pixels = 0; }, "pixelsPerColumn is 0");
  refused(im2col(), [](auto& m) { m.pixels = 1025; }, "pixelsPerColumn is 1025; it must be from 1 to 1024");
}

// proves: T-2f
TEST(TensorMaps, AreEditedFieldByField) {
  using Field = TensorMapField;
  for (bool from_zero : {true, false}) {
    EncodedBytes e{};
    if (!from_zero) e = encoded(with_rank(tiled(), 2));
    auto set = [&](Field field, std::uint64_t value, unsigned dimension = 0) {
      replace(e.bytes, field, dimension, value);
    };
    const TensorMap wanted = tiled();
    set(Field::global_address, wanted.address);
    set(Field::rank, 4);
    for (unsigned d = 0; d < 5; ++d) {
      set(Field::box_dim, wanted.box[d], d);
      set(Field::global_dim, wanted.size[d], d);
      if (d != 0) set(Field::global_stride, wanted.stride[d], d - 1);
      set(Field::element_stride, wanted.step[d], d);
    }
    set(Field::elemtype, 6);
    auto map = decode_tensor_map(e.bytes);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(*map, wanted);
    set(Field::interleave_layout, 2);
    set(Field::swizzle_mode, 1);
    set(Field::fill_mode, 1);
    map = decode_tensor_map(e.bytes);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(map->interleave, Interleave::bytes32);
    EXPECT_EQ(map->swizzle, Swizzle::bytes32);
    EXPECT_EQ(map->fill, TensorMap::Fill::nan);
  }
}

TEST(TensorMaps, TakeElementTypesAsPtxNumbersThem) {
  const Element elements[] = {Element::u8,   Element::u16,  Element::u32,     Element::s32,     Element::u64,
                              Element::s64,  Element::f16,  Element::f32,     Element::f32_ftz, Element::f64,
                              Element::bf16, Element::tf32, Element::tf32_ftz};
  for (unsigned value = 0; value < 13; ++value) {
    EncodedBytes e = encoded(tiled());
    replace(e.bytes, TensorMapField::elemtype, 0, value);
    auto map = decode_tensor_map(e.bytes);
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(map->element, elements[value]);
  }
}

/// An edit is judged when the map is used, and a later one may mend it.
TEST(TensorMaps, AreJudgedAfterEditing) {
  struct {
    TensorMapField field;
    unsigned dimension;
    std::uint64_t wrong, right;
    const char* says;
  } cases[] = {
      {TensorMapField::global_address, 0, 8, 16, "globalAddress"},
      {TensorMapField::rank, 0, 5, 4, "tensorRank is 6"},
      {TensorMapField::rank, 0, 0xffff'ffff, 4, "tensorRank"},
      {TensorMapField::box_dim, 2, 0, 256, "boxDim[2]"},
      {TensorMapField::box_dim, 2, 257, 1, "boxDim[2] is 257"},
      {TensorMapField::box_dim, 4, 0x10001, 1, "boxDim[4]"},
      {TensorMapField::global_dim, 3, 0, 0xffff'ffff, "globalDim[3] is 0"},
      {TensorMapField::global_stride, 0, 8, 16, "globalStrides[0]"},
      {TensorMapField::global_stride, 3, k2To40, 0, "globalStrides[3]"},
      {TensorMapField::element_stride, 1, 0, 8, "elementStrides[1]"},
      {TensorMapField::element_stride, 1, 9, 1, "elementStrides[1] is 9"},
      {TensorMapField::elemtype, 0, 13, 12, "tensorDataType"},
      {TensorMapField::interleave_layout, 0, 3, 1, "interleave"},
      {TensorMapField::swizzle_mode, 0, 4, 3, "swizzle is 4"},
      {TensorMapField::fill_mode, 0, 2, 1, "oobFill is 2"},
  };
  for (const auto& c : cases) {
    EncodedBytes e = encoded(tiled());
    replace(e.bytes, c.field, c.dimension, c.wrong);
    auto map = decode_tensor_map(e.bytes);
    ASSERT_FALSE(map) << c.says;
    EXPECT_THAT(map.error().message, HasSubstr(c.says));
    replace(e.bytes, c.field, c.dimension, c.right);
    EXPECT_TRUE(decode_tensor_map(e.bytes)) << c.says;
  }
  EncodedBytes garbage = encoded(tiled());
  garbage.bytes[0] ^= std::byte{1};
  replace(garbage.bytes, TensorMapField::rank, 0, 4);
  EXPECT_FALSE(decode_tensor_map(garbage.bytes));
}

// proves: T-10a, T-10b, T-10c, T-10d
TEST(TensorMaps, SwizzlesByAddressBits) {
  for (std::uint32_t offset = 0; offset < 4096; ++offset) {
    EXPECT_EQ(swizzled(offset, Swizzle::none), offset);
    EXPECT_EQ(swizzled(offset, Swizzle::bytes32), offset ^ (offset / 128 % 2) * 16);
    EXPECT_EQ(swizzled(offset, Swizzle::bytes64), offset ^ (offset / 128 % 4) * 16);
    EXPECT_EQ(swizzled(offset, Swizzle::bytes128), offset ^ (offset / 128 % 8) * 16);
  }
}

/// 0x7ff7: tests/isa/half_precision/fma_half.ptx has what fma.oob makes of it.
// proves: T-5c
TEST(TensorMaps, FillWithTheNanThatFmaTakesForZero) {
  TensorMap map = tiled();
  EXPECT_EQ(fill_word(map), 0);
  map.fill = TensorMap::Fill::nan;
  EXPECT_EQ(fill_word(map), 0x7ff7);
}

TEST(TensorMaps, ConvertsTf32) {
  for (auto element : {Element::tf32, Element::tf32_ftz}) {
    EXPECT_TRUE(converts(element));
    EXPECT_EQ(converted(0x3f801001, element), 0x3f802000u);  // above the half: up
    EXPECT_EQ(converted(0x3f801000, element), 0x3f800000u);  // a tie: to even
    EXPECT_EQ(converted(0x3f803000, element), 0x3f804000u);
    EXPECT_EQ(converted(0x80400fff, element), 0x80400000u);  // a subnormal that tf32 has
    EXPECT_EQ(converted(0x00000fff, element), 0u);
    EXPECT_EQ(converted(0xffc00001, element), 0x7fffe000u);
    EXPECT_EQ(converted(0xff800000, element), 0xff800000u);
  }
  for (auto element : {Element::f32, Element::f32_ftz, Element::u32, Element::s32}) {
    EXPECT_FALSE(converts(element));
    EXPECT_EQ(converted(0x80400001, element), 0x80400001u);
  }
}

}  // namespace
