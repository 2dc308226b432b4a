// What a pass does to resources.
#pragma once

#include "raddle/graph/resource.h"

namespace raddle::graph {

/// The unit through which a pass reaches a resource; its caches and its layout of images.
enum class Unit : std::uint8_t { kernel, texture, draw, copy, host };

/// An edge between a pass and a resource (G-1c). A write makes a new version of what it writes (G-1e).
struct Access {
  View view;
  bool reads = false, writes = false;
  bool discards = false;   ///< a write after which nothing of what was there before is wanted
  bool unordered = false;  ///< a write whose order with others that say so, too, does not matter (G-8h)
  Unit unit = Unit::kernel;
  Layout layout = Layout::general;  ///< of images
  bool changes_layout = false;      ///< takes any layout, and leaves the one above
  std::uint8_t makes_visible = 0;   ///< units (bits) that need no cache action of the system's after it
  /// Block b of the grid (along x) touches no more than bytes [b, b + 1) * this of the view, which allows to
  /// split the pass (G-13). 0: any block may touch all of it.
  std::uint64_t bytes_per_block = 0;
};

/// How an access is made, where a call names the view and the direction itself.
struct Usage {
  Unit unit = Unit::kernel;
  bool unordered = false;
  std::uint64_t bytes_per_block = 0;
};

/// The layout that a unit wants.
Layout layout_of(Unit unit);
const char* unit_name(Unit unit);
const char* layout_name(Layout layout);

}  // namespace raddle::graph
