#include "graph/passes/expand.h"

#include <fmt/format.h>

#include "graph/passes/inner_recorder.h"
#include "graph/resources/ranges.h"

namespace raddle::graph {
namespace {

constexpr unsigned kDeepest = 64;  // graphs in graphs

class Expansion {
 public:
  explicit Expansion(const Graph& outer) : outer_(outer), result_(std::make_shared<Graph>(outer.order())) {}

  Result<std::shared_ptr<const Graph>> run() {
    std::vector<View> same;
    for (const ResourceInfo& info : outer_.resources()) same.emplace_back(add(info));
    for (std::uint32_t i = 0; i < outer_.resources().size(); ++i) link(outer_.resources()[i], i, same);
    std::vector<std::vector<Pass>> made(outer_.passes().size());
    for (std::uint32_t i = 0; i < made.size(); ++i)
      TRY(add_pass(outer_, outer_.passes()[i], same, nullptr, Pass{i}, 0, made[i]));
    for (const auto& [earlier, later] : outer_.orders())
      for (const Pass before : made[earlier.index])
        for (const Pass after : made[later.index]) result_->order(before, after);
    return std::shared_ptr<const Graph>(std::move(result_));
  }

 private:
  Resource add(const ResourceInfo& info) {
    if (info.is_image) return result_->image(info.name, info.shape, info.origin, info.line);
    return result_->buffer(info.name, info.bytes, info.origin, info.line);
  }
  /// previous() makes its resource itself, in another place.
  void link(const ResourceInfo& info, std::uint32_t index, std::vector<View>& same) {
    if (info.previous) same[info.previous.index] = result_->previous(same[index].resource);
  }

  /// @param inner  of a pass of a sub-graph: the views, for what records when it runs
  Result<void> add_pass(const Graph& graph, const PassInfo& pass, const std::vector<View>& views,
                        const std::shared_ptr<const InnerViews>& inner, Pass origin, unsigned depth,
                        std::vector<Pass>& made) {
    for (const Command& command : pass.commands)
      if (const auto* sub = std::get_if<SubGraph>(&command)) {
        if (pass.commands.size() != 1)
          return pass.line.error(
              ErrorCode::invalid,
              fmt::format("pass '{}': a sub-graph is the only command of its pass", pass.name));
        return add_graph(graph, pass, *sub, views, origin, depth, made);
      }
    PassInfo copy = pass;
    copy.origin = origin;
    for (Access& access : copy.accesses) {
      TRY_ASSIGN(access.view, moved(graph, pass, access.view, views));
    }
    for (Command& command : copy.commands) TRY(move(graph, pass, command, views, inner));
    made.push_back(result_->add(std::move(copy)));
    return {};
  }

  Result<void> add_graph(const Graph& graph, const PassInfo& pass, const SubGraph& sub,
                         const std::vector<View>& views, Pass origin, unsigned depth,
                         std::vector<Pass>& made) {
    if (sub.graph == nullptr) return pass.line.error(ErrorCode::invalid, "a sub-graph that is none");
    if (depth == kDeepest) return pass.line.error(ErrorCode::invalid, "sub-graphs are nested too deeply");
    std::vector<View> inner(sub.graph->resources().size());
    for (const auto& [resource, view] : sub.bindings) {
      TRY_ASSIGN(inner[resource.index], moved(graph, pass, view, views));
      TRY(check_binding(pass, sub.graph->info(resource), inner[resource.index]));
    }
    for (std::uint32_t i = 0; i < inner.size(); ++i) {
      const ResourceInfo& info = sub.graph->resources()[i];
      if (inner[i].resource) continue;
      if (info.origin != Origin::transient)
        return pass.line.error(
            ErrorCode::invalid,
            fmt::format("pass '{}': '{}' of the sub-graph is not bound", pass.name, info.name));
      inner[i] = add(info);
    }
    const auto recorded = std::make_shared<const InnerViews>(InnerViews{sub.graph, with_ranges(inner)});
    std::vector<std::vector<Pass>> passes(sub.graph->passes().size());
    for (std::size_t i = 0; i < passes.size(); ++i) {
      TRY(add_pass(*sub.graph, sub.graph->passes()[i], inner, recorded, origin, depth + 1, passes[i]));
      made.insert(made.end(), passes[i].begin(), passes[i].end());
    }
    for (const auto& [earlier, later] : sub.graph->orders())
      for (const Pass before : passes[earlier.index])
        for (const Pass after : passes[later.index]) result_->order(before, after);
    return {};
  }

