#include "raddle/graph/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/feedback/estimate.h"
#include "graph/memory/drain.h"
#include "graph/passes/expand.h"
#include "graph/scheduler/list_scheduler.h"
#include "graph/scheduler/signature.h"
#include "graph/scheduler/split.h"

namespace raddle::graph {
namespace {

std::uint64_t limit_of(const Target& target, const SchedulerOptions& options) {
  const std::uint64_t wanted = options.memory_limit != 0 ? options.memory_limit : target.memory_bytes;
  return std::min(wanted, target.memory_bytes);
}

Problem make_problem(const Graph& graph, const Analysis& analysis, const Target& target,
                     const SchedulerOptions& options) {
  Problem problem{.analysis = analysis, .later = later_of(analysis)};
  for (const std::uint32_t resource : analysis.transient)
    problem.bytes.push_back(graph.resources()[resource].bytes);
  problem.memory_limit = limit_of(target, options);
  problem.working_set = options.working_set;
  problem.alias = options.alias;
  return problem;
}

void add_estimates(Problem& problem, const Graph& graph, const Target& target, const History* history) {
  const std::size_t size = problem.analysis.nodes.size();
  problem.nanoseconds.assign(size, 0);
  problem.needs.assign(size, {});
  for (std::size_t i = 0; i < size; ++i) {
    const Node& node = problem.analysis.nodes[i];
    if (node.kind != NodeKind::pass) continue;
    const PassEstimate estimate = estimate_pass(graph, graph.passes()[node.pass], target, history);
    problem.nanoseconds[i] = estimate.nanoseconds;
    for (unsigned kind = 0; kind < Needs::kCount; ++kind) {
      const float part = std::clamp(estimate.needs.share[kind], 0.0f, 1.0f);
      problem.needs[i][kind] = static_cast<Share>(std::ceil(part * kWhole));
    }
  }
}

/// The busier a unit has been, the more it counts who shares it: what it takes, others wait for.
void weigh_units(Problem& problem, const History* history) {
  const std::optional<BusyShares> busy = history != nullptr ? history->busy() : std::nullopt;
  const double most = busy ? *std::ranges::max_element(*busy) : 0;
  for (unsigned kind = 0; kind < Needs::kCount; ++kind)
    problem.weight[kind] = most == 0 ? 1 : (*busy)[kind] / most;
}

/// Nodes in the order of their start, and edges between those numbers.
std::shared_ptr<Schedule> make_schedule(const Problem& problem, const Outcome& outcome) {
  auto schedule = std::make_shared<Schedule>();
  const Analysis& analysis = problem.analysis;
  std::vector<std::uint32_t> place(problem.size());
  for (std::uint32_t i = 0; i < place.size(); ++i) place[outcome.order[i]] = i;
  schedule->nodes.reserve(place.size());
  schedule->edges.reserve(analysis.edges.size() + outcome.extra.size());
  schedule->first_edge.reserve(place.size() + 1);
  schedule->first_edge.push_back(0);
  auto extra = outcome.extra.begin();  // in the same order
  for (const std::uint32_t node : outcome.order) {
    Node& made = schedule->nodes.emplace_back(analysis.nodes[node]);
    made.begin = outcome.begin[node], made.end = outcome.end[node];
    for (unsigned kind = 0; kind < Needs::kCount; ++kind)
      made.needs.share[kind] = static_cast<float>(problem.needs[node][kind]) / kWhole;
    for (const Edge& edge : analysis.edges_of(node)) schedule->edges.push_back(edge);
    for (; extra != outcome.extra.end() && extra->to == node; ++extra) schedule->edges.push_back(extra->edge);
    for (std::size_t i = schedule->first_edge.back(); i < schedule->edges.size(); ++i)
      schedule->edges[i].from = place[schedule->edges[i].from];
    schedule->first_edge.push_back(static_cast<std::uint32_t>(schedule->edges.size()));
  }
  for (std::size_t i = 0; i < analysis.transient.size(); ++i) {
    schedule->placements.push_back({analysis.transient[i], outcome.offsets[i], problem.bytes[i],
                                    place[outcome.first[i]], place[outcome.last[i]]});
    schedule->plain_bytes += (problem.bytes[i] + 511) / 512 * 512;
  }
  schedule->peak_bytes = outcome.peak_bytes;
  schedule->nanoseconds = outcome.nanoseconds;
  return schedule;
}

Result<void> refuse_draws(const Graph& graph, const Target& target) {
  if (target.has_graphics) return {};
  for (const PassInfo& pass : graph.passes())
    for (const Command& command : pass.commands)
      if (std::holds_alternative<Draw>(command))
        return pass.line.error(
            ErrorCode::unsupported,
            fmt::format("pass '{}' draws, and the target ({}) has no graphics", pass.name, target.name));
  return {};
}

Error no_memory(const Graph& graph, const Problem& problem, std::uint32_t stuck) {
  const PassInfo& pass = graph.passes()[problem.analysis.nodes[stuck].pass];
  std::uint64_t bytes = 0;
  for (const std::uint32_t transient : problem.analysis.uses[stuck]) bytes += problem.bytes[transient];
  return pass.line.error(
      ErrorCode::out_of_memory,
      fmt::format("pass '{}' uses {} bytes of transient memory, and with what else is in use then "
                  "they do not fit the limit of {}",
                  pass.name, bytes, problem.memory_limit));
}

}  // namespace

struct Scheduler::Impl {
  Target target;
  SchedulerOptions options;
  const History* history;

