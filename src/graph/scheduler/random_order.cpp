#include <random>

#include "graph/scheduler/policy.h"

namespace raddle::graph {
namespace {

class RandomOrder : public Policy {
 public:
  explicit RandomOrder(std::uint64_t seed) : random_(seed) {}

  void ready(std::uint32_t node) override { ready_.push_back(node); }
  std::optional<std::uint32_t> choose(Progress& progress) override {
    if (progress.runs_something() && random_() % 4 == 0) return std::nullopt;
    const std::size_t size = ready_.size(), first = size == 0 ? 0 : random_() % size;
    for (std::size_t i = 0; i < std::min(size, kTries); ++i) {
      const std::size_t place = (first + i) % size;
      const std::uint32_t node = ready_[place];
      if (!progress.fits(node)) continue;
      ready_[place] = ready_.back();
      ready_.pop_back();
      return node;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kTries = 64;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace

std::unique_ptr<Policy> make_random_order(std::uint64_t seed) { return std::make_unique<RandomOrder>(seed); }

}  // namespace raddle::graph
