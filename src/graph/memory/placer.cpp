#include "graph/memory/placer.h"

#include <algorithm>

#include "base/round_up.h"

namespace raddle::graph {

void Placer::insert(std::uint64_t offset, std::uint64_t bytes) {
  auto after = ranges_.lower_bound(offset);
  if (after != ranges_.end() && after->first == offset + bytes) {
    bytes += after->second;
    const auto gone = after++;
    erase(gone);
  }
  if (after != ranges_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first, bytes += before->second;
      erase(before);
    }
  }
  ranges_.emplace(offset, bytes);
  sizes_.emplace(bytes, offset);
}

void Placer::erase(std::map<std::uint64_t, std::uint64_t>::iterator range) {
  sizes_.erase({range->second, range->first});
  ranges_.erase(range);
}

std::vector<Placer::Piece> Placer::take_pieces(std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Piece> taken;
  const std::uint64_t end = offset + bytes;
  for (auto at = pieces_.lower_bound(offset); at != pieces_.end() && at->first < end;) {
    Piece piece = at->second;
    at = pieces_.erase(at);
    if (piece.offset + piece.bytes > end) {
      Piece rest = piece;
      rest.bytes = piece.offset + piece.bytes - end, rest.offset = end;
      pieces_.emplace(end, rest);
      piece.bytes = end - piece.offset;
    }
    taken.push_back(piece);
  }
  return taken;
}

std::optional<Placer::Block> Placer::place(std::uint64_t bytes) {
  bytes = round_up(bytes, kAlignment);
  Block block{0, bytes, {}};
  const auto fit = sizes_.lower_bound({bytes, 0});
  if (fit != sizes_.end()) {
    block.offset = fit->second;
    const std::uint64_t rest = fit->first - bytes;
    erase(ranges_.find(fit->second));
    if (rest != 0) ranges_.emplace(block.offset + bytes, rest), sizes_.emplace(rest, block.offset + bytes);
  } else {
    // The free range at the top, if there is one, and what is above it.
    const auto last = ranges_.empty() ? ranges_.end() : std::prev(ranges_.end());
    const bool reaches_top = last != ranges_.end() && last->first + last->second == top_;
    block.offset = reaches_top ? last->first : top_;
    if (block.offset > limit_ || bytes > limit_ - block.offset) return std::nullopt;
    if (reaches_top) erase(last);
    pieces_.emplace(top_, Piece{top_, block.offset + bytes - top_, kNobody});
    top_ = block.offset + bytes;
  }
  block.pieces = take_pieces(block.offset, bytes);
  live_ += bytes;
  return block;
}

void Placer::free(const Block& block, std::uint32_t owner) {
  pieces_.emplace(block.offset, Piece{block.offset, block.bytes, owner});
  insert(block.offset, block.bytes);
  live_ -= block.bytes;
}

void Placer::take_back(const Block& block) {
  for (const Piece& piece : block.pieces) pieces_.emplace(piece.offset, piece);
  insert(block.offset, block.bytes);
  live_ -= block.bytes;
}

}  // namespace raddle::graph
