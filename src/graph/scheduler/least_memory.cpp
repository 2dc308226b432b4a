// Whatever frees most, or takes least, goes next; among equals what became ready last, so that consumers
// follow their producers.
#include <queue>

#include "graph/scheduler/policy.h"

namespace raddle::graph {
namespace {

class LeastMemory : public Policy {
 public:
  explicit LeastMemory(const Problem& problem) : is_ready_(problem.size()) {}

  void ready(std::uint32_t node) override {
    is_ready_[node] = true;
    fresh_.push_back({node, ++clock_});
  }
  // Its growth has become less.
  void one_user_left(std::uint32_t node) override {
    if (is_ready_[node]) fresh_.push_back({node, ++clock_});
  }
  std::optional<std::uint32_t> choose(Progress& progress) override {
    if (progress.runs_something()) return std::nullopt;
    for (const auto& [node, time] : fresh_) heap_.push({progress.growth(node), time, node});
    fresh_.clear();
    while (!heap_.empty()) {
      const Entry top = heap_.top();
      const bool is_stale = !is_ready_[top.node] || progress.growth(top.node) != top.growth;
      if (!is_stale) {
        if (!progress.fits(top.node)) return std::nullopt;
        is_ready_[top.node] = false;
        heap_.pop();
        return top.node;
      }
      heap_.pop();
      if (is_ready_[top.node]) heap_.push({progress.growth(top.node), top.time, top.node});
    }
    return std::nullopt;
  }
  bool one_by_one() const override { return true; }

 private:
  struct Entry {
    std::int64_t growth;
    std::uint64_t time;
    std::uint32_t node;
    bool operator<(const Entry& other) const {  // of the heap, whose top is the greatest
      return growth != other.growth ? growth > other.growth : time < other.time;
    }
  };
  std::priority_queue<Entry> heap_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> fresh_;
  std::vector<bool> is_ready_;
  std::uint64_t clock_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_least_memory(const Problem& problem) {
  return std::make_unique<LeastMemory>(problem);
}

}  // namespace raddle::graph
