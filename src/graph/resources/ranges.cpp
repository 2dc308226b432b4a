#include "graph/resources/ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace raddle::graph {

std::uint64_t ImageShape::layer_bytes(std::uint32_t mip) const {
  return std::uint64_t{width_of(mip)} * height_of(mip) * depth_of(mip) * format.bytes();
}

std::uint64_t ImageShape::offset(std::uint32_t mip, std::uint32_t layer) const {
  std::uint64_t bytes = 0;
  for (std::uint32_t level = 0; level < mip; ++level) bytes += layer_bytes(level) * layers;
  return bytes + (layer == 0 ? 0 : layer_bytes(mip) * layer);
}

View resolved(const ResourceInfo& info, const View& view) {
  View result = view;
  if (info.is_image) {
    if (view.mips == ~0u) result.mips = info.shape.mips - std::min(view.mip, info.shape.mips);
    if (view.layers == ~0u) result.layers = info.shape.layers - std::min(view.layer, info.shape.layers);
  } else if (view.bytes == View::kAll) {
    result.bytes = info.bytes - std::min(view.begin, info.bytes);
  }
  return result;
}

std::string view_error(const ResourceInfo& info, const View& view) {
  const View whole = resolved(info, view);
  if (!info.is_image) {
    if (view.mip != 0 || view.mips != ~0u || view.layer != 0 || view.layers != ~0u)
      return fmt::format("'{}' is a buffer and has no levels or layers", info.name);
    if (whole.bytes == 0) return fmt::format("a view of no bytes of '{}', at {}", info.name, view.begin);
    if (whole.begin > info.bytes || whole.bytes > info.bytes - whole.begin)
      return fmt::format("bytes {} to {} of '{}', which has {}", whole.begin, whole.begin + whole.bytes,
                         info.name, info.bytes);
    return {};
  }
  if (view.begin != 0 || view.bytes != View::kAll)
    return fmt::format("'{}' is an image: views of it are levels and layers, not bytes", info.name);
  const auto outside = [](std::uint32_t first, std::uint32_t count, std::uint32_t all) {
    return count == 0 || first >= all || count > all - first;
  };
  if (outside(whole.mip, whole.mips, info.shape.mips))
    return fmt::format("levels {} to {} of '{}', which has {}", whole.mip, whole.mip + whole.mips, info.name,
                       info.shape.mips);
  if (outside(whole.layer, whole.layers, info.shape.layers))
    return fmt::format("layers {} to {} of '{}', which has {}", whole.layer, whole.layer + whole.layers,
                       info.name, info.shape.layers);
  return {};
}

void append_ranges(const ResourceInfo& info, const View& view, std::vector<ByteRange>& ranges) {
  const View whole = resolved(info, view);
  if (!info.is_image) {
    ranges.push_back({whole.begin, whole.begin + whole.bytes});
    return;
  }
  const bool all_layers = whole.layers == info.shape.layers;
  for (std::uint32_t mip = whole.mip; mip < whole.mip + whole.mips; ++mip) {
    const std::uint64_t begin = info.shape.offset(mip, whole.layer);
    const std::uint64_t end = begin + info.shape.layer_bytes(mip) * whole.layers;
    const bool goes_on = all_layers && mip != whole.mip;
    if (goes_on)
      ranges.back().end = end;
    else
      ranges.push_back({begin, end});
  }
}

std::vector<CopyPiece> pieces_of(const Graph& graph, const Copy& copy) {
  std::vector<ByteRange> to, from;
  append_ranges(graph.info(copy.to.resource), copy.to, to);
  append_ranges(graph.info(copy.from.resource), copy.from, from);
  std::vector<CopyPiece> pieces;
  for (std::size_t i = 0, j = 0; i < to.size() && j < from.size();) {
    const std::uint64_t bytes = std::min(to[i].end - to[i].begin, from[j].end - from[j].begin);
    pieces.push_back({to[i].begin, from[j].begin, bytes});
    if ((to[i].begin += bytes) == to[i].end) ++i;
    if ((from[j].begin += bytes) == from[j].end) ++j;
  }
  return pieces;
}

std::uint64_t view_bytes(const ResourceInfo& info, const View& view) {
  std::vector<ByteRange> ranges;
  append_ranges(info, view, ranges);
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.end - range.begin;
  return bytes;
}

namespace {
bool inside(std::uint64_t begin, std::uint64_t count, std::uint64_t of_begin, std::uint64_t of_count) {
  return begin >= of_begin && begin + count <= of_begin + of_count;
}
bool meet(std::uint64_t begin, std::uint64_t count, std::uint64_t other, std::uint64_t other_count) {
  return begin < other + other_count && other < begin + count;
}
}  // namespace

bool covers(const ResourceInfo& info, const View& outer, const View& inner) {
  const View out = resolved(info, outer), in = resolved(info, inner);
  if (!info.is_image) return inside(in.begin, in.bytes, out.begin, out.bytes);
  return inside(in.mip, in.mips, out.mip, out.mips) && inside(in.layer, in.layers, out.layer, out.layers);
}

bool overlap(const ResourceInfo& info, const View& one, const View& other) {
  const View a = resolved(info, one), b = resolved(info, other);
  if (!info.is_image) return meet(a.begin, a.bytes, b.begin, b.bytes);
  return meet(a.mip, a.mips, b.mip, b.mips) && meet(a.layer, a.layers, b.layer, b.layers);
}

std::string view_text(const ResourceInfo& info, const View& view) {
  const View whole = resolved(info, view);
  if (!info.is_image) {
    if (whole.begin == 0 && whole.bytes == info.bytes) return info.name;
    return fmt::format("{}[{}, {})", info.name, whole.begin, whole.begin + whole.bytes);
  }
  std::string text = info.name;
  if (whole.mips != info.shape.mips)
    text += fmt::format(" levels [{}, {})", whole.mip, whole.mip + whole.mips);
  if (whole.layers != info.shape.layers)
    text += fmt::format(" layers [{}, {})", whole.layer, whole.layer + whole.layers);
  return text;
}

}  // namespace raddle::graph
