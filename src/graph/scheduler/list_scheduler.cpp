#include "graph/scheduler/list_scheduler.h"

#include <algorithm>
#include <queue>

#include "graph/memory/placer.h"

namespace raddle::graph {

Lists later_of(const Analysis& analysis) {
  const std::size_t nodes = analysis.nodes.size();
  Lists later;
  std::vector<std::uint32_t> count(nodes + 1);
  for (const Edge& edge : analysis.edges) ++count[edge.from + 1];
  for (std::size_t i = 0; i < nodes; ++i) count[i + 1] += count[i];
  later.first = count;
  later.values.resize(analysis.edges.size());
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (const Edge& edge : analysis.edges_of(node)) later.values[count[edge.from]++] = node;
  return later;
}

std::vector<double> ranks_of(const Problem& problem) {
  std::vector<double> ranks(problem.size());
  for (std::uint32_t node = static_cast<std::uint32_t>(problem.size()); node-- > 0;) {
    double behind = 0;
    for (const std::uint32_t later : problem.later[node]) behind = std::max(behind, ranks[later]);
    ranks[node] = behind + problem.nanoseconds[node];
  }
  return ranks;
}

namespace {

constexpr std::uint32_t kNoNode = ~0u;

/// One kind of the machine's parts, in chunks that say who had them last.
class Chunks {
 public:
  Share free() const { return free_; }
  /// Calls with each holder of what is taken; takes from those that the node waits for anyway first.
  template <class IsFree, class Function>
  void take(Share share, IsFree&& costs_nothing, Function&& function) {
    free_ -= share;
    for (const bool cheap_ones : {true, false})
      for (std::size_t i = chunks_.size(); share != 0 && i-- > 0;) {
        Chunk& chunk = chunks_[i];
        if (costs_nothing(chunk.holder) != cheap_ones) continue;
        function(chunk.holder);
        const Share taken = std::min(share, chunk.share);
        share -= taken, chunk.share -= taken;
        if (chunk.share != 0) continue;
        chunk = chunks_.back();
        chunks_.pop_back();
      }
  }
  void give(Share share, std::uint32_t holder) {
    free_ += share;
    chunks_.push_back({share, holder});
  }

 private:
  struct Chunk {
    Share share;
    std::uint32_t holder;
  };
  std::vector<Chunk> chunks_{{kWhole, kNoNode}};
  Share free_ = kWhole;
};

class ListScheduler : public Progress {
 public:
  ListScheduler(const Problem& problem, Policy& policy)
      : problem_(problem),
        analysis_(problem.analysis),
        policy_(policy),
        placer_(problem.memory_limit),
        waits_(problem.size()),
        started_(problem.size()),
        stamps_(problem.size(), kNoNode),
        memory_(problem.bytes.size()) {
    result_.begin.resize(problem.size());
    result_.end.resize(problem.size());
    result_.order.reserve(problem.size());
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      memory_[i].unstarted = memory_[i].unended = static_cast<std::uint32_t>(analysis_.users[i].size());
      for (const std::uint32_t node : analysis_.users[i]) memory_[i].sum += node;
    }
  }

  Result<Outcome> run(std::uint32_t& stuck) {
    for (std::uint32_t node = 0; node < problem_.size(); ++node) {
      waits_[node] = static_cast<std::uint32_t>(analysis_.edges_of(node).size());
      if (waits_[node] == 0) policy_.ready(node);
    }
    while (result_.order.size() < problem_.size()) {
      if (const auto node = policy_.choose(*this))
        start(*node);
      else if (!running_.empty())
        end_next();
      else
        return stuck = last_refused_, Error::make(ErrorCode::out_of_memory, "no memory");
    }
    while (!running_.empty()) end_next();
    finish();
    return std::move(result_);
  }

  // --- what policies see

  bool fits(std::uint32_t node) override {
    for (unsigned kind = 0; kind < Needs::kCount; ++kind)
      if (problem_.needs[node][kind] > chunks_[kind].free()) return false;
    return fits_memory(node);
  }
  bool fits_memory(std::uint32_t node) override {
    std::uint64_t bytes = 0;
    for (const std::uint32_t transient : analysis_.uses[node])
      if (!memory_[transient].is_placed) bytes += problem_.bytes[transient] + Placer::kAlignment;
    if (bytes == 0 || placer_.fits_above(bytes)) return true;
    const bool fits = place(node);
    for (const std::uint32_t transient : placed_) placer_.take_back(memory_[transient].block);
    if (!fits) last_refused_ = node;
    return fits;
  }
  bool runs_something() const override { return !running_.empty(); }
  const std::array<Share, Needs::kCount>& used() const override { return used_; }
  std::uint64_t live_bytes() const override { return placer_.live(); }
  std::int64_t growth(std::uint32_t node) const override {
    std::int64_t bytes = 0;
    for (const std::uint32_t transient : analysis_.uses[node]) {
      const Memory& memory = memory_[transient];
      const auto size = static_cast<std::int64_t>(problem_.bytes[transient]);
      if (!memory.is_placed) bytes += size;
      if (memory.unstarted == 1) bytes -= size;
    }
    return bytes;
  }
  bool is_live(std::uint32_t transient) const override {
    return memory_[transient].is_placed && memory_[transient].unended != 0;
  }
  bool has_started(std::uint32_t node) const override { return started_[node]; }