  // The last graph, as far as it decides the analysis, and what was made of it.
  std::uint64_t signature = 0;
  std::shared_ptr<const Analysis> analysis;
  std::optional<Problem> problem;
  std::shared_ptr<const Schedule> last;
  std::vector<std::uint32_t> order;  // of the last schedule: nodes of the analysis
  std::uint64_t seen_changes = 0, analyses = 0, schedules = 0, structures = 0;

  Impl(Target wanted, SchedulerOptions how, const History* known)
      : target(std::move(wanted)), options(std::move(how)), history(known) {}

  Result<std::shared_ptr<const Schedule>> schedule(std::shared_ptr<const Graph> graph) {
    if (has_sub_graphs(*graph)) {
      TRY_ASSIGN(graph, with_sub_graphs(*graph));
    }
    TRY(refuse_draws(*graph, target));
    std::uint32_t splits = 0;
    if (options.split && graph->order() == Graph::Order::program)
      if (auto pieces = with_pieces(*graph, target, options)) {
        TRY(check_passes(*graph));  // what is wrong is said of the program's passes
        graph = std::move(pieces);
        for (const PassInfo& pass : graph->passes()) splits += pass.pieces > 1 && pass.piece == 0;
      }
    TRY(find_structure(*graph));
    problem->memory_limit = limit_of(target, options);
    if (last != nullptr && last->peak_bytes > problem->memory_limit) last = nullptr;
    if (last != nullptr && !estimates_changed(*graph)) return again(std::move(graph));
    add_estimates(*problem, *graph, target, history);
    weigh_units(*problem, history);
    TRY_ASSIGN(auto made, place(*graph));
    made->graph = graph;
    made->graph_version = graph->version();
    made->target = target.name;
    made->splits = splits;
    const std::vector<double> longest = ranks_of(*problem);
    for (std::size_t i = 0; i < order.size(); ++i) made->nodes[i].rank = longest[order[i]];
    if (history != nullptr) seen_changes = history->changes();
    made->structure = last != nullptr && is_same(*made, *last) ? last->structure : ++structures;
    return last = std::move(made);
  }

 private:
  /// The analysis of a graph like the last one is that one's.
  Result<void> find_structure(const Graph& graph) {
    const std::uint64_t now = signature_of(graph);
    if (analysis != nullptr && now == signature) {
      // Sizes and arguments of commands may have changed all the same.
      return check_passes(graph);
    }
    analysis = nullptr, last = nullptr, problem.reset();
    TRY_ASSIGN(Analysis made, analyse(graph));
    ++analyses;
    analysis = std::make_shared<const Analysis>(std::move(made));
    problem.emplace(make_problem(graph, *analysis, target, options));
    signature = now;
    return {};
  }

