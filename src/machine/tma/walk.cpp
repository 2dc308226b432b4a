#include "machine/tma/walk.h"

#include <algorithm>
#include <bit>

namespace raddle::machine {

using exec::BulkDirection;
using exec::TensorMap;

namespace {

/// Most traversal strides are 1, and a division takes as long as everything else for a dimension.
std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return by == 1 ? value : (value + by - 1) / by;
}

/// The steps i of [0, count) with 0 <= start + i * step < size.
void clip(TmaDimension& d, std::int64_t start, std::int64_t step, std::int64_t size) {
  const std::int64_t count = d.count;
  const std::int64_t first = start < 0 ? divided_up(-start, step) : 0;
  const std::int64_t last = start < size ? divided_up(size - start, step) : 0;
  d.first = static_cast<std::uint32_t>(std::min(first, count));
  d.last = static_cast<std::uint32_t>(std::clamp(last, std::int64_t{d.first}, count));
}

/// The bytes of a row that lie in the tensor: elements [start, start + count) of a dimension of `size`.
void clip_row(TmaJob& job, std::int64_t start, std::int64_t size) {
  const std::int64_t count = job.row_bytes >> std::countr_zero(std::uint32_t{job.element_bytes});
  const std::int64_t first = std::clamp<std::int64_t>(-start, 0, count);
  const std::int64_t last = std::clamp<std::int64_t>(size - start, first, count);
  job.begin = static_cast<std::uint32_t>(first * job.element_bytes);
  job.end = static_cast<std::uint32_t>(last * job.element_bytes);
}

/// What a row is: the elements of dimension 0, or a slice.
/// @param count  elements, without interleave
void plan_row(const TensorMap& map, std::int64_t start, std::uint32_t count, TmaJob& job) {
  job.begin = 0;
  job.row_bytes = job.end = is_sliced(map) ? slice_bytes(map.interleave) : count * job.element_bytes;
  if (is_sliced(map)) return;
  clip_row(job, start, static_cast<std::int64_t>(map.size[0]));
  job.global += static_cast<std::uint64_t>(start * job.element_bytes);
}

/// A dimension that a copy visits at `start` alone.
void stay(const TensorMap& map, unsigned dimension, std::int64_t start, TmaJob& job) {
  job.global += static_cast<std::uint64_t>(start) * map.stride[dimension];
  if (start < 0 || start >= static_cast<std::int64_t>(map.size[dimension])) job.begin = job.end = 0;
}

std::uint32_t pitch_of(const TensorMap& map, const TmaJob& job) {
  return is_sliced(map) ? job.row_bytes : std::max(job.row_bytes, swizzle_bytes(map.swizzle));
}

/// The outermost dimension needs no walk of its own if it has one step, inside the tensor, or goes on at the
/// distances of the one within it.
void fold_outermost(TmaJob& job) {
  const TmaDimension& d = job.dimension[job.dimensions - 1];
  if (d.first != 0 || d.last != d.count) return;
  if (d.count != 1) {
    if (job.dimensions == 1) return;
    TmaDimension& within = job.dimension[job.dimensions - 2];
    const bool goes_on = d.stride == within.stride * std::int64_t{within.count};
    if (!goes_on || within.first != 0 || within.last != within.count) return;
    within.count = within.last = within.count * d.count;
  }
  --job.dimensions;
}

/// Rows that follow each other without gaps in both memories are one.
void join_rows(TmaJob& job) {
  while (job.dimensions != 0 && job.begin == 0 && job.end == job.row_bytes) {
    const TmaDimension& d = job.dimension[0];
    if (d.stride != std::int64_t{job.row_bytes} || d.pitch != job.row_bytes) return;
    job.begin = d.first * job.row_bytes;
    job.end = d.last * job.row_bytes;
    job.row_bytes *= d.count;
    std::copy(job.dimension.begin() + 1, job.dimension.begin() + job.dimensions, job.dimension.begin());
    --job.dimensions;
  }
}

std::uint64_t plan_tile(const TensorMap& map, const exec::BulkRequest& request, TmaJob& job) {
  const std::int32_t* at = request.coordinates;
  job.pixels.dimensions = job.dimensions = 0;
  plan_row(map, at[0], map.box[0], job);
  std::uint32_t pitch = pitch_of(map, job);
  std::uint32_t rows = 1;
  for (unsigned i = first_spatial(map); i < map.rank; ++i) {
    if (is_sliced(map) && i == slice_dimension(map)) {
      stay(map, i, at[i], job);
      continue;
    }
    TmaDimension& d = job.dimension[job.dimensions++];
    d.count = static_cast<std::uint32_t>(divided_up(map.box[i], map.step[i]));
    d.stride = static_cast<std::int64_t>(map.stride[i]) * map.step[i];
    d.pitch = pitch;
    clip(d, at[i], map.step[i], static_cast<std::int64_t>(map.size[i]));
    job.global += static_cast<std::uint64_t>(std::int64_t{at[i]} * static_cast<std::int64_t>(map.stride[i]));
    pitch *= d.count;
    rows *= d.count;
    fold_outermost(job);
  }
  job.bytes = rows * job.row_bytes;
  join_rows(job);
  return pitch;
}

std::uint64_t plan_im2col(const TensorMap& map, const exec::BulkRequest& request, TmaJob& job) {
  const bool has_offsets = job.kind.direction != BulkDirection::to_global;
  const std::int32_t* at = request.coordinates;
  TmaPixels& pixels = job.pixels;
  pixels.dimensions = spatial_dimensions(map);
  pixels.count = map.pixels;
  job.dimensions = 0;
  plan_row(map, at[0], map.channels, job);
  if (is_sliced(map)) stay(map, slice_dimension(map), at[slice_dimension(map)], job);
  for (unsigned i = 0; i < pixels.dimensions; ++i) {
    const unsigned dimension = first_spatial(map) + i;
    pixels.size[i] = static_cast<std::int64_t>(map.size[dimension]);
    pixels.stride[i] = static_cast<std::int64_t>(map.stride[dimension]);
    pixels.step[i] = map.step[dimension];
    pixels.lower[i] = map.lower[i];
    pixels.upper[i] = last_base(map, i);
    pixels.start[i] = at[dimension];
    pixels.offset[i] = has_offsets ? request.offsets[i] : 0;
  }
  const unsigned images = map.rank - 1;
  pixels.image = at[images];
  pixels.images = static_cast<std::int64_t>(map.size[images]);
  pixels.image_stride = static_cast<std::int64_t>(map.stride[images]);
  pixels.image_step = map.step[images];
  pixels.pitch = pitch_of(map, job);
  job.bytes = job.row_bytes * pixels.count;
  return pixels.pitch * pixels.count;
}

bool is_inside(const TmaJob& job) {
  if (job.begin != 0 || job.end != job.row_bytes) return false;
  const auto all = [](const TmaDimension& d) { return d.first == 0 && d.last == d.count; };
  return std::all_of(job.dimension.begin(), job.dimension.begin() + job.dimensions, all);
}

}  // namespace

