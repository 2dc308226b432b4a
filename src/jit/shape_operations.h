// How results of sums and of bit operations vary over the lanes of a warp, from how their operands do.
#pragma once

#include <algorithm>

#include "jit/function_plan.h"

namespace raddle::jit {

/// Halves of a word are numbers of their own: nothing is carried from one to the other.
inline bool is_address_width(isa::Type t) {
  return (isa::bit_size(t) == 32 || isa::bit_size(t) == 64) && isa::element_type(t) == t;
}

/// How far lanes of each part lie apart, should that be the same from lane to lane and in all parts.
inline std::optional<std::int64_t> step_in_parts(const Shape& s, unsigned part_lanes) {
  if (!s.pattern) return s.stride;
  const std::int64_t step = s.offset(1) - s.offset(0);
  for (unsigned l = 1; l < exec::kWarpSize; ++l)
    if (l % part_lanes != 0 && s.offset(l) - s.offset(l - 1) != step) return {};
  return step;
}

/// With a base for each part, if lanes have common distances there.
inline Shape by_parts(Shape s, unsigned part_lanes) {
  const auto step = step_in_parts(s, part_lanes);
  if (!s.affine || s.per_part || !step) return s;
  unsigned known = s.low.count;  // of every part's base
  for (unsigned l = part_lanes; l < exec::kWarpSize; l += part_lanes)
    known = std::min<unsigned>(known, LowBits::of(s.offset(l)).aligned());
  Shape parts = Shape::strided(*step, true, LowBits::of(s.low.value, known));
  parts.checked = s.checked;
  return parts;
}

/// base_a + base_b with lane offsets combined by `combine`.
template <class Combine>
Shape combined(const Shape& a, const Shape& b, unsigned part_lanes, Combine combine) {
  if (!a.known || !b.known) return Shape{};
  if (!a.affine || !b.affine) return Shape::varying();
  const LowBits low = LowBits::of(combine(a.low.value, b.low.value), std::min(a.low.count, b.low.count));
  if (a.per_part || b.per_part) {
    const auto step_a = step_in_parts(a, part_lanes), step_b = step_in_parts(b, part_lanes);
    if (!step_a || !step_b) return Shape::varying();
    Shape s = Shape::strided(combine(*step_a, *step_b), true, low);
    s.checked = a.checked || b.checked;
    return s;
  }
  if (!a.pattern && !b.pattern) {
    Shape s = Shape::strided(combine(a.stride, b.stride), false, low);
    s.checked = a.checked || b.checked;
    return s;
  }
  Offsets offsets;
  for (unsigned l = 0; l < exec::kWarpSize; ++l) offsets.push_back(combine(a.offset(l), b.offset(l)));
  return Shape::with_offsets(offsets, a.checked || b.checked, low);
}

/// Lanes' values differ in low bits alone that are known: those of each lane lie in one block of 1 << count.
inline bool is_block(const Shape& s, unsigned count, unsigned lanes = exec::kWarpSize) {
  if (!s.affine || count > s.low.count) return false;
  const std::int64_t begin = LowBits::of(s.low.value, count).value, end = std::int64_t{1} << count;
  for (unsigned l = 0; l < lanes; ++l)
    if (begin + s.offset(l) < 0 || begin + s.offset(l) >= end) return false;
  return true;
}

/// Bit operations act on these low bits and on what is above them apart. `bits` maps the known low bits of a
/// lane to those of its result, of which `count` are known; the base's own result comes from the same
/// instruction on scalars, so offsets count from its bits.
template <class Bits>
Shape bitwise(const Shape& a, unsigned lanes, Bits bits, unsigned count) {
  if (!a.known) return Shape{};
  if (!is_block(a, a.low.count, lanes)) return Shape::varying();
  const std::int64_t base = a.low.value;
  Offsets offsets;
  for (unsigned l = 0; l < lanes; ++l) offsets.push_back(bits(base + a.offset(l)) - bits(base));
  const LowBits low = LowBits::of(bits(base), count);
  if (!a.per_part) return Shape::with_offsets(offsets, a.checked, low);
  for (unsigned l = 0; l < lanes; ++l)
    if (offsets[l] != offsets[1] * l) return Shape::varying();
  Shape s = Shape::strided(offsets[1], true, low);
  s.checked = a.checked;
  return s;
}

/// The same of two values that may both differ from lane to lane.
template <class Bits>
Shape bitwise(const Shape& a, const Shape& b, Bits bits) {
  const unsigned count = std::min(a.low.count, b.low.count);
  if (a.per_part || b.per_part || !is_block(a, count) || !is_block(b, count)) return Shape::varying();
  const std::int64_t base_a = LowBits::of(a.low.value, count).value,
                     base_b = LowBits::of(b.low.value, count).value;
  Offsets offsets;
  for (unsigned l = 0; l < exec::kWarpSize; ++l)
    offsets.push_back(bits(base_a + a.offset(l), base_b + b.offset(l)) - bits(base_a, base_b));
  return Shape::with_offsets(offsets, a.checked || b.checked, LowBits::of(bits(base_a, base_b), count));
}

}  // namespace raddle::jit
