// What policies share: the recursion over levels of nested clusters, rounds of domain choice, the two passes
// (W-7, W-8, W-10, W-11). A policy itself answers three questions: how CTAs spread over the SMs of one
// domain, whether and how well a domain takes a cluster, and which of the answers are taken.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/distributor/policy.h"
#include "machine/distributor/speed.h"

namespace raddle::machine {

/// The SMs of one domain, in priority order. Policies number SMs by their place in it, plus `first`.
struct DomainView {
  const MachineShape& shape;
  DistributionMode mode;
  std::span<const std::uint32_t> free;  ///< free slots, without those launched or reserved so far
  std::uint32_t first = 0;              ///< place of the first in the machine's order
  const std::uint32_t* sms = nullptr;   ///< by place in the machine's order: the SM; null: the same

  std::uint32_t sm(std::size_t i) const {
    const auto place = static_cast<std::uint32_t>(first + i);
    return sms == nullptr ? place : sms[place];
  }
  std::uint32_t tpc_of(std::uint32_t i) const { return shape.domain_of(Level::tpc, sm(i)); }
};

/// The domains that may take the next cluster, and what they answered.
struct Candidates {
  unsigned depth = 0;  ///< level of nesting, 0: outermost
  Level level = Level::set;
  std::uint32_t first = 0;  ///< number of the first candidate among the domains of `level`
  std::span<const Answer> answers;
};

class ClusterPolicy : public Policy {
 public:
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override;

 protected:
  /// Appends masks of `ctas` CTAs, or of as many as fit, with places in the machine's order for SMs. The rest
  /// of a mask is filled in later.
  virtual void spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) = 0;
  /// Whether the domain takes a cluster of `ctas` CTAs; `spread` must then place all of them.
  virtual Answer ask(const DomainView& domain, std::uint64_t ctas) = 0;
  /// Which candidates get a cluster in this round: at most `left`, by place in `answers`, ascending; none if
  /// all failed.
  /// @param chosen  is replaced
  virtual void choose(const Candidates& candidates, std::uint64_t left,
                      std::vector<std::uint32_t>& chosen) = 0;
  /// As `spread`, for a plain grid on the whole machine.
  virtual void spread_plain(const DomainView& machine, std::uint64_t ctas, Placement& placement) {
    spread(machine, ctas, placement);
  }

  /// Stays the same during a placement, so whatever follows from it alone is the same in both passes.
  const Snapshot& snapshot() const { return *snapshot_; }
  /// Whose turn it is among `count`, if each outermost cluster or CTA of the grid so far took one turn.
  std::uint32_t turn_of(std::size_t count) const {
    return static_cast<std::uint32_t>((snapshot().launched + placement_->launched) % count);
  }
  /// For policies that do not weigh domains: speed 0 if the SMs can take that many CTAs of a cluster.
  static Answer has_room(const DomainView& domain, std::uint64_t ctas);
  /// CTAs of one cluster, or of a plain grid, that an SM can take (W-6).
  static std::uint32_t most_of_one_cluster(const DomainView& domain, std::size_t sm) {
    return domain.mode == DistributionMode::multicast ? std::min(1u, domain.free[sm]) : domain.free[sm];
  }
  /// CTAs resident in a domain of a level, including this placement.
  std::uint64_t load_of(Level level, std::uint32_t index) const;
  /// If domains tie, those with the lowest rank get clusters, among equals the first by number.
  std::uint64_t tie_rank(Level level, std::uint32_t index) const;

 private:
  struct Range {
    std::uint32_t first = 0, count = 0;  // domains of one level
  };
  struct Mark {
    std::size_t sms = 0, masks = 0;  // of the placement
  };
  /// One level of nesting: the parts of its clusters, and the scratch space of its rounds.
  struct Nesting {
    Level level = Level::set;
    std::uint64_t parts = 0;  // clusters of the next level; CTAs in a leaf
    std::uint64_t ids = 0;    // local cluster ids that it takes of its GPC; 0 above the GPCs
    bool shares_ids = false;  // with other domains of its GPC
    bool leaf = false;
    std::vector<Answer> answers;  // by candidate
    std::vector<std::uint32_t> chosen;
  };
  struct Launched {
    std::uint64_t clusters = 0;
    Answer slowest;  // of their answers; fail: none
    unsigned rounds = 0;
  };

  void prepare(const Snapshot& snapshot, Placement& placement, DecisionLog* log);
  void prepare_nestings(const GridKind& kind);
  void order_places();
  void prepare_ties();
  void place_plain();
  void place_clusters();

  Range domains_in(Level level, const Domain& domain) const;
  DomainView view(const Domain& domain) const;
  Launched run_rounds(unsigned depth, Range candidates, std::uint64_t left);
  Answer query(unsigned depth, std::uint32_t index);
  Answer distribute(unsigned depth, std::uint32_t index);
  void launch_chosen(unsigned depth, Range candidates, Launched& launched);
  void launch(unsigned depth, std::uint32_t index, Answer answer);
  void launch_ctas(const Domain& domain, std::uint64_t ctas);
  bool has_ids(const Nesting& nesting, std::uint32_t index, std::uint64_t clusters) const;
  void keep_those_with_ids(Nesting& nesting, Range candidates);
  void refuse_those_without_ids(Nesting& nesting, Range candidates);
  std::uint32_t gpc_of(std::uint32_t place) const { return snapshot_->shape.domain_of(Level::gpc, place); }
  Mark mark() const { return {placement_->sms.size(), placement_->masks.size()}; }
  void cancel(Mark before);

  // Records of the decisions, for listeners.
  Decision round_of(unsigned depth, Range candidates, unsigned round) const;
  Candidate candidate_of(Level level, std::uint32_t index, Answer answer) const;
  std::vector<std::uint32_t> sms_from(std::size_t first) const;
  void record_attempt(std::uint32_t index, Answer answer);
  void record_launched(Decision& decision) const;
  void record_fail(Range candidates, unsigned round) const;
  void record_mask(const SmMask& mask);
  std::vector<std::uint32_t> free_by_sm() const;

  const Snapshot* snapshot_ = nullptr;  // these three: of the running call of `place`
  Placement* placement_ = nullptr;
  DecisionLog* log_ = nullptr;
  bool speculative_ = false;               // in pass I
  bool uses_ids_ = false;                  // of the GPCs: one per innermost cluster
  std::uint64_t ctas_of_leaf_ = 0;         // innermost cluster
  std::vector<std::uint32_t> free_, ids_;  // the shadow state: slots by place, cluster ids by GPC
  std::vector<std::uint32_t> places_;      // SM by place; empty: place and number are the same
  std::vector<std::uint32_t> waiting_;     // by SM: clusters that wait, including this placement
  std::vector<std::uint32_t> priority_;    // by SM: its place in the snapshot's order
  std::array<Nesting, kLevels> nestings_;
};

}  // namespace raddle::machine
