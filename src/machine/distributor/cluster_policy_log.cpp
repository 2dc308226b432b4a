// What ClusterPolicy records for listeners (W-21): an attempt per domain that is asked for an outermost
// cluster, a decision per round of domain choice, at every level of nesting, and one per mask of a plain
// grid.
#include "machine/distributor/cluster_policy.h"

namespace raddle::machine {

std::vector<std::uint32_t> ClusterPolicy::free_by_sm() const {
  if (places_.empty()) return free_;
  std::vector<std::uint32_t> free(free_.size());
  for (std::size_t place = 0; place < free.size(); ++place) free[places_[place]] = free_[place];
  return free;
}

Candidate ClusterPolicy::candidate_of(Level level, std::uint32_t index, Answer answer) const {
  Candidate candidate;
  candidate.level = level;
  candidate.domain = index;
  if (!answer.failed()) candidate.speed = answer.speed();
  candidate.load = load_of(level, index);
  return candidate;
}

/// SMs of the CTAs placed from one of them on.
std::vector<std::uint32_t> ClusterPolicy::sms_from(std::size_t first) const {
  std::vector<std::uint32_t> sms(placement_->sms.begin() + static_cast<std::ptrdiff_t>(first),
                                 placement_->sms.end());
  if (!places_.empty())
    for (std::uint32_t& sm : sms) sm = places_[sm];
  return sms;
}

/// What the domain has answered is launched once more on the shadow state, to tell where it went, and is
/// cancelled again.
void ClusterPolicy::record_attempt(std::uint32_t index, Answer answer) {
  Decision decision;
  decision.kind = Decision::Kind::attempt;
  decision.first = placement_->sms.size();
  decision.cluster = placement_->launched;
  decision.candidates.push_back(candidate_of(nestings_[0].level, index, answer));
  const Mark before = mark();
  const std::uint64_t steps = placement_->steps;
  if (!answer.failed()) {
    speculative_ = true;
    launch(0, index, answer);
    speculative_ = false;
  }
  decision.sms = sms_from(before.sms);
  decision.free = free_by_sm();
  cancel(before);
  placement_->steps = steps;
  log_->record(decision);
}

/// The candidates' answers; the SMs follow once they are known.
Decision ClusterPolicy::round_of(unsigned depth, Range candidates, unsigned round) const {
  const Nesting& nesting = nestings_[depth];
  Decision decision;
  decision.first = placement_->sms.size();
  decision.cluster = placement_->launched;
  decision.level = depth;
  decision.round = round;
  for (std::uint32_t i = 0; i < candidates.count; ++i) {
    decision.candidates.push_back(candidate_of(nesting.level, candidates.first + i, nesting.answers[i]));
  }
  for (const std::uint32_t i : nesting.chosen) decision.candidates[i].chosen = true;
  decision.free = free_by_sm();
  return decision;
}

void ClusterPolicy::record_launched(Decision& decision) const {
  decision.sms = sms_from(decision.first);
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
