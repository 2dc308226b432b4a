// What can be said of each pass by itself: kinds and sizes (G-14d).
#include <fmt/format.h>

#include "base/assert.h"
#include "graph/analysis/analysis.h"

namespace raddle::graph {
namespace {

class PassCheck {
 public:
  PassCheck(const Graph& graph, const PassInfo& pass) : graph_(graph), pass_(pass) {}

  Result<void> run() {
    for (const Access& access : pass_.accesses) TRY(check(access.view));
    for (const Access& access : pass_.accesses) TRY(check_blocks(access));
    for (const Command& command : pass_.commands)
      TRY(std::visit([&](const auto& each) { return check(each); }, command));
    return {};
  }

 private:
  template <class... Arguments>
  Error wrong(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    return pass_.line.error(
        ErrorCode::invalid,
        fmt::format("pass '{}': {}", pass_.name, fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
  const ResourceInfo& info(const View& view) const { return graph_.info(view.resource); }
  std::string text(const View& view) const { return view_text(info(view), view); }

  Result<void> check(const View& view) const {
    if (!graph_.has(view.resource)) return wrong("a view of a resource that this graph does not have");
    if (const std::string why = view_error(info(view), view); !why.empty()) return wrong("{}", why);
    return {};
  }

  Result<void> check_blocks(const Access& access) const {
    if (access.bytes_per_block == 0) return {};
    if (info(access.view).is_image)
      return wrong("'{}' is an image: no bytes per block", info(access.view).name);
    const std::uint64_t bytes = view_bytes(info(access.view), access.view);
    for (const Command& command : pass_.commands) {
      const auto* dispatch = std::get_if<Dispatch>(&command);
      if (dispatch == nullptr) continue;
      const std::uint64_t blocks = dispatch->config.launched().x;
      if (access.bytes_per_block * (blocks - 1) >= bytes)
        return wrong("{} blocks of {} bytes each go beyond {}, which has {}", blocks, access.bytes_per_block,
                     text(access.view), bytes);
    }
    return {};
  }

  /// The pass has said that it accesses the view.
  Result<void> check_named(const View& view, bool writes) const {
    TRY(check(view));
    bool is_covered = false, is_named = false;
    for (const Access& access : pass_.accesses) {
      if (access.view.resource != view.resource) continue;
      is_named = true;
      is_covered = is_covered || (covers(info(view), access.view, view) && (!writes || access.writes));
    }
    const bool is_piece =
        pass_.pieces > 1 && is_named;  // its arguments are the whole pass's, which was checked
    if (is_covered || is_piece) return {};
    return is_named ? wrong("{} is not within what the pass says it {}", text(view),
                            writes ? "writes" : "accesses")
                    : wrong("'{}' is not among the resources of the pass", info(view).name);
  }

  Result<void> check(const Dispatch& dispatch) const {
    if (!dispatch.kernel) return wrong("a dispatch without a kernel");
    const KernelInfo& kernel = dispatch.kernel.info();
    if (!kernel.unsupported.empty())
      return pass_.line.error(ErrorCode::unsupported, fmt::format("pass '{}': kernel {}: {}", pass_.name,
                                                                  kernel.name, kernel.unsupported.front()));
    if (dispatch.arguments.size() != kernel.parameters.size())
      return wrong("kernel {} has {} parameters, {} are given", kernel.name, kernel.parameters.size(),
                   dispatch.arguments.size());
    for (std::size_t i = 0; i < dispatch.arguments.size(); ++i) {
      const Value& value = dispatch.arguments[i];
      if (value.size() != kernel.parameters[i].bytes)
        return wrong("parameter {} ({}) of kernel {} has {} bytes, {} are given", i,
                     kernel.parameters[i].name, kernel.name, kernel.parameters[i].bytes, value.size());
      if (value.view() == nullptr) continue;
      TRY(check_named(*value.view(), false));
      const bool wants_image = value.texture() != nullptr || value.surface() != nullptr;
      if (wants_image && !info(*value.view()).is_image)
        return wrong("'{}' is a buffer, no texture or surface", info(*value.view()).name);
    }
    const Dim3 grid = dispatch.config.grid, block = dispatch.config.block;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
      return wrong("kernel {}: a grid of {}x{}x{} blocks of {}x{}x{} threads", kernel.name, grid.x, grid.y,
                   grid.z, block.x, block.y, block.z);
    return {};
  }

  Result<void> check(const Draw& draw) const {
    return draw.record ? Result<void>() : wrong("draw '{}' has nothing that records it", draw.what);
  }

  Result<void> check(const Copy& copy) const {
    TRY(check_named(copy.to, true));
    TRY(check_named(copy.from, false));
    const ResourceInfo &to = info(copy.to), &from = info(copy.from);
    const std::uint64_t to_bytes = view_bytes(to, copy.to), from_bytes = view_bytes(from, copy.from);
    if (to_bytes != from_bytes)
      return wrong("a copy of {} bytes ({}) to {} bytes ({})", from_bytes, text(copy.from), to_bytes,
                   text(copy.to));
    if (!to.is_image || !from.is_image) return {};
    if (to.shape.format != from.shape.format)
      return wrong("'{}' and '{}' have different formats", to.name, from.name);
    const View target = resolved(to, copy.to), source = resolved(from, copy.from);
    if (target.mips != source.mips || target.layers != source.layers ||
        to.shape.width_of(target.mip) != from.shape.width_of(source.mip) ||
        to.shape.height_of(target.mip) != from.shape.height_of(source.mip))
      return wrong("{} and {} have different extents", text(copy.from), text(copy.to));
    return {};
  }
  Result<void> check(const Clear& clear) const { return check_named(clear.view, true); }
  Result<void> check(const Fill& fill) const {
    TRY(check_named(fill.view, true));
    const unsigned word = fill.word_bytes;
    if (word != 1 && word != 2 && word != 4 && word != 8) return wrong("words of {} bytes", word);
    const View view = resolved(info(fill.view), fill.view);
    if (view_bytes(info(fill.view), fill.view) % word != 0 || view.begin % word != 0)
      return wrong("{} is not made of words of {} bytes", text(fill.view), word);
    return {};
  }
  Result<void> check(const LayoutChange& change) const {
    TRY(check_named(change.view, true));
    return info(change.view).is_image ? Result<void>()
                                      : wrong("'{}' is a buffer and has no layout", info(change.view).name);
  }
  Result<void> check(const CacheAction& action) const { return check_named(action.view, false); }
  Result<void> check(const Synchronise&) const { return {}; }
  Result<void> check(const Call& call) const {
    return call.function ? Result<void>() : wrong("a call of no function");
  }
  Result<void> check(const Body& body) const {
    return body.run ? Result<void>() : wrong("a body without a function");
  }
  Result<void> check(const SubGraph&) const { RADDLE_UNREACHABLE("sub-graphs are put in place before"); }

  const Graph& graph_;
  const PassInfo& pass_;
};

}  // namespace

Result<void> check_passes(const Graph& graph) {
  for (const PassInfo& pass : graph.passes()) TRY(PassCheck(graph, pass).run());
  return {};
}

}  // namespace raddle::graph
