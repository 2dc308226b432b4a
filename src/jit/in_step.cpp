#include "jit/in_step.h"

#include <utility>

namespace raddle::jit {
namespace {

using ptx::BlockId;

constexpr std::uint32_t kNone = ~std::uint32_t{0};
/// Of operations, and of pairs that are looked at: beyond it nothing is known.
constexpr std::size_t kMostOperations = 2000, kMostWalked = 4'000'000;

/// Numbers of the operations that lanes from these blocks may come to, passing none that is full.
class Ways {
 public:
  Ways(const std::vector<WarpOperation>& operations, const std::vector<std::vector<BlockId>>& successors,
       const std::vector<std::uint32_t>& numbers)
      : operations_(operations),
        successors_(successors),
        numbers_(numbers),
        seen_(successors.size(), kNone) {}

  std::vector<std::uint32_t> from(std::vector<BlockId> blocks) {
    std::vector<std::uint32_t> reached;
    ++walk_;
    while (!blocks.empty()) {
      const BlockId b = blocks.back();
      blocks.pop_back();
      if (std::exchange(seen_[b], walk_) == walk_) continue;
      const std::uint32_t number = numbers_[b];
      if (number != kNone) reached.push_back(number);
      if (number != kNone && operations_[number].is_full) continue;
      blocks.insert(blocks.end(), successors_[b].begin(), successors_[b].end());
    }
    return reached;
  }

 private:
  const std::vector<WarpOperation>& operations_;
  const std::vector<std::vector<BlockId>>& successors_;
  const std::vector<std::uint32_t>& numbers_;
  std::vector<std::uint32_t> seen_;  // by block: the last walk that came by
  std::uint32_t walk_ = 0;
};

}  // namespace

InStep::InStep(const std::vector<WarpOperation>& operations,
               const std::vector<std::vector<BlockId>>& successors,
               const std::function<bool(BlockId, BlockId)>& may_join) {
  const std::size_t count = operations.size();
  if (count > kMostOperations || successors.empty()) return;
  std::vector<std::uint32_t> numbers(successors.size(), kNone);
  for (std::uint32_t i = 0; i < count; ++i) numbers[operations[i].block] = i;
  Ways ways(operations, successors, numbers);
  std::vector<std::vector<std::uint32_t>> next;
  for (const WarpOperation& operation : operations) next.push_back(ways.from(successors[operation.block]));

  std::vector<bool> met(count * count);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> work;
  std::size_t steps = 0;
  // Lanes go on from two places, or one, at once: what they may come to next.
  const auto go_on = [&](const std::vector<std::uint32_t>& some, const std::vector<std::uint32_t>& others) {
    steps += some.size() * others.size() + 1;
    if (steps > kMostWalked) return;
    for (const std::uint32_t a : some)
      for (const std::uint32_t b : others) {
        if (met[a * count + b] || (!operations[a].is_full && !operations[b].is_full)) continue;
        if (a != b && !may_join(operations[a].block, operations[b].block)) continue;
        met[a * count + b] = met[b * count + a] = true;
        work.emplace_back(a, b);
      }
  };
  const auto first = ways.from({0});
  go_on(first, first);
  while (!work.empty() && steps <= kMostWalked) {
    const auto [a, b] = work.back();
    work.pop_back();
    go_on(next[a], next[b]);
    if (a != b) {  // lanes that were at one of them may part behind it
      go_on(next[a], next[a]);
      go_on(next[b], next[b]);
    }
  }
  if (steps > kMostWalked) return;
  for (const WarpOperation& operation : operations) is_full_.push_back(operation.is_full);
  number_ = std::move(numbers);
  met_ = std::move(met);
}

bool InStep::may_meet(BlockId a, BlockId b) const {
  if (number_.empty() || number_[a] == kNone || number_[b] == kNone) return true;
  const std::uint32_t x = number_[a], y = number_[b];
  return (!is_full_[x] && !is_full_[y]) || met_[x * is_full_.size() + y];
}

}  // namespace raddle::jit
