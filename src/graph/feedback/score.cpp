#include "graph/feedback/score.h"

#include <algorithm>

namespace raddle::graph {
namespace {

/// How much of the time is covered by intervals.
double covered(std::vector<NodeTimes> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const NodeTimes& a, const NodeTimes& b) { return a.begin < b.begin; });
  double sum = 0, until = 0;
  for (const NodeTimes& each : intervals) {
    sum += std::max(each.end - std::max(each.begin, until), 0.0);
    until = std::max(until, each.end);
  }
  return sum;
}

}  // namespace

RunScore score_of(const Schedule& schedule, const std::vector<NodeTimes>& times) {
  RunScore score;
  score.estimated = schedule.nanoseconds;
  std::vector<NodeTimes> busy[Needs::kCount];
  for (std::size_t i = 0; i < times.size(); ++i) {
    score.nanoseconds = std::max(score.nanoseconds, times[i].end);
    if (schedule.nodes[i].kind != NodeKind::pass) continue;
    score.serial += times[i].end - times[i].begin;
    for (unsigned kind = 0; kind < Needs::kCount; ++kind)
      if (schedule.nodes[i].needs.share[kind] > 0) busy[kind].push_back(times[i]);
  }
  for (unsigned kind = 0; kind < Needs::kCount; ++kind)
    score.busy[kind] = score.nanoseconds == 0 ? 0 : covered(std::move(busy[kind])) / score.nanoseconds;
  return score;
}

}  // namespace raddle::graph
