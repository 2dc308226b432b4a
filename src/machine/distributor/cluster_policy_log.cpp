// What ClusterPolicy records for those who listen (W-21): one decision per round of domain choice, at every
// level of nesting, and one per mask of a plain grid.
#include "machine/distributor/cluster_policy.h"

namespace raddle::machine {

std::vector<std::uint32_t> ClusterPolicy::free_by_sm() const {
  if (places_.empty()) return free_;
  std::vector<std::uint32_t> free(free_.size());
  for (std::size_t place = 0; place < free.size(); ++place) free[places_[place]] = free_[place];
  return free;
}

/// What the candidates answered; the SMs come once they are known.
Decision ClusterPolicy::round_of(unsigned depth, Range candidates, unsigned round) const {
  const Nesting& nesting = nestings_[depth];
  Decision decision;
  decision.first = placement_->sms.size();
  decision.cluster = placement_->launched;
  decision.level = depth;
  decision.round = round;
  for (std::uint32_t i = 0; i < candidates.count; ++i) {
    const Answer answer = nesting.answers[i];
    Candidate candidate;
    candidate.level = nesting.level;
    candidate.domain = candidates.first + i;
    if (!answer.failed()) candidate.speed = answer.speed();
    candidate.load = load_of(nesting.level, candidate.domain);
    decision.candidates.push_back(candidate);
  }
  for (const std::uint32_t i : nesting.chosen) decision.candidates[i].chosen = true;
  decision.free = free_by_sm();
  return decision;
}

void ClusterPolicy::record_launched(Decision& decision) const {
  for (std::size_t i = decision.first; i < placement_->sms.size(); ++i) {
    const std::uint32_t place = placement_->sms[i];
    decision.sms.push_back(places_.empty() ? place : places_[place]);
  }
  decision.free = free_by_sm();
  log_->record(decision);
}

void ClusterPolicy::record_fail(Range candidates, unsigned round) const {
  Decision decision = round_of(0, candidates, round);
  decision.kind = Decision::Kind::fail;
  log_->record(decision);
}

void ClusterPolicy::record_mask(const SmMask& mask) {
  Decision decision;
  decision.first = mask.first;
  for (std::uint32_t i = 0; i < mask.count; ++i) {
    const std::uint32_t place = placement_->sms[mask.first + i];
    --free_[place];
    decision.sms.push_back(places_.empty() ? place : places_[place]);
  }
  decision.free = free_by_sm();
  log_->record(decision);
}

}  // namespace raddle::machine
