// One entry for every decision, numbered in the order in which they were taken.
#include "machine/distributor/decision_recorder.h"

namespace raddle::machine {

void DecisionRecorder::begin(const Grid& grid) {
  grid_ = &grid, next_ = grid.next;
  failure_ = {};
}

void DecisionRecorder::record(const Decision& decision) {
  Decision here = decision;
  here.first += next_;
  here.cluster += next_ / grid_->kind.ctas_per_cluster();
  if (here.kind == Decision::Kind::fail)
    failure_ = std::move(here);
  else
    decide(here, *grid_);
}

/// A decision, which has a live state, not something that has ended.
void DecisionRecorder::decide(Decision& decision, const Grid& grid) {
  decision.live = load_;
  write(decision, grid);
}

void DecisionRecorder::write(Decision& decision, const Grid& grid) {
  decision.time = log_->now;
  decision.sequence = sequence_++;
  decision.grid = grid.id;
  log_->record(decision);
}

void DecisionRecorder::refuse(const Grid& grid, Decision::Kind kind) {
  failure_.kind = kind;
  failure_.first = grid.next;
  failure_.cluster = grid.next / grid.kind.ctas_per_cluster();
  decide(failure_, grid);
}

void DecisionRecorder::complete(const Grid& grid, std::uint32_t sm, std::uint32_t count,
                                std::uint64_t cluster) {
  Decision decision;
  decision.kind = Decision::Kind::complete;
  decision.cluster = cluster;
  decision.sms.assign(count, sm);
  write(decision, grid);
}

/// As in the long way: the exits, then a mask for each level of the lake.
void DecisionRecorder::succeed(const Grid& grid, const SmRun& exited) {
  const bool one_sm = exited.step == 0;
  std::vector<std::uint32_t> sms(exited.count);
  for (std::uint32_t i = 0; i < exited.count; ++i) sms[i] = exited.first + i * exited.step;
  if (one_sm) complete(grid, exited.first, exited.count, 0);
  for (std::uint32_t i = 0; i < exited.count && !one_sm; ++i) complete(grid, sms[i], 1, 0);
  const std::uint32_t masks = one_sm ? exited.count : 1, size = exited.count / masks;
  for (std::uint32_t mask = 0; mask < masks; ++mask) {
    Decision decision;
    decision.first = grid.next + mask;
    decision.cluster = grid.next;
    decision.sms.assign(sms.begin(), sms.begin() + size);
    decision.free.assign(load_.size(), 0);
    if (one_sm) decision.free[exited.first] = masks - 1 - mask;
    decision.live = load_;
    for (const std::uint32_t sm : sms) --decision.live[sm];
    write(decision, grid);
  }
}

void DecisionRecorder::evict(const Grid& grid) {
  Decision decision;
  decision.kind = Decision::Kind::evict;
  decision.first = grid.next;
  decision.cluster = grid.next / grid.kind.ctas_per_cluster();
  decide(decision, grid);
}

void DecisionRecorder::move(const Grid& grid, Decision::Kind kind, std::uint32_t sm, std::uint64_t index) {
  Decision decision;
  decision.kind = kind;
  decision.first = index;
  decision.cluster = index / grid.kind.ctas_per_cluster();
  decision.sms = {sm};
  write(decision, grid);
}

void DecisionRecorder::cluster_complete(const Grid& grid, std::uint64_t cluster) {
  Decision decision;
  decision.kind = Decision::Kind::cluster_complete;
  decision.cluster = cluster;
  write(decision, grid);
}

}  // namespace raddle::machine