  /// Together by more than a quarter of all passes' time, or needs that have become greater, or less than
  /// half.
  bool estimates_changed(const Graph& graph) {
    if (history != nullptr && history->changes() == seen_changes && graph.version() == last->graph_version)
      return false;
    double all = 0, changed = 0;
    for (std::size_t i = 0; i < problem->size(); ++i) {
      const Node& node = analysis->nodes[i];
      if (node.kind != NodeKind::pass) continue;
      const PassEstimate now = estimate_pass(graph, graph.passes()[node.pass], target, history);
      all += problem->nanoseconds[i];
      changed += std::abs(now.nanoseconds - problem->nanoseconds[i]);
      for (unsigned kind = 0; kind < Needs::kCount; ++kind) {
        const bool differs_each_time = kind == Needs::bandwidth;
        const Share known = problem->needs[i][kind], slack = differs_each_time ? kWhole / 8 : 0;
        const float needed = std::ceil(std::clamp(now.needs.share[kind], 0.0f, 1.0f) * kWhole);
        if (needed > static_cast<float>(known + slack)) return true;
        if (!differs_each_time && 2 * needed < static_cast<float>(known)) return true;
      }
    }
    return changed > all / 4;
  }

  static bool is_same(const Schedule& one, const Schedule& other) {
    const auto same_node = [](const Node& a, const Node& b) { return a.kind == b.kind && a.pass == b.pass; };
    const auto same_edge = [](const Edge& a, const Edge& b) { return a.from == b.from; };
    const auto same_place = [](const Placement& a, const Placement& b) {
      return a.resource == b.resource && a.offset == b.offset;
    };
    return std::ranges::equal(one.nodes, other.nodes, same_node) &&
           std::ranges::equal(one.edges, other.edges, same_edge) && one.first_edge == other.first_edge &&
           std::ranges::equal(one.placements, other.placements, same_place);
  }

  Result<std::shared_ptr<const Schedule>> again(std::shared_ptr<const Graph> graph) {
    if (graph == last->graph && graph->version() == last->graph_version) return last;
    auto same = std::make_shared<Schedule>(*last);
    same->graph_version = graph->version();
    same->graph = std::move(graph);
    return last = std::move(same);
  }

  /// By the policy; if that does not fit the memory, in the orders that need less.
  Result<std::shared_ptr<Schedule>> place(const Graph& graph) {
    ++schedules;
    std::uint32_t stuck = 0;
    TRY_ASSIGN(std::unique_ptr<Policy> policy, find_policy(*problem, options));
    Result<Outcome> outcome = run_policy(*problem, *policy, stuck);
    std::string name = options.policy;
    const bool wants_least = options.policy == "least_memory";
    if (wants_least || !outcome.ok()) {
      policy = wants_least ? make_program_order() : make_least_memory(*problem);
      std::uint32_t other_stuck = 0;
      Result<Outcome> other = run_policy(*problem, *policy, other_stuck);
      if (other.ok() && (!outcome.ok() || other->peak_bytes < outcome->peak_bytes)) {
        outcome = std::move(other);
        name = wants_least ? "least_memory (program order)" : options.policy + " (least memory)";
      }
    }
    if (!outcome.ok()) return no_memory(graph, *problem, stuck);
    auto made = make_schedule(*problem, *outcome);
    made->policy = std::move(name);
    order = std::move(outcome->order);
    return made;
  }
};

Scheduler::Scheduler(Target target, SchedulerOptions options, const History* history)
    : impl_(std::make_unique<Impl>(std::move(target), std::move(options), history)) {}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;

Result<std::shared_ptr<const Schedule>> Scheduler::schedule(const Graph& graph) {
  return impl_->schedule(std::shared_ptr<const Graph>(std::shared_ptr<const Graph>(), &graph));
}
Result<std::shared_ptr<const Schedule>> Scheduler::schedule(std::shared_ptr<const Graph> graph) {
  return impl_->schedule(std::move(graph));
}
void Scheduler::set_memory(std::uint64_t bytes) { impl_->target.memory_bytes = bytes; }
const Target& Scheduler::target() const { return impl_->target; }
const SchedulerOptions& Scheduler::options() const { return impl_->options; }
std::uint64_t Scheduler::analyses() const { return impl_->analyses; }
std::uint64_t Scheduler::schedules() const { return impl_->schedules; }

Result<std::vector<Pass>> likely_last_users(const Graph& graph, Resource resource) {
  TRY_ASSIGN(const Analysis analysis, analyse(graph));
  Problem problem{.analysis = analysis, .later = later_of(analysis)};
  std::vector<Pass> passes;
  for (std::uint32_t i = 0; i < analysis.transient.size(); ++i)
    if (analysis.transient[i] == resource.index)
      for (const std::uint32_t node : likely_last(problem, i))
        if (analysis.nodes[node].kind == NodeKind::pass) passes.push_back({analysis.nodes[node].pass});
  return passes;
}

}  // namespace raddle::graph
