#include "graph/memory/drain.h"

#include <algorithm>

namespace raddle::graph {

namespace {
constexpr std::size_t kMostUrgent = 4096;  // nodes to be looked at for one resource
constexpr std::size_t kMostLive = 64;      // resources to be compared
}  // namespace

void Drain::note_start(std::uint32_t node) {
  for (const std::uint32_t transient : problem_.analysis.uses[node]) live_.push_back(transient);
}

bool Drain::update(Progress& progress) {
  if (target_ != ~0u && progress.is_live(target_)) return false;
  target_ = ~0u;
  std::sort(live_.begin(), live_.end());
  live_.erase(std::unique(live_.begin(), live_.end()), live_.end());
  std::erase_if(live_, [&](std::uint32_t each) { return !progress.is_live(each); });
  // The largest first; among equals the first that the program uses.
  std::vector<std::uint32_t> candidates = live_;
  std::sort(candidates.begin(), candidates.end(), [&](std::uint32_t a, std::uint32_t b) {
    return problem_.bytes[a] != problem_.bytes[b] ? problem_.bytes[a] > problem_.bytes[b] : a < b;
  });
  if (candidates.size() > kMostLive) candidates.resize(kMostLive);
  for (const std::uint32_t transient : candidates)
    if (collect(transient, progress)) return target_ = transient, true;
  return false;
}

/// Users that have not started, and backwards from them what has not either.
bool Drain::collect(std::uint32_t transient, Progress& progress) {
  urgent_.clear();
  const auto add = [&](std::uint32_t node) {
    if (progress.has_started(node) || is_urgent_[node]) return;
    is_urgent_[node] = true;
    urgent_.push_back(node);
  };
  for (const std::uint32_t node : problem_.analysis.users[transient]) add(node);
  for (std::size_t i = 0; i < urgent_.size() && urgent_.size() < kMostUrgent; ++i)
    for (const Edge& edge : problem_.analysis.edges_of(urgent_[i])) add(edge.from);
  return !urgent_.empty();
}

std::vector<std::uint32_t> likely_last(const Problem& problem, std::uint32_t transient) {
  const auto users = problem.analysis.users[transient];
  if (users.empty()) return {};
  // From the last user back to the first: does a user come after this node?
  const std::uint32_t first = users.front(), last = users.back();
  std::vector<bool> is_user(last - first + 1), comes_before(last - first + 1);
  for (const std::uint32_t user : users) is_user[user - first] = true;
  std::vector<std::uint32_t> result;
  for (std::uint32_t node = last + 1; node-- > first;) {
    bool before = false;
    for (const std::uint32_t later : problem.later[node])
      before = before || (later <= last && (is_user[later - first] || comes_before[later - first]));
    comes_before[node - first] = before;
    if (is_user[node - first] && !before) result.push_back(node);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace raddle::graph
