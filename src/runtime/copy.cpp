// Copies of boxes (rows and slices with pitches) between any two sides, and fills of rows. Each side names
// the device whose memory it is, so that a copy between two devices, or within the host, is a copy like any
// other.
#include "runtime/device_impl.h"

namespace raddle {
namespace {

machine::MemoryRows rows_of(const CopySide& side) {
  machine::AddressSpace* const space =
      side.device == nullptr ? nullptr : Device::Impl::of(*side.device).space.get();
  return {space, side.address, side.pitch, side.slice_pitch};
}

/// Whether it lies where page tables say: then an engine looks there.
bool is_modelled(const machine::MemoryRows& rows) {
  return rows.space != nullptr && rows.space->pages() != nullptr;
}

}  // namespace

machine::CopyWork work_of(const BoxCopy& copy) {
  return {rows_of(copy.to), rows_of(copy.from), copy.width, copy.height, copy.depth, copy.holds};
}

machine::FillWork work_of(const RowFill& fill, const Device::Impl& otherwise) {
  const Device::Impl& owner = fill.device != nullptr ? Device::Impl::of(*fill.device) : otherwise;
  machine::FillWork work{owner.at(fill.to), fill.word, fill.word_bytes, fill.width, fill.height};
  work.to.pitch = fill.pitch;
  return work;
}

/// The calling thread is as good as an engine, and need not be waited for.
Result<void> Device::Impl::copy_now(const machine::CopyWork& copy) {
  if (copy.is_empty()) return {};
  TRY(machine::check(copy));
  if (is_modelled(copy.to) || is_modelled(copy.from)) {
    TRY(default_stream->impl_->copy(copy));
    return default_stream->synchronize();
  }
  TRY(default_stream->synchronize());
  const machine::BoxSide to = machine::box_of(copy.to), from = machine::box_of(copy.from);
  machine::copy_box(to, from, copy.width, copy.height, copy.depth);
  return {};
}

Result<void> Stream::Impl::copy(const machine::CopyWork& copy) {
  TRY(machine::check(copy));
  if (!copy.is_empty()) submit(copy);
  return {};
}

Result<void> Device::copy(const BoxCopy& copy) { return impl_->copy_now(work_of(copy)); }
Result<void> Stream::copy(const BoxCopy& copy) { return impl_->copy(work_of(copy)); }

Result<void> Stream::fill(const RowFill& fill) {
  machine::FillWork work = work_of(fill, impl_->device);
  TRY(machine::check(work));
  if (!work.is_empty()) impl_->submit(std::move(work));
  return {};
}

}  // namespace raddle
