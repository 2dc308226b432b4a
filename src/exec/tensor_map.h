// Tensor maps: what a copy of a tensor's block must know about the tensor (CUtensorMap of cuda.h). Programs
// hold one as 128 opaque bytes in parameter, constant or global memory; the layout of these bytes, and what
// the manuals leave open, is in docs/tensor-maps.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "numerics/half.h"

namespace raddle::exec {

inline constexpr unsigned kMaxTensorRank = 5;
inline constexpr std::uint64_t kTensorMapBytes = 128;
inline constexpr std::uint64_t kTensorMapAlignment = 64;

/// A tensor map, decoded. Arrays of five are in PTX's order, dimension 0 innermost (C, W, H, D, N, of
/// interleaved layouts W, H, D, slices of C, N), and hold `rank` entries; arrays of three are W, H, D.
/// Enumerators have the values of cuda.h; a field may hold any value until check() has accepted it.
struct TensorMap {
  enum class Mode : std::uint8_t { tile, im2col };
  enum class Element : std::uint8_t {
    u8,
    u16,
    u32,
    s32,
    u64,
    s64,
    f16,
    f32,
    f64,
    bf16,
    f32_ftz,
    tf32,
    tf32_ftz,
  };
  enum class Interleave : std::uint8_t { none, bytes16, bytes32 };
  enum class Swizzle : std::uint8_t { none, bytes32, bytes64, bytes128 };
  enum class Promotion : std::uint8_t { none, bytes64, bytes128, bytes256 };
  enum class Fill : std::uint8_t { zero, nan };

  Mode mode = Mode::tile;
  Element element = Element::u8;
  std::uint32_t rank = 1;
  std::uint64_t address = 0;
  std::array<std::uint64_t, kMaxTensorRank> size{};    ///< elements; 1 to 2^32
  std::array<std::uint64_t, kMaxTensorRank> stride{};  ///< bytes; [0] is the element's or the slice's size
  std::array<std::uint32_t, kMaxTensorRank> box{};     ///< tile: extent before division by `step`; 1 to 256
  std::array<std::uint32_t, kMaxTensorRank> step{};    ///< traversal (element) stride; 1 to 8
  std::array<std::int32_t, 3> lower{}, upper{};        ///< im2col: corners of the box of filter bases
  std::uint32_t channels = 0;                          ///< im2col: per pixel; 1 to 256
  std::uint32_t pixels = 0;                            ///< im2col: per column; 1 to 1024
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::none;
  Fill fill = Fill::zero;

  bool operator==(const TensorMap&) const = default;
};

constexpr std::uint32_t element_bytes(TensorMap::Element element) {
  constexpr std::uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return bytes[static_cast<unsigned>(element)];
}
/// An interleaved layout: what other maps have as rows of elements are slices.
constexpr bool is_sliced(const TensorMap& map) { return map.interleave != TensorMap::Interleave::none; }
/// The dimension that W is.
constexpr unsigned first_spatial(const TensorMap& map) { return is_sliced(map) ? 0 : 1; }
/// How many dimensions are W, H and D.
constexpr unsigned spatial_dimensions(const TensorMap& map) { return map.rank - 2; }
/// im2col: W, H or D of the last filter base; the first is `lower`.
constexpr std::int64_t last_base(const TensorMap& map, unsigned i) {
  return static_cast<std::int64_t>(map.size[first_spatial(map) + i]) - 1 + map.upper[i];
}
/// Of interleaved layouts: the dimension of slices, of which a copy moves one.
constexpr unsigned slice_dimension(const TensorMap& map) { return map.rank - 2; }
constexpr bool is_floating(TensorMap::Element element) {
  return element >= TensorMap::Element::f16 && element <= TensorMap::Element::tf32_ftz;
}
/// Bytes of a slice of channels; 0 without interleave.
constexpr std::uint32_t slice_bytes(TensorMap::Interleave interleave) {
  return interleave == TensorMap::Interleave::none ? 0 : 8u << static_cast<unsigned>(interleave);
}
/// Bytes of a row that a swizzle permutes; 0 without swizzle.
constexpr std::uint32_t swizzle_bytes(TensorMap::Swizzle swizzle) {
  return swizzle == TensorMap::Swizzle::none ? 0 : 16u << static_cast<unsigned>(swizzle);
}

/// @returns the offset in the shared window to which a swizzle moves the byte of `offset`: units of 16
/// bytes change places as the address bits from 7 on say
constexpr std::uint32_t swizzled(std::uint32_t offset, TensorMap::Swizzle swizzle) {
  const std::uint32_t units = swizzle_bytes(swizzle) / 16;  // 0, 2, 4, 8
  return units == 0 ? offset : offset ^ (offset >> 7 & (units - 1)) << 4;
}

/// @returns each two bytes that fill elements outside the tensor: 0, or the NaN that fma.oob takes for a zero
constexpr std::uint16_t fill_word(const TensorMap& map) {
  return map.fill == TensorMap::Fill::nan ? numerics::kOutOfBoundsNan : 0;
}

/// What a load makes of an element's bits: tf32 is rounded, any other copied. Stores copy.
bool converts(TensorMap::Element element);
std::uint32_t converted(std::uint32_t bits, TensorMap::Element element);

/// @returns an error that names the limit of cuda.h that `map` breaks, in cuda.h's words
Result<void> check(const TensorMap& map);

/// @param bytes  kTensorMapBytes of them, of any alignment
/// @param map    what check() accepts
void encode(const TensorMap& map, std::byte* bytes);

/// Checks too, since kernels may have edited the bytes since.
/// @returns an error for bytes that hold no tensor map, or one that breaks a limit
Result<TensorMap> decode_tensor_map(const std::byte* bytes);

/// What tensormap.replace names.
enum class TensorMapField : std::uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode,
};

/// What the first eight bytes of a map hold.
inline constexpr std::uint64_t kTensorMapMagic = 0x70614d726f736e54;  // "TnsorMap"

/// Where a field is in the 128 bytes.
struct TensorMapPlace {
  std::uint32_t offset;
  std::uint32_t bytes;  ///< 1, 2 or 8; a value that does not fit is kept as the largest; 0: nowhere
  bool less_one;        ///< than the value
};
/// @param dimension  of fields that have one for each; for strides 0 is dimension 1's
TensorMapPlace place_of(TensorMapField field, std::uint32_t dimension);
/// @returns the value of the field elemtype for a number of PTX, which has an order of its own
std::uint8_t element_of_ptx(std::uint64_t number);

/// tensormap.replace: writes one field, whatever is there; decode_tensor_map() judges. Bytes that begin with
/// zeros become a map.
/// @param value  as PTX numbers it: the rank less one, elemtype by element_of_ptx()
void replace(std::byte* bytes, TensorMapField field, std::uint32_t dimension, std::uint64_t value);

}  // namespace raddle::exec
