// List scheduling: of the nodes that fit, the one with the longest path behind it, if it does not get into
// the way of those that run. When memory is tight, what frees some goes first.
#include <queue>

#include "graph/memory/drain.h"
#include "graph/scheduler/policy.h"

namespace raddle::graph {
namespace {

constexpr unsigned kCandidates = 8;      // that are compared at a time
constexpr unsigned kPatience = 32;       // how often a node is passed over by others before they wait for it
constexpr double kConflictWeight = 0.5;  // of needs that meet, against the rank

class Fastest : public Policy {
 public:
  Fastest(const Problem& problem, const SchedulerOptions& options)
      : problem_(problem),
        ranks_(ranks_of(problem)),
        drain_(problem),
        time_weight_(options.time_weight),
        is_ready_(problem.size()) {
    for (const double rank : ranks_) greatest_ = std::max(greatest_, rank);
    for (const std::uint64_t bytes : problem.bytes) largest_ = std::max(largest_, bytes);
  }

  void ready(std::uint32_t node) override {
    is_ready_[node] = true;
    (drain_.is_urgent(node) ? urgent_ : ready_).push({ranks_[node], node});
    if (time_weight_ < 1) recent_[next_recent_++ % kCandidates] = node;
  }

  std::optional<std::uint32_t> choose(Progress& progress) override {
    if (is_tight(progress) && drain_.update(progress))
      for (const std::uint32_t node : drain_.urgent())
        if (is_ready_[node]) urgent_.push({ranks_[node], node});
    std::optional<std::uint32_t> node = best_of(urgent_, progress);
    if (!node) node = best_of(ready_, progress);
    if (node) is_ready_[*node] = false, drain_.note_start(*node);
    return node;
  }

 private:
  using Entry = std::pair<double, std::uint32_t>;
  struct Before {  // longest first, then as invoked
    bool operator()(const Entry& a, const Entry& b) const {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    }
  };
  using Heap = std::priority_queue<Entry, std::vector<Entry>, Before>;
  static std::array<std::uint32_t, kCandidates> filled_with_none() {
    std::array<std::uint32_t, kCandidates> none;
    none.fill(~0u);
    return none;
  }

  bool is_tight(Progress& progress) {
    if (problem_.working_set != 0 && progress.live_bytes() > problem_.working_set) return true;
    if (is_short_) return is_short_ = false, true;
    return progress.live_bytes() > problem_.memory_limit / 8 * 7;
  }

  std::optional<std::uint32_t> best_of(Heap& heap, Progress& progress) {
    Entry taken[kCandidates];
    unsigned count = 0;
    std::optional<std::uint32_t> best;
    double best_score = 0;
    const auto compare = [&](std::uint32_t node) {
      const double score = score_of(node, progress);
      if (!best || score > best_score) best = node, best_score = score;
    };
    // Consumers of what is live have just become ready: they count where memory does.
    for (const std::uint32_t node : recent_)
      if (node < is_ready_.size() && is_ready_[node] && progress.fits(node)) compare(node);
    while (count < kCandidates && !heap.empty()) {
      const Entry entry = heap.top();
      heap.pop();
      const std::uint32_t node = entry.second;
      if (!is_ready_[node]) continue;  // it was urgent, and has started
      taken[count++] = entry;
      if (!progress.fits(node)) {
        is_short_ = is_short_ || !progress.fits_memory(node);
        if (count == 1 && node == passed_over_ && ++times_ > kPatience) break;  // it has waited for long
        if (count == 1 && node != passed_over_) passed_over_ = node, times_ = 0;
        continue;
      }
      compare(node);
      if (!progress.runs_something() && time_weight_ >= 1) break;  // nothing to get into the way of
    }
    for (unsigned i = 0; i < count; ++i)
      if (!best || taken[i].second != *best) heap.push(taken[i]);
    return best;
  }

  double score_of(std::uint32_t node, Progress& progress) const {
    double conflict = 0;
    for (unsigned kind = 0; kind < Needs::kCount; ++kind)
      conflict +=
          problem_.weight[kind] * problem_.needs[node][kind] / kWhole * progress.used()[kind] / kWhole;
    const double time = ranks_[node] / std::max(greatest_, 1.0) - kConflictWeight * conflict;
    if (time_weight_ >= 1) return time;
    const double memory = double(progress.growth(node)) / static_cast<double>(largest_);
    return time_weight_ * time - (1 - time_weight_) * memory;
  }

  const Problem& problem_;
  std::vector<double> ranks_;
  Drain drain_;
  double time_weight_, greatest_ = 0;
  std::uint64_t largest_ = 1;  // resource
  std::vector<bool> is_ready_;
  Heap ready_, urgent_;
  std::array<std::uint32_t, kCandidates> recent_ = filled_with_none();
  unsigned next_recent_ = 0;
  bool is_short_ = false;
  std::uint32_t passed_over_ = ~0u;
  unsigned times_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_fastest(const Problem& problem, const SchedulerOptions& options) {
  return std::make_unique<Fastest>(problem, options);
}

}  // namespace raddle::graph