void InsidePlan::keep(const TensorMap& map, std::uint32_t kind, const TmaJob& job, std::uint64_t occupied) {
  if (map.mode != TensorMap::Mode::tile || is_sliced(map) || !is_inside(job)) return;
  for (unsigned i = 0; i < map.rank; ++i) {
    const std::int64_t box = map.box[i], step = i == 0 ? 1 : map.step[i];
    const std::int64_t last = static_cast<std::int64_t>(map.size[i]) - 1 - (divided_up(box, step) - 1) * step;
    last_[i] = static_cast<std::uint32_t>(std::min<std::int64_t>(last, INT32_MAX));  // as coordinates are
  }
  rank_ = map.rank;
  address_ = map.address;
  stride_ = map.stride;
  kind_ = kind;
  job_ = job;
  occupied_ = occupied;
  direct_load_.keep(job, occupied);
}

std::uint64_t plan_walk(const TensorMap& map, const exec::BulkRequest& request, TmaJob& job) {
  job.element = map.element;
  job.element_bytes = static_cast<std::uint8_t>(element_bytes(map.element));
  job.fill = fill_word(map);
  job.converts = converts(map.element) && job.kind.direction == BulkDirection::to_shared;
  job.swizzle = map.swizzle;
  job.global = map.address;
  return map.mode == TensorMap::Mode::im2col ? plan_im2col(map, request, job) : plan_tile(map, request, job);
}

}  // namespace raddle::machine
