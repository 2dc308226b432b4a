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

/// The tensor's slices of channels.
std::int64_t slices_of(const TensorMap& map) {
  return divided_up(static_cast<std::int64_t>(map.size[0]) * element_bytes(map.element),
                    slice_bytes(map.interleave));
}

/// From slice to slice of one image: no parameter says it, so images of one slice follow each other densely.
std::int64_t slice_stride(const TensorMap& map) {
  const unsigned outermost = map.rank - 2;
  return static_cast<std::int64_t>(map.size[outermost] * map.stride[outermost]);
}

/// Dimension 0 of the slices, outside all others.
void add_slices(const TensorMap& map, std::int64_t start, std::uint32_t count, std::int64_t step,
                std::uint32_t pitch, TmaJob& job) {
  TmaDimension& d = job.dimension[job.dimensions++];
  d.count = count;
  d.stride = slice_stride(map) * step;
  d.pitch = pitch;
  clip(d, start, step, slices_of(map));
  job.global += static_cast<std::uint64_t>(start * slice_stride(map));
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
  const bool sliced = map.interleave != TensorMap::Interleave::none;
  const std::int32_t* at = request.coordinates;
  job.pixels.dimensions = job.dimensions = 0;
  if (sliced) {
    job.row_bytes = job.end = slice_bytes(map.interleave);
    job.begin = 0;
  } else {
    job.row_bytes = map.box[0] * job.element_bytes;
    clip_row(job, at[0], static_cast<std::int64_t>(map.size[0]));
    job.global += static_cast<std::uint64_t>(std::int64_t{at[0]} * job.element_bytes);
  }
  std::uint32_t pitch = sliced ? job.row_bytes : std::max(job.row_bytes, swizzle_bytes(map.swizzle));
  std::uint32_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i) {
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
  if (sliced) {
    const std::uint32_t count = (map.box[0] + map.step[0] - 1) / map.step[0];
    add_slices(map, at[0], count, map.step[0], pitch, job);
    pitch *= count;
    rows *= count;
  }
  job.bytes = rows * job.row_bytes;
  join_rows(job);
  return pitch;
}

std::uint64_t plan_im2col(const TensorMap& map, const exec::BulkRequest& request, TmaJob& job) {
  const bool sliced = map.interleave != TensorMap::Interleave::none;
  const bool has_offsets = job.kind.direction != BulkDirection::to_global;
  const std::int32_t* at = request.coordinates;
  TmaPixels& pixels = job.pixels;
  pixels.dimensions = map.rank - 2;
  pixels.count = map.pixels;
  job.dimensions = 0;
  job.begin = 0;
  job.row_bytes = job.end = sliced ? slice_bytes(map.interleave) : map.channels * job.element_bytes;
  if (!sliced) {
    clip_row(job, at[0], static_cast<std::int64_t>(map.size[0]));
    job.global += static_cast<std::uint64_t>(std::int64_t{at[0]} * job.element_bytes);
  }
  for (unsigned i = 0; i < pixels.dimensions; ++i) {
    pixels.size[i] = static_cast<std::int64_t>(map.size[i + 1]);
    pixels.stride[i] = static_cast<std::int64_t>(map.stride[i + 1]);
    pixels.step[i] = map.step[i + 1];
    pixels.lower[i] = map.lower[i];
    pixels.upper[i] = pixels.size[i] - 1 + map.upper[i];
    pixels.start[i] = at[i + 1];
    pixels.offset[i] = has_offsets ? request.offsets[i] : 0;
  }
  pixels.image = at[map.rank - 1];
  pixels.images = static_cast<std::int64_t>(map.size[map.rank - 1]);
  pixels.image_stride = static_cast<std::int64_t>(map.stride[map.rank - 1]);
  pixels.pitch = sliced ? job.row_bytes : std::max(job.row_bytes, swizzle_bytes(map.swizzle));
  std::uint32_t occupied = pixels.pitch * pixels.count;
  job.bytes = job.row_bytes * pixels.count;
  if (sliced) {
    const std::uint32_t count = (map.channels + map.step[0] - 1) / map.step[0];
    add_slices(map, at[0], count, map.step[0], occupied, job);
    occupied *= count;
    job.bytes *= count;
  }
  return occupied;
}

bool is_inside(const TmaJob& job) {
  if (job.begin != 0 || job.end != job.row_bytes) return false;
  const auto all = [](const TmaDimension& d) { return d.first == 0 && d.last == d.count; };
  return std::all_of(job.dimension.begin(), job.dimension.begin() + job.dimensions, all);
}

}  // namespace

void InsidePlan::keep(const TensorMap& map, std::uint32_t kind, const TmaJob& job, std::uint64_t occupied) {
  if (map.mode != TensorMap::Mode::tile || map.interleave != TensorMap::Interleave::none || !is_inside(job))
    return;
  for (unsigned i = 0; i < map.rank; ++i) {
    const std::int64_t box = map.box[i], step = i == 0 ? 1 : map.step[i];
    last_[i] = static_cast<std::int64_t>(map.size[i]) - 1 - (divided_up(box, step) - 1) * step;
  }
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