 private:
  struct Memory {
    Placer::Block block;
    bool is_placed = false;
    std::uint32_t unstarted = 0, unended = 0;  ///< users
    std::uint64_t sum = 0;                     ///< of the numbers of those that have not started
  };
  using Running = std::pair<double, std::uint32_t>;

  /// Memory for what the node is the first to use; placed_ says what, also if it fails.
  bool place(std::uint32_t node) {
    placed_.clear();
    for (const std::uint32_t transient : analysis_.uses[node]) {
      Memory& memory = memory_[transient];
      if (memory.is_placed) continue;
      auto block = placer_.place(problem_.bytes[transient]);
      if (!block) return false;
      memory.block = std::move(*block);
      placed_.push_back(transient);
    }
    return true;
  }

  void wait_for(std::uint32_t node, std::uint32_t on, const Edge& edge) {
    if (on == kNoNode || on == node || stamps_[on] == node) return;
    stamps_[on] = node;
    result_.extra.push_back({node, edge});
  }

  void start(std::uint32_t node) {
    for (const Edge& edge : analysis_.edges_of(node)) stamps_[edge.from] = node;
    if (policy_.one_by_one() && !result_.order.empty())
      wait_for(node, result_.order.back(), {.from = result_.order.back(), .reason = Reason::policy});
    take_memory(node);
    for (std::uint8_t kind = 0; kind < Needs::kCount; ++kind) {
      const Share share = problem_.needs[node][kind];
      if (share == 0) continue;
      used_[kind] += share;
      chunks_[kind].take(
          share, [&](std::uint32_t holder) { return holder == kNoNode || stamps_[holder] == node; },
          [&](std::uint32_t holder) {
            wait_for(node, holder, {.from = holder, .reason = Reason::capacity, .need = kind});
          });
    }
    started_[node] = true;
    result_.order.push_back(node);
    result_.begin[node] = now_;
    running_.push({now_ + problem_.nanoseconds[node], node});
  }

  void take_memory(std::uint32_t node) {
    place(node);
    for (const std::uint32_t transient : placed_) {
      Memory& memory = memory_[transient];
      memory.is_placed = true;
      result_.peak_bytes = std::max(result_.peak_bytes, memory.block.offset + memory.block.bytes);
    }
    for (const std::uint32_t transient : analysis_.uses[node]) {
      Memory& memory = memory_[transient];
      if (is_first_user(transient, node)) wait_for_owners(transient, node);
      memory.sum -= node;
      if (--memory.unstarted == 1) policy_.one_user_left(static_cast<std::uint32_t>(memory.sum));
    }
  }
  bool is_first_user(std::uint32_t transient, std::uint32_t node) const {
    const auto users = analysis_.first_users[transient];
    return std::binary_search(users.begin(), users.end(), node);
  }
  /// Whoever used the memory last for something else.
  void wait_for_owners(std::uint32_t transient, std::uint32_t node) {
    for (const Placer::Piece& piece : memory_[transient].block.pieces) {
      if (piece.owner == Placer::kNobody) continue;
      for (const std::uint32_t user : analysis_.last_users[piece.owner])
        wait_for(node, user,
                 {.from = user, .reason = Reason::memory, .resource = analysis_.transient[piece.owner]});
    }
  }

  void end_next() {
    const auto [time, node] = running_.top();
    running_.pop();
    now_ = time;
    result_.end[node] = time;
    for (unsigned kind = 0; kind < Needs::kCount; ++kind)
      if (const Share share = problem_.needs[node][kind]; share != 0)
        used_[kind] -= share, chunks_[kind].give(share, node);
    for (const std::uint32_t transient : analysis_.uses[node]) {
      Memory& memory = memory_[transient];
      if (--memory.unended == 0 && problem_.alias) placer_.free(memory.block, transient);
    }
    for (const std::uint32_t later : problem_.later[node])
      if (--waits_[later] == 0) policy_.ready(later);
  }

  void finish() {
    result_.nanoseconds = now_;
    std::vector<std::uint32_t> place(problem_.size());
    for (std::uint32_t i = 0; i < result_.order.size(); ++i) place[result_.order[i]] = i;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const auto users = analysis_.users[i];
      const auto by_place = [&](std::uint32_t a, std::uint32_t b) { return place[a] < place[b]; };
      result_.offsets.push_back(memory_[i].block.offset);
      result_.first.push_back(*std::min_element(users.begin(), users.end(), by_place));
      result_.last.push_back(
          *std::max_element(users.begin(), users.end(), [&](std::uint32_t a, std::uint32_t b) {
            return result_.end[a] != result_.end[b] ? result_.end[a] < result_.end[b] : by_place(a, b);
          }));
    }
  }

  const Problem& problem_;
  const Analysis& analysis_;
  Policy& policy_;
  Placer placer_;
  Chunks chunks_[Needs::kCount];
  std::array<Share, Needs::kCount> used_{};
  std::vector<std::uint32_t> waits_;  // by node: dependencies that have not ended
  std::vector<bool> started_;
  std::vector<std::uint32_t> stamps_;  // by node: the last one that waits for it
  std::vector<Memory> memory_;         // by place in analysis.transient
  std::vector<std::uint32_t> placed_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  double now_ = 0;
  std::uint32_t last_refused_ = kNoNode;
  Outcome result_;
};

}  // namespace

Result<Outcome> run_policy(const Problem& problem, Policy& policy, std::uint32_t& stuck) {
  return ListScheduler(problem, policy).run(stuck);
}

}  // namespace raddle::graph
