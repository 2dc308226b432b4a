#include "exec/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>

#include "numerics/half.h"

namespace raddle::exec {
namespace {

using Element = TensorMap::Element;
using Interleave = TensorMap::Interleave;
using Mode = TensorMap::Mode;
using Swizzle = TensorMap::Swizzle;

/// Of one copy: an H200's driver refuses more, counting elements as boxDim / elementStrides rounded down.
constexpr std::uint64_t kMostBoxBytes = 228 * 1024;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;

/// The 128 bytes. Numbers that count from 1 are stored less one, so kernels may start from zeros, as CUDA's
/// guide lets them. A value that its field cannot hold becomes the largest, which check() refuses.
struct EncodedMap {
  std::uint64_t magic;
  // CUTLASS and Triton clear bit 21 of the second word of maps of tensors below 128 KiB, for a fault of
  // drivers up to 13.1. It is one that `rank` never has.
  std::uint8_t mode;
  std::uint8_t element;
  std::uint8_t rank;  // less one
  std::uint8_t interleave;
  std::uint8_t swizzle;
  std::uint8_t promotion;
  std::uint8_t fill;
  std::uint8_t reserved;
  std::uint64_t address;
  std::uint64_t stride[kMaxTensorRank - 1];  // of dimension 1 on
  std::uint64_t size[kMaxTensorRank];        // less one
  std::uint16_t box[kMaxTensorRank];         // less one
  std::uint16_t channels;
  std::uint16_t pixels;
  std::int16_t lower[3];
  std::int16_t upper[3];
  std::uint8_t step[kMaxTensorRank];  // less one
};
static_assert(sizeof(EncodedMap) == kTensorMapBytes && offsetof(EncodedMap, magic) == 0);
static_assert(offsetof(EncodedMap, rank) == 10 && kMaxTensorRank < 0x20);  // bits 16 to 23 of the word

template <class Field, class T>
Field saturated(T value) {
  using Limits = std::numeric_limits<Field>;
  return static_cast<Field>(
      std::clamp<T>(value, static_cast<T>(Limits::min()), static_cast<T>(Limits::max())));
}
/// A field that keeps its value less one; 0 becomes the largest.
template <class Field>
Field less_one(std::uint64_t value) {
  return saturated<Field>(value - 1);
}

template <class T>
Result<void> in_range(const char* name, int index, T value, T least, T most) {
  if (value >= least && value <= most) return {};
  return Error::invalid("{}[{}] is {}; it must be from {} to {}", name, index, value, least, most);
}
template <class T>
Result<void> in_range(const char* name, T value, T least, T most) {
  if (value >= least && value <= most) return {};
  return Error::invalid("{} is {}; it must be from {} to {}", name, value, least, most);
}

Result<void> check_enumerators(const TensorMap& m) {
  if (m.mode > Mode::im2col) return Error::invalid("the tensor map is neither tiled nor im2col");
  if (m.element > Element::tf32_ftz)
    return Error::invalid("tensorDataType is {}; this device has types 0 to 12 (packed types need sm_100)",
                          static_cast<unsigned>(m.element));
  TRY(in_range("interleave", static_cast<unsigned>(m.interleave), 0u, 2u));
  if (m.swizzle > Swizzle::bytes128)
    return Error::invalid("swizzle is {}; this device has modes 0 to 3 (others need sm_100)",
                          static_cast<unsigned>(m.swizzle));
  TRY(in_range("l2Promotion", static_cast<unsigned>(m.promotion), 0u, 3u));
  TRY(in_range("oobFill", static_cast<unsigned>(m.fill), 0u, 1u));
  if (m.fill == TensorMap::Fill::nan && !is_floating(m.element))
    return Error::invalid("oobFill asks for NaN; tensorDataType {} is no floating-point type",
                          static_cast<unsigned>(m.element));
  return {};
}

Result<void> check_tensor(const TensorMap& m) {
  const bool sliced = is_sliced(m);
  const unsigned least_rank = sliced || m.mode == Mode::im2col ? 3 : 1;
  if (m.rank < least_rank || m.rank > kMaxTensorRank)
    return Error::invalid("tensorRank is {}; it must be from {} to 5{}", m.rank, least_rank,
                          m.mode == Mode::im2col ? " in im2col mode"
                          : sliced               ? " with an interleaved layout"
                                                 : "");
  const unsigned alignment = m.interleave == Interleave::bytes32 ? 32 : 16;
  if (m.address % alignment != 0)
    return Error::invalid("globalAddress is {:#x}; it must be a multiple of {}", m.address, alignment);
  for (unsigned d = 0; d < m.rank; ++d)
    TRY(in_range("globalDim", d, m.size[d], std::uint64_t{1}, kMostElements));
  for (unsigned d = 1; d < m.rank; ++d) {
    if (m.stride[d] % alignment != 0)
      return Error::invalid("globalStrides[{}] is {}; it must be a multiple of {}", d - 1, m.stride[d],
                            alignment);
    if (m.stride[d] >> 40 != 0)
      return Error::invalid("globalStrides[{}] is {}; it must be less than 2^40", d - 1, m.stride[d]);
  }
  for (unsigned d = 0; d < m.rank; ++d) TRY(in_range("elementStrides", d, m.step[d], 1u, 8u));
  return {};
}

/// @param inner  elements of a row, which `name` counts; of interleaved layouts nothing but this limit counts
/// elements
Result<void> check_inner(const TensorMap& m, const char* name, std::uint32_t inner) {
  if (m.interleave == Interleave::bytes32 && m.swizzle != Swizzle::bytes32)
    return Error::invalid("interleave of 32 bytes needs a swizzle of 32 bytes; swizzle is {}",
                          static_cast<unsigned>(m.swizzle));
  const std::uint32_t bytes = inner * element_bytes(m.element);
  if (bytes % 16 != 0)
    return Error::invalid("{} of {} elements takes {} bytes; they must be a multiple of 16", name, inner,
                          bytes);
  const std::uint32_t most = is_sliced(m) ? 0 : swizzle_bytes(m.swizzle);
  if (most != 0 && bytes > most)
    return Error::invalid("{} of {} elements takes {} bytes; the swizzle allows {}", name, inner, bytes,
                          most);
  return {};
}

Result<void> check_tile(const TensorMap& m) {
  for (unsigned d = 0; d < m.rank; ++d) TRY(in_range("boxDim", d, m.box[d], 1u, 256u));
  std::uint64_t bytes = element_bytes(m.element);
  for (unsigned d = 0; d < m.rank; ++d) bytes *= m.box[d] / m.step[d];
  if (bytes > kMostBoxBytes)
    return Error::invalid("boxDim and elementStrides name {} bytes; an SM has {} of shared memory", bytes,
                          kMostBoxBytes);
  return check_inner(m, "boxDim[0]", m.box[0]);
}

Result<void> check_im2col(const TensorMap& m) {
  const unsigned spatial = spatial_dimensions(m);
  const int most = spatial == 1 ? 32767 : spatial == 2 ? 127 : 15;
  for (unsigned i = 0; i < spatial; ++i) {
    TRY(in_range("pixelBoxLowerCorner", i, m.lower[i], -most - 1, most));
    TRY(in_range("pixelBoxUpperCorner", i, m.upper[i], -most - 1, most));
    if (last_base(m, i) < m.lower[i])
      return Error::invalid(
          "the bounding box from pixelBoxLowerCorner[{0}] to pixelBoxUpperCorner[{0}] is empty", i);
  }
  TRY(in_range("channelsPerPixel", m.channels, 1u, 256u));
  TRY(in_range("pixelsPerColumn", m.pixels, 1u, 1024u));
  return check_inner(m, "channelsPerPixel", m.channels);
}

}  // namespace

Result<void> check(const TensorMap& map) {
  TRY(check_enumerators(map));
  TRY(check_tensor(map));
  return map.mode == Mode::im2col ? check_im2col(map) : check_tile(map);
}

void encode(const TensorMap& map, std::byte* bytes) {
  EncodedMap e{};
  e.magic = kTensorMapMagic;
  e.address = map.address;
  for (unsigned d = 1; d < kMaxTensorRank; ++d) e.stride[d - 1] = map.stride[d];
  for (unsigned d = 0; d < kMaxTensorRank; ++d) {
    e.size[d] = less_one<std::uint64_t>(d < map.rank ? map.size[d] : 1);
    e.box[d] = less_one<std::uint16_t>(d < map.rank ? map.box[d] : 1);
    e.step[d] = less_one<std::uint8_t>(d < map.rank ? map.step[d] : 1);
  }
  for (unsigned i = 0; i < 3; ++i) {
    e.lower[i] = saturated<std::int16_t>(map.lower[i]);
    e.upper[i] = saturated<std::int16_t>(map.upper[i]);
  }
  e.channels = saturated<std::uint16_t>(map.channels);
  e.pixels = saturated<std::uint16_t>(map.pixels);
  e.mode = static_cast<std::uint8_t>(map.mode);
  e.element = static_cast<std::uint8_t>(map.element);
  e.rank = less_one<std::uint8_t>(map.rank);
  e.interleave = static_cast<std::uint8_t>(map.interleave);
  e.swizzle = static_cast<std::uint8_t>(map.swizzle);
  e.promotion = static_cast<std::uint8_t>(map.promotion);
  e.fill = static_cast<std::uint8_t>(map.fill);
  std::memcpy(bytes, &e, sizeof e);
}

Result<TensorMap> decode_tensor_map(const std::byte* bytes) {
  EncodedMap e;
  std::memcpy(&e, bytes, sizeof e);
  if (e.magic != kTensorMapMagic)
    return Error::invalid("the bytes hold no tensor map: none was ever encoded there");
  TensorMap map;
  map.mode = static_cast<Mode>(e.mode);
  map.element = static_cast<Element>(e.element);
  map.rank = e.rank + 1u;
  map.address = e.address;
  for (unsigned d = 0; d < kMaxTensorRank && d < map.rank; ++d) {
    if (d != 0) map.stride[d] = e.stride[d - 1];
    map.size[d] = e.size[d] + 1;
    map.box[d] = map.mode == Mode::tile ? e.box[d] + 1u : 0;
    map.step[d] = e.step[d] + 1u;
  }
  for (unsigned i = 0; i < 3; ++i) {
    map.lower[i] = e.lower[i];
    map.upper[i] = e.upper[i];
  }
  map.channels = e.channels;
  map.pixels = e.pixels;
  map.interleave = static_cast<Interleave>(e.interleave);
  map.swizzle = static_cast<Swizzle>(e.swizzle);
  map.promotion = static_cast<TensorMap::Promotion>(e.promotion);
  map.fill = static_cast<TensorMap::Fill>(e.fill);
  TRY(check(map));
  const bool sliced = is_sliced(map);
  map.stride[0] = sliced ? slice_bytes(map.interleave) : element_bytes(map.element);
  if (!sliced) map.step[0] = 1;  // cuda.h: ignored
  return map;
}

TensorMapPlace place_of(TensorMapField field, std::uint32_t dimension) {
  const auto single = [](std::size_t offset, std::uint32_t bytes) {
    return TensorMapPlace{static_cast<std::uint32_t>(offset), bytes, false};
  };
  const auto listed = [&](std::size_t offset, std::uint32_t bytes, bool less_one) {
    const std::uint32_t index = std::min(dimension, kMaxTensorRank - 1);
    return TensorMapPlace{static_cast<std::uint32_t>(offset) + bytes * index, bytes, less_one};
  };
  switch (field) {
    case TensorMapField::global_address:
      return single(offsetof(EncodedMap, address), 8);
    case TensorMapField::rank:
      return single(offsetof(EncodedMap, rank), 1);
    case TensorMapField::box_dim:
      return listed(offsetof(EncodedMap, box), 2, true);
    case TensorMapField::global_dim:
      return listed(offsetof(EncodedMap, size), 8, true);
    case TensorMapField::global_stride:
      if (dimension >= kMaxTensorRank - 1) return {0, 0, false};
      return listed(offsetof(EncodedMap, stride), 8, false);
    case TensorMapField::element_stride:
      return listed(offsetof(EncodedMap, step), 1, true);
    case TensorMapField::elemtype:
      return single(offsetof(EncodedMap, element), 1);
    case TensorMapField::interleave_layout:
      return single(offsetof(EncodedMap, interleave), 1);
    case TensorMapField::swizzle_mode:
      return single(offsetof(EncodedMap, swizzle), 1);
    default:
      return single(offsetof(EncodedMap, fill), 1);
  }
}

std::uint8_t element_of_ptx(std::uint64_t number) {
  constexpr Element kElements[] = {Element::u8,      Element::u16, Element::u32,  Element::s32,
                                   Element::u64,     Element::s64, Element::f16,  Element::f32,
                                   Element::f32_ftz, Element::f64, Element::bf16, Element::tf32,
                                   Element::tf32_ftz};
  return number < std::size(kElements) ? static_cast<std::uint8_t>(kElements[number]) : 0xff;
}

void replace(std::byte* bytes, TensorMapField field, std::uint32_t dimension, std::uint64_t value) {
  std::uint64_t magic;
  std::memcpy(&magic, bytes, sizeof magic);
  if (magic == 0) std::memcpy(bytes, &kTensorMapMagic, sizeof magic);
  if (field == TensorMapField::elemtype) value = element_of_ptx(value);
  const TensorMapPlace place = place_of(field, dimension);
  if (place.bytes == 0) return;
  const std::uint64_t stored = std::min(value - place.less_one, ~std::uint64_t{0} >> (64 - 8 * place.bytes));
  std::memcpy(bytes + place.offset, &stored, place.bytes);  // little-endian, as the fields are
}

bool converts(Element element) { return element == Element::tf32 || element == Element::tf32_ftz; }

std::uint32_t converted(std::uint32_t bits, Element element) {
  constexpr std::uint32_t kNan = 0x7fff'e000;  // cvt's has all bits set
  if (!converts(element)) return bits;
  const auto value = std::bit_cast<float>(bits);
  return std::isnan(value) ? kNan : numerics::to_tf32(value, numerics::Rounding::rn);
}

}  // namespace raddle::exec
