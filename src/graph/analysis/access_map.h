// Who touched which bytes of a resource last, in the order of the program. The bytes are cut into segments,
// so that each access costs a logarithm and the segments that it covers.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "raddle/graph/access.h"

namespace raddle::graph {

/// Lists of nodes that grow at their head and share their tails: to cut a segment copies no list.
class NodeLists {
 public:
  static constexpr std::uint32_t kEmpty = 0;
  NodeLists() : cells_(1) {}
  std::uint32_t push(std::uint32_t node, std::uint32_t list) {
    cells_.push_back({node, list});
    return static_cast<std::uint32_t>(cells_.size() - 1);
  }
  template <class Function>
  void each(std::uint32_t list, Function&& function) const {
    for (; list != kEmpty; list = cells_[list].next) function(cells_[list].node);
  }
  std::uint32_t head(std::uint32_t list) const { return cells_[list].node; }

 private:
  struct Cell {
    std::uint32_t node = 0, next = 0;
  };
  std::vector<Cell> cells_;
};

struct Segment {
  std::uint64_t end = 0;
  std::uint32_t writers = NodeLists::kEmpty;  ///< the last one, or all of a group of unordered ones
  std::uint32_t readers = NodeLists::kEmpty;  ///< since then
  std::uint32_t before = NodeLists::kEmpty;   ///< of a group: whom each of its writers waits for
  Layout layout = Layout::undefined;
  Unit writer = Unit::kernel;
  std::uint8_t visible = 0xff;  ///< units (bits) that see what was written
  bool unordered = false;       ///< the writers are a group
  bool has_value = false;       ///< somebody wrote it, or the caller bound it
};

class AccessMap {
 public:
  AccessMap(std::uint64_t bytes, const Segment& initial) {
    Segment whole = initial;
    whole.end = bytes;
    segments_.emplace_hint(segments_.end(), 0, whole);
  }
  /// Calls with begin and segment of each that lies in [begin, end), having cut at both.
  template <class Function>
  void each(std::uint64_t begin, std::uint64_t end, Function&& function) {
    for (auto at = cut(begin); at != segments_.end() && at->first < end; ++at) {
      if (at->second.end > end) split(at, end);
      function(at->first, at->second);
    }
  }
  /// The same without cutting: also segments that reach out of it.
  template <class Function>
  void look(std::uint64_t begin, std::uint64_t end, Function&& function) const {
    auto at = segments_.upper_bound(begin);
    for (--at; at != segments_.end() && at->first < end; ++at) function(at->first, at->second);
  }
  template <class Function>
  void all(Function&& function) const {
    for (const auto& [begin, segment] : segments_) function(begin, segment);
  }
  /// One segment instead of all that lie in [begin, end), at whose ends there are cuts.
  void replace(std::uint64_t begin, std::uint64_t end, const Segment& by) {
    auto at = segments_.find(begin);
    at->second = by;
    at->second.end = end;
    auto after = std::next(at);
    while (after != segments_.end() && after->first < end) after = segments_.erase(after);
  }

 private:
  using Map = std::map<std::uint64_t, Segment>;
  Map::iterator cut(std::uint64_t place) {
    auto at = std::prev(segments_.upper_bound(place));
    return at->first == place ? at : split(at, place);
  }
  /// @returns the second half
  Map::iterator split(Map::iterator at, std::uint64_t place) {
    const auto second = segments_.emplace_hint(std::next(at), place, at->second);
    at->second.end = place;
    return second;
  }

  Map segments_;
};

}  // namespace raddle::graph
