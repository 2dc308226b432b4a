#include "random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "graph_test.h"

namespace raddle::graph {

namespace {
constexpr std::uint64_t kBytes = 256;  // of each resource

/// A range of whole 64-byte pieces.
View some_of(Resource resource, std::mt19937_64& random) {
  const std::uint64_t first = random() % 4, count = 1 + random() % (4 - first);
  return View::range(resource, first * 64, count * 64);
}
}  // namespace

RandomGraph::RandomGraph(std::uint64_t seed, unsigned most_passes, bool with_kernels) {
  std::mt19937_64 random(seed);
  const unsigned count = 2 + random() % 7;
  std::vector<bool> written(count);
  for (unsigned i = 0; i < count; ++i) {
    const bool is_bound = random() % 3 == 0;
    resources.push_back(
        graph.buffer(fmt::format("r{}", i), kBytes, is_bound ? Origin::in_out : Origin::transient));
    written[i] = is_bound;
  }
  const unsigned passes = 1 + random() % most_passes;
  for (unsigned i = 0; i < passes; ++i) {
    PassBuilder pass = graph.pass(fmt::format("p{}", i));
    pass.takes(static_cast<double>(1 + random() % 100));
    Needs needs;
    for (unsigned kind = 0; kind < Needs::kCount; ++kind)
      if (random() % 3 == 0) needs.share[kind] = static_cast<float>(random() % 101) / 100;
    pass.needs(needs);
    const unsigned target = random() % count;
    if (!written[target]) {
      pass.fill(resources[target], random() % 1000);
      written[target] = true;
      continue;
    }
    const unsigned source = random() % count;
    if (with_kernels) {
      if (!written[source] || source == target) {
        pass.fill(some_of(resources[target], random), random() % 1000);
        continue;
      }
      const View from = some_of(resources[source], random);
      const View to = View::range(resources[target], from.begin, from.bytes);
      pass.reads(from).read_writes(to).dispatch(
          code("accumulate"), {.grid = {1}, .block = {static_cast<std::uint32_t>(from.bytes / 4)}}, to, from);
      continue;
    }
    if (written[source]) pass.reads(some_of(resources[source], random));
    const Usage usage{.unordered = random() % 4 == 0};
    switch (random() % 3) {
      case 0:
        pass.writes(some_of(resources[target], random), usage);
        break;
      case 1:
        pass.read_writes(some_of(resources[target], random), usage);
        break;
      default:
        pass.reads(some_of(resources[target], random));
    }
    if (random() % 12 == 0) pass.synchronise();
  }
}

bool conflict(const PassInfo& one, const PassInfo& other) {
  for (const PassInfo* pass : {&one, &other})
    for (const Command& command : pass->commands)
      if (std::holds_alternative<Synchronise>(command)) return true;
  const auto begin = [](const Access& access) {
    return access.view.bytes == View::kAll ? 0 : access.view.begin;
  };
  const auto end = [](const Access& access) {
    return access.view.bytes == View::kAll ? kBytes : access.view.begin + access.view.bytes;
  };
  for (const Access& a : one.accesses)
    for (const Access& b : other.accesses) {
      if (a.view.resource != b.view.resource || begin(a) >= end(b) || begin(b) >= end(a)) continue;
      if (!a.writes && !b.writes) continue;
      if (a.writes && b.writes && a.unordered && b.unordered) continue;
      return true;
    }
  return false;
}

Playback::Playback(const Schedule& schedule, const std::function<double(std::uint32_t)>& time) {
  for (std::uint32_t node = 0; node < schedule.nodes.size(); ++node) {
    double start = 0;
    for (const Edge& edge : schedule.edges_of(node)) start = std::max(start, end[edge.from]);
    begin.push_back(start);
    end.push_back(start + time(node));
  }
}

Playback::Playback(const std::vector<NodeTimes>& measured) {
  for (const NodeTimes& times : measured) begin.push_back(times.begin), end.push_back(times.end);
}

namespace {
std::string wrong_order(const Schedule& schedule, const Playback& play) {
  const Graph& graph = *schedule.graph;
  for (std::uint32_t i = 0; i < schedule.nodes.size(); ++i)
    for (std::uint32_t j = 0; j < schedule.nodes.size(); ++j) {
      const std::uint32_t one = schedule.nodes[i].pass, other = schedule.nodes[j].pass;
      if (one >= other || !conflict(graph.passes()[one], graph.passes()[other])) continue;
      if (play.end[i] > play.begin[j])
        return fmt::format("'{}' has not ended when '{}' begins", graph.passes()[one].name,
                           graph.passes()[other].name);
    }
  return {};
}

std::string wrong_memory(const Schedule& schedule, const Playback& play) {
  struct Life {
    double begin, end;
  };
  std::vector<Life> lives;
  for (const Placement& placement : schedule.placements) {
    Life life{1e300, 0};
    for (std::uint32_t node = 0; node < schedule.nodes.size(); ++node)
      for (const Access& access : schedule.graph->passes()[schedule.nodes[node].pass].accesses)
        if (access.view.resource.index == placement.resource)
          life.begin = std::min(life.begin, play.begin[node]), life.end = std::max(life.end, play.end[node]);
    lives.push_back(life);
  }
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Placement& one = schedule.placements[i];
    if (one.offset + one.bytes > schedule.peak_bytes) return "a resource lies beyond the peak";
    for (std::size_t j = i + 1; j < lives.size(); ++j) {
      const Placement& other = schedule.placements[j];
      const bool share = one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
      if (share && lives[i].begin < lives[j].end && lives[j].begin < lives[i].end)
        return fmt::format("'{}' and '{}' live in the same memory at one time",
                           schedule.graph->resources()[one.resource].name,
                           schedule.graph->resources()[other.resource].name);
    }
  }
  return {};
}

std::string wrong_needs(const Schedule& schedule, const Playback& play) {
  for (std::uint32_t i = 0; i < schedule.nodes.size(); ++i)
    for (unsigned kind = 0; kind < Needs::kCount; ++kind) {
      double sum = 0;
      for (std::uint32_t j = 0; j < schedule.nodes.size(); ++j)
        if (play.begin[j] <= play.begin[i] && play.begin[i] < play.end[j])
          sum += schedule.nodes[j].needs.share[kind];
      if (sum > 1.0001) return fmt::format("{} of {} are used at once", sum, need_name(kind));
    }
  return {};
}
}  // namespace

std::string what_is_wrong(const Schedule& schedule, const Playback& play) {
  for (const auto check : {wrong_order, wrong_memory, wrong_needs})
    if (std::string wrong = check(schedule, play); !wrong.empty()) return wrong;
  return {};
}

std::uint64_t test_seed() {
  const char* seed = std::getenv("RADDLE_TEST_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

}  // namespace raddle::graph
