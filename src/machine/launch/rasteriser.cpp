// The step of W-14, once for each level of nesting, from the CTAs outwards: a delta becomes steps in x, y and
// z, which are added with carries; what leaves a cluster is the delta of its level.
#include "machine/launch/rasteriser.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace raddle::machine {
namespace {
// floor(value * inverse >> 40) = floor(value / extent) for values below 2^17 if the extent is below 2^16, and
// 0 for a value below 2^16 if it is not.
constexpr unsigned kInverseBits = 40;
std::uint64_t inverse(std::uint64_t extent) { return (std::uint64_t{1} << kInverseBits) / extent + 1; }
}  // namespace

void Rasteriser::reset(const GridKind& kind, const std::uint32_t* grid_ctas, std::uint64_t launched) {
  if (kind.depth != 0 || depth_ != 0 || !std::equal(grid_ctas, grid_ctas + 3, steps_[0].extent))
    divide(kind, grid_ctas);
  RADDLE_ASSERT(ctas_ != 0 && launched <= ctas_, "more launched than the grid has");
  decompositions_ = overflows_ = 0;
  rewind();
  skip(launched);
}

/// Mostly a plain grid comes after one of the same extent: all this is known then.
void Rasteriser::divide(const GridKind& kind, const std::uint32_t* grid_ctas) {
  depth_ = kind.depth;
  std::uint32_t clusters[3] = {grid_ctas[0], grid_ctas[1], grid_ctas[2]};  // of the outermost level
  for (unsigned axis = 0; axis < 3; ++axis) {
    for (unsigned level = 0; level < depth_; ++level) {
      RADDLE_ASSERT(clusters[axis] % kind.levels[level].extent[axis] == 0, "clusters do not divide the grid");
      clusters[axis] /= kind.levels[level].extent[axis];
    }
  }
  for (unsigned i = 0; i <= depth_; ++i) {
    Step& step = steps_[i];
    std::copy_n(i == 0 ? clusters : kind.levels[i - 1].extent, 3, step.extent);
    step.plane = std::uint64_t{step.extent[0]} * step.extent[1];
    step.plane_inverse = inverse(step.plane);
    step.row_inverse = inverse(step.extent[0]);
    step.column_inverse = inverse(step.extent[2]);
    step.ctas = kind.ctas_per_cluster(i);
  }
  ctas_ = steps_[0].plane * steps_[0].extent[2] * steps_[0].ctas;
}

void Rasteriser::rewind() {
  std::memset(at_, 0, sizeof at_);
  position_ = {};  // the first CTA's
  index_ = delta_ = 0;
}

// @returns how many clusters of the level above the sum goes past this one
template <bool narrow>
std::uint64_t Rasteriser::add(const Step& step, std::uint32_t* at, std::uint64_t delta) {
  std::uint64_t z, y;
  if constexpr (narrow) {
    z = delta * step.plane_inverse >> kInverseBits;
    delta -= z * step.plane;
    y = delta * step.row_inverse >> kInverseBits;
  } else {
    z = delta / step.plane;
    delta %= step.plane;
    y = delta / step.extent[0];
  }
  std::uint64_t x = delta - y * step.extent[0] + at[0];
  const bool carry_x = x >= step.extent[0];
  if (carry_x) x -= step.extent[0];
  y += at[1] + (carry_x ? 1 : 0);
  const bool carry_y = y >= step.extent[1];
  if (carry_y) y -= step.extent[1];
  z += at[2] + (carry_y ? 1 : 0);
  at[0] = static_cast<std::uint32_t>(x);
  at[1] = static_cast<std::uint32_t>(y);
  at[2] = static_cast<std::uint32_t>(z);
  if (z < step.extent[2]) return 0;
  const bool few_bits = narrow && step.extent[2] >> kDeltaBits == 0;
  const std::uint64_t clusters = few_bits ? z * step.column_inverse >> kInverseBits : z / step.extent[2];
  at[2] = static_cast<std::uint32_t>(z - clusters * step.extent[2]);
  return clusters;
}

template <bool narrow>
void Rasteriser::decompose(std::uint64_t delta) {
  if (delta != 0) ++decompositions_;
  index_ += delta;
  delta_ = 0;
  if (depth_ == 0) {
    add<narrow>(steps_[0], position_.ctaid, delta);
    return;
  }
  for (unsigned step = depth_ + 1; step-- != 0 && delta != 0;)
    delta = add<narrow>(steps_[step], at_[step], delta);
}

// More launches than the delta has bits for.
void Rasteriser::overflow(std::uint64_t ctas) {
  ++overflows_;
  decompose<false>(delta_ + ctas);
}

void Rasteriser::settle() {
  RADDLE_ASSERT(index_ + delta_ < ctas_, "a CTA after the last one of its grid");
  decompose<true>(delta_);
  if (depth_ != 0) publish();
}

void Rasteriser::publish() {
  std::uint32_t id[3] = {at_[0][0], at_[0][1], at_[0][2]};
  for (unsigned level = 0; level < depth_; ++level) {
    const Step& inner = steps_[level + 1];
    std::copy_n(id, 3, position_.clusters[level].id);
    for (unsigned axis = 0; axis < 3; ++axis) id[axis] = id[axis] * inner.extent[axis] + at_[level + 1][axis];
  }
  std::copy_n(id, 3, position_.ctaid);
  std::uint64_t rank = 0;
  for (unsigned level = depth_; level-- != 0;) {
    const Step& inner = steps_[level + 1];
    const std::uint32_t* at = at_[level + 1];
    rank += (at[0] + std::uint64_t{inner.extent[0]} * at[1] + inner.plane * at[2]) * inner.ctas;
    position_.clusters[level].rank = static_cast<std::uint32_t>(rank);
  }
  position_.cluster_rank = position_.clusters[depth_ - 1].rank;
}

}  // namespace raddle::machine
