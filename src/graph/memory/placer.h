// Where transient resources lie: best fit among what is free, else above all that was ever used. Free bytes
// remember whose they were, since who gets them has to wait for those.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace raddle::graph {

class Placer {
 public:
  static constexpr std::uint64_t kAlignment = 512;
  static constexpr std::uint32_t kNobody = ~0u;

  struct Piece {
    std::uint64_t offset = 0, bytes = 0;
    std::uint32_t owner = kNobody;  ///< who had it last
  };
  struct Block {
    std::uint64_t offset = 0, bytes = 0;
    std::vector<Piece> pieces;  ///< of those that had it before, ascending
  };

  explicit Placer(std::uint64_t limit) : limit_(limit) {}
  /// @returns none: it would lie beyond the limit
  std::optional<Block> place(std::uint64_t bytes);
  /// The owner has no further use for the block.
  void free(const Block& block, std::uint32_t owner);
  /// As if place() had not been called.
  void take_back(const Block& block);
  std::uint64_t live() const { return live_; }
  /// Whether so much fits whatever is free.
  bool fits_above(std::uint64_t bytes) const { return top_ <= limit_ && bytes <= limit_ - top_; }

 private:
  void insert(std::uint64_t offset, std::uint64_t bytes);
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator range);
  std::vector<Piece> take_pieces(std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t limit_, top_ = 0, live_ = 0;
  std::map<std::uint64_t, std::uint64_t> ranges_;            // free: offset -> bytes, none touching the next
  std::set<std::pair<std::uint64_t, std::uint64_t>> sizes_;  // the same: bytes, offset
  std::map<std::uint64_t, Piece> pieces_;                    // the same bytes, by who had them
};

}  // namespace raddle::graph
