// The bytes that a view covers: sub-resources of images are ranges of bytes as well, so that one analysis
// serves both.
#pragma once

#include <cstdint>
#include <vector>

#include "raddle/graph/graph.h"

namespace raddle::graph {

struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// The view with numbers instead of "all there is".
View resolved(const ResourceInfo& info, const View& view);
/// Why a view cannot be; empty: it can.
std::string view_error(const ResourceInfo& info, const View& view);
/// In ascending order, none touching the next. The view must be one that can be.
void append_ranges(const ResourceInfo& info, const View& view, std::vector<ByteRange>& ranges);
/// Bytes that lie in one range on either side of a copy.
struct CopyPiece {
  std::uint64_t to = 0, from = 0, bytes = 0;  ///< offsets in the resources
};
/// A copy piece by piece: one side may lie in one range and the other in several.
std::vector<CopyPiece> pieces_of(const Graph& graph, const Copy& copy);
std::uint64_t view_bytes(const ResourceInfo& info, const View& view);
bool covers(const ResourceInfo& info, const View& outer, const View& inner);
bool overlap(const ResourceInfo& info, const View& one, const View& other);
/// "a[0, 64)", "image mips 1-2 layers 0-5": for messages.
std::string view_text(const ResourceInfo& info, const View& view);

}  // namespace raddle::graph
