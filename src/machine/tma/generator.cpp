#include "machine/tma/generator.h"

#include <algorithm>

namespace raddle::machine {

void TmaGenerator::begin(const TmaJob& job) {
  job_ = &job;
  done_ = false;
  step_ = pixel_ = 0;
  steps_.fill(0);
  base_ = job.pixels.start;
  image_ = job.pixels.image;
  next_outer();
}

/// Where the innermost dimension begins, from the steps of those around it.
bool TmaGenerator::next_outer() {
  global_ = job_->global;
  shared_ = job_->shared;
  outer_inside_ = true;
  for (unsigned i = first_outer(); i < job_->dimensions; ++i) {
    const TmaDimension& d = job_->dimension[i];
    global_ += static_cast<std::uint64_t>(static_cast<std::int64_t>(steps_[i]) * d.stride);
    shared_ += steps_[i] * d.pitch;
    outer_inside_ = outer_inside_ && steps_[i] >= d.first && steps_[i] < d.last;
  }
  return true;
}

bool TmaGenerator::next(TmaRows& rows) {
  if (done_) return false;
  const bool ends = job_->pixels.dimensions != 0 ? take_pixels(rows) : take_steps(rows);
  if (!ends) return true;
  step_ = 0;
  for (unsigned i = first_outer(); i < job_->dimensions; ++i) {
    if (++steps_[i] < job_->dimension[i].count) return next_outer();
    steps_[i] = 0;
  }
  done_ = true;
  return true;
}

/// Steps of dimension 0 that are alike. @returns whether these were its last
bool TmaGenerator::take_steps(TmaRows& rows) {
  const TmaDimension& d = job_->dimensions != 0 ? job_->dimension[0] : kSingleStep;
  std::uint32_t end = d.count;
  rows.inside = outer_inside_ && step_ >= d.first && step_ < d.last;
  if (rows.inside) end = d.last;
  if (outer_inside_ && step_ < d.first) end = d.first;
  rows.global = global_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(step_) * d.stride);
  rows.stride = d.stride;
  rows.shared = shared_ + step_ * d.pitch;
  rows.pitch = d.pitch;
  rows.count = end - step_;
  step_ = end;
  return step_ == d.count;
}

/// Pixels along W that are alike. @returns whether the last pixel was among them
bool TmaGenerator::take_pixels(TmaRows& rows) {
  const TmaPixels& p = job_->pixels;
  const std::int64_t step = p.step[0], w = base_[0] + p.offset[0];
  const std::int64_t in_row = std::max<std::int64_t>(0, (p.upper[0] - base_[0]) / step) + 1;
  std::int64_t count = std::min<std::int64_t>(in_row, p.count - pixel_);
  bool row_inside = outer_inside_ && image_ >= 0 && image_ < p.images;
  std::int64_t distance = w * p.stride[0] + image_ * p.image_stride;
  for (unsigned i = 1; i < p.dimensions; ++i) {
    const std::int64_t at = base_[i] + p.offset[i];
    row_inside = row_inside && at >= 0 && at < p.size[i];
    distance += at * p.stride[i];
  }
  const std::int64_t before = w < 0 ? (-w + step - 1) / step : 0;  // pixels left of the tensor
  const std::int64_t within = w < p.size[0] ? (p.size[0] - w + step - 1) / step : 0;
  rows.inside = row_inside && before == 0 && within > 0;
  if (rows.inside) count = std::min(count, within);
  if (row_inside && before != 0) count = std::min(count, before);
  rows.global = global_ + static_cast<std::uint64_t>(distance);
  rows.stride = p.stride[0] * step;
  rows.shared = shared_ + pixel_ * p.pitch;
  rows.pitch = p.pitch;
  rows.count = static_cast<std::uint32_t>(count);
  pixel_ += rows.count;
  base_[0] += count * step;
  if (count == in_row) next_pixel_row();
  if (pixel_ < p.count) return false;
  pixel_ = 0;
  base_ = p.start;
  image_ = p.image;
  return true;
}

/// The walk starts each row, plane and image at the lower corner.
void TmaGenerator::next_pixel_row() {
  const TmaPixels& p = job_->pixels;
  base_[0] = p.lower[0];
  for (unsigned i = 1; i < p.dimensions; ++i) {
    base_[i] += p.step[i];
    if (base_[i] <= p.upper[i]) return;
    base_[i] = p.lower[i];
  }
  image_ += p.image_step;
}

}  // namespace raddle::machine
