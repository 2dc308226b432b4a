#include "machine/copy/transfer.h"

#include <algorithm>

#include "machine/address_space.h"
#include "machine/memory/guarded_access.h"

namespace raddle::machine {

/// What only kernels cannot write, the host writes by a mapping of its own: no page table knows that one.
Transfer::Side Transfer::side_of(const MemoryRows& rows, bool is_written) {
  const BoxSide box = box_of(rows);
  const bool is_kernels =
      rows.space != nullptr && reinterpret_cast<std::uint64_t>(box.memory) == rows.address;
  return {box, is_kernels ? rows.space->pages() : nullptr, is_written};
}

Transfer::Transfer(const CopyWork& copy)
    : to_(side_of(copy.to, true)),
      from_(side_of(copy.from, false)),
      width_(copy.width),
      height_(copy.height),
      depth_(copy.depth) {}

Transfer::Transfer(const FillWork& fill)
    : to_(side_of(fill.to, true)),
      width_(fill.width * fill.word_bytes),
      height_(fill.height),
      depth_(1),
      word_(fill.word),
      word_bytes_(fill.word_bytes) {}

std::optional<Transfer::Stop> Transfer::run(unsigned engine) {
  return to_.pages == nullptr && from_.pages == nullptr ? run_whole() : run_pieces(engine);
}

void Transfer::move(const BoxSide& to, const BoxSide& from, std::uint64_t width, std::uint64_t height,
                    std::uint64_t depth) const {
  if (word_bytes_ == 0) return copy_box(to, from, width, height, depth);
  for (std::uint64_t row = 0; row < height; ++row)
    fill_device_words(to.memory + row * to.pitch, word_, word_bytes_, width / word_bytes_);
}

namespace {
std::optional<Transfer::Stop> stop_at(const std::optional<MissingMemory>& missing) {
  if (!missing) return std::nullopt;
  return Transfer::Stop{.address = missing->address, .is_write = missing->is_write, .place = {}};
}
}  // namespace

std::optional<Transfer::Stop> Transfer::run_whole() {
  const auto missing = GuardedAccess::attempt([&] { move(to_.box, from_.box, width_, height_, depth_); });
  if (!missing) bytes_moved_ = width_ * height_ * depth_;
  return stop_at(missing);
}

std::optional<Transfer::Stop> Transfer::run_pieces(unsigned engine) {
  for (; at_.slice < depth_; ++at_.slice, at_.row = 0)
    for (; at_.row < height_; ++at_.row, at_.byte = 0)
      while (at_.byte < width_)
        if (const auto stop = move_piece(engine)) return stop;
  return std::nullopt;
}

/// What lies in one page on either side.
std::optional<Transfer::Stop> Transfer::move_piece(unsigned engine) {
  Piece to, from;
  if (const auto stop = find(to_, engine, to)) return stop;
  if (word_bytes_ == 0)
    if (const auto stop = find(from_, engine, from)) return stop;
  const std::uint64_t bytes = word_bytes_ == 0 ? std::min(to.left, from.left) : to.left;
  const BoxSide write{.memory = to.memory, .watched = to_.box.watched},
      read{.memory = from.memory, .watched = from_.box.watched};
  const auto missing = GuardedAccess::attempt([&] { move(write, read, bytes, 1, 1); });
  if (missing) return stop_at(missing);
  at_.byte += bytes;
  bytes_moved_ += bytes;
  return std::nullopt;
}

std::optional<Transfer::Stop> Transfer::find(const Side& side, unsigned engine, Piece& piece) const {
  std::byte* const memory =
      side.box.memory + at_.slice * side.box.slice_pitch + at_.row * side.box.pitch + at_.byte;
  piece = {memory, width_ - at_.byte};
  if (side.pages == nullptr) return std::nullopt;
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  const Translated place =
      side.pages->access(engine, address, side.is_written ? exec::AccessKind::store : exec::AccessKind::load);
  if (place.problem != MmuProblem::none)
    return Stop{.address = address, .is_write = side.is_written, .place = place, .pages = side.pages};
  piece = {place.host, std::min(piece.left, place.left)};
  return std::nullopt;
}

}  // namespace raddle::machine
