#include <queue>

#include "graph/scheduler/policy.h"

namespace raddle::graph {
namespace {

class ProgramOrder : public Policy {
 public:
  void ready(std::uint32_t node) override { ready_.push(node); }
  std::optional<std::uint32_t> choose(Progress& progress) override {
    if (progress.runs_something() || ready_.empty() || !progress.fits(ready_.top())) return std::nullopt;
    const std::uint32_t node = ready_.top();
    ready_.pop();
    return node;
  }
  bool one_by_one() const override { return true; }

 private:
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready_;
};

}  // namespace

std::unique_ptr<Policy> make_program_order() { return std::make_unique<ProgramOrder>(); }

}  // namespace raddle::graph
