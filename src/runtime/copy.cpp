// Copies of boxes (rows and slices with pitches) between any two sides, and fills of rows. Sides are resolved
// by the device that owns their memory, so that a copy between two devices, or within the host, is a copy
// like any other.
#include <bit>

#include "machine/memory/device_copy.h"
#include "runtime/device_impl.h"

namespace raddle {
namespace {

/// Bytes from the first to the last of a box. @errors invalid: more than an address space has
Result<std::uint64_t> box_span(const CopySide& side, std::uint64_t width, std::uint64_t height,
                               std::uint64_t depth) {
  std::uint64_t rows = 0, slices = 0, span = 0;
  if (__builtin_mul_overflow(height - 1, side.pitch, &rows) ||
      __builtin_mul_overflow(depth - 1, side.slice_pitch, &slices) ||
      __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, width, &span) ||
      __builtin_add_overflow(span, side.address, &rows))
    return Error::invalid("{} slices of {} rows of {} bytes are too large", depth, height, width);
  return span;
}

}  // namespace

Result<machine::BoxSide> Device::Impl::side(const CopySide& side, const BoxCopy& copy) {
  TRY_ASSIGN(const std::uint64_t span, box_span(side, copy.width, copy.height, copy.depth));
  machine::BoxSide resolved{reinterpret_cast<std::byte*>(side.address), side.pitch, side.slice_pitch,
                            side.device != nullptr};
  if (resolved.watched) {
    TRY_ASSIGN(resolved.memory, of(*side.device).space->memory().host({side.address}, span));
  }
  return resolved;
}

Result<void> Device::copy(const BoxCopy& copy) {
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return {};
  TRY_ASSIGN(const machine::BoxSide to, Impl::side(copy.to, copy));
  TRY_ASSIGN(const machine::BoxSide from, Impl::side(copy.from, copy));
  TRY(impl_->default_stream->synchronize());
  machine::copy_box(to, from, copy.width, copy.height, copy.depth);
  return {};
}

Result<void> Stream::copy(const BoxCopy& copy) {
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return {};
  TRY_ASSIGN(const machine::BoxSide to, Device::Impl::side(copy.to, copy));
  TRY_ASSIGN(const machine::BoxSide from, Device::Impl::side(copy.from, copy));
  impl_->submit(machine::TaskKind::copy,
                [to, from, width = copy.width, height = copy.height, depth = copy.depth, held = copy.holds] {
                  machine::copy_box(to, from, width, height, depth);
                });
  return {};
}

Result<void> Stream::fill(const RowFill& fill) {
  const auto [to, word, word_bytes, width, height, pitch, device] = fill;
  if (width == 0 || height == 0) return {};
  if (!std::has_single_bit(word_bytes) || word_bytes > 8 || to.value % word_bytes != 0)
    return Error::invalid("words of {} bytes cannot be written to {:#x}", word_bytes, to.value);
  std::uint64_t row_bytes;
  if (__builtin_mul_overflow(width, std::uint64_t{word_bytes}, &row_bytes) ||
      (height > 1 && (pitch < row_bytes || pitch % word_bytes != 0)))
    return Error::invalid("{} words of {} bytes do not fit rows {} bytes apart", width, word_bytes, pitch);
  TRY_ASSIGN(const std::uint64_t span, box_span({nullptr, to.value, pitch}, row_bytes, height, 1));
  Device::Impl& owner = device != nullptr ? Device::Impl::of(*device) : impl_->device;
  TRY_ASSIGN(std::byte * target, owner.space->memory().host(to, span));
  impl_->submit(machine::TaskKind::copy,
                [=, row_pitch = pitch, word = word, size = word_bytes, rows = height, count = width] {
                  for (std::uint64_t row = 0; row < rows; ++row)
                    machine::fill_device_words(target + row * row_pitch, word, size, count);
                });
  return {};
}

}  // namespace raddle