  Result<void> check_binding(const PassInfo& pass, const ResourceInfo& inner, const View& view) const {
    const ResourceInfo& info = result_->info(view.resource);
    if (const std::string why = view_error(info, view); !why.empty())
      return pass.line.error(ErrorCode::invalid, fmt::format("pass '{}': {}", pass.name, why));
    const bool fits = inner.is_image
                          ? info.is_image && info.shape == inner.shape && view == View(view.resource)
                          : !info.is_image && resolved(info, view).bytes == inner.bytes;
    if (fits) return {};
    return pass.line.error(
        ErrorCode::invalid,
        fmt::format("pass '{}': '{}' of the sub-graph is bound to {}, which has another size", pass.name,
                    inner.name, view_text(info, view)));
  }

  /// A view of a graph's resource, as one of the result's.
  Result<View> moved(const Graph& graph, const PassInfo& pass, const View& view,
                     const std::vector<View>& views) const {
    if (!graph.has(view.resource))
      return pass.line.error(
          ErrorCode::invalid,
          fmt::format("pass '{}': a view of a resource that this graph does not have", pass.name));
    const ResourceInfo& info = graph.info(view.resource);
    if (const std::string why = view_error(info, view); !why.empty())
      return pass.line.error(ErrorCode::invalid, fmt::format("pass '{}': {}", pass.name, why));
    return view_within(with_range(views[view.resource.index]), info, view);
  }

  Result<void> move(const Graph& graph, const PassInfo& pass, Command& command,
                    const std::vector<View>& views, const std::shared_ptr<const InnerViews>& inner) {
    const auto move_view = [&](View& view) -> Result<void> {
      TRY_ASSIGN(view, moved(graph, pass, view, views));
      return {};
    };
    if (auto* dispatch = std::get_if<Dispatch>(&command)) {
      for (Value& value : dispatch->arguments) {
        if (value.view() == nullptr) continue;
        TRY_ASSIGN(const View view, moved(graph, pass, *value.view(), views));
        value = value.with(view);
      }
    } else if (auto* copy = std::get_if<Copy>(&command)) {
      TRY(move_view(copy->to));
      TRY(move_view(copy->from));
    } else if (auto* clear = std::get_if<Clear>(&command)) {
      TRY(move_view(clear->view));
    } else if (auto* fill = std::get_if<Fill>(&command)) {
      TRY(move_view(fill->view));
    } else if (auto* change = std::get_if<LayoutChange>(&command)) {
      TRY(move_view(change->view));
    } else if (auto* action = std::get_if<CacheAction>(&command)) {
      TRY(move_view(action->view));
    } else if (auto* draw = std::get_if<Draw>(&command); draw != nullptr && inner != nullptr) {
      draw->record = recording_within(draw->record, inner);
    } else if (auto* body = std::get_if<Body>(&command); body != nullptr && inner != nullptr) {
      body->run = recording_within(body->run, inner);
    }
    return {};
  }

  using Recording = std::function<Result<void>(Recorder&)>;
  static Recording recording_within(const Recording& what, const std::shared_ptr<const InnerViews>& inner) {
    if (!what) return what;  // there is nothing, which is said later
    return [what, inner](Recorder& outer) {
      InnerRecorder recorder(outer, *inner);
      return what(recorder);
    };
  }
  View with_range(const View& view) const {
    const ResourceInfo& info = result_->info(view.resource);
    return info.is_image ? view : resolved(info, view);
  }
  std::vector<View> with_ranges(std::vector<View> views) const {
    for (View& view : views) view = with_range(view);
    return views;
  }

  const Graph& outer_;
  std::shared_ptr<Graph> result_;
};

}  // namespace

bool has_sub_graphs(const Graph& graph) {
  for (const PassInfo& pass : graph.passes())
    for (const Command& command : pass.commands)
      if (std::holds_alternative<SubGraph>(command)) return true;
  return false;
}

Result<std::shared_ptr<const Graph>> with_sub_graphs(const Graph& graph) { return Expansion(graph).run(); }

}  // namespace raddle::graph
