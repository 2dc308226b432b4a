// One entry for every decision; of a nested cluster, the choices inside it come before its launch.
#include "machine/distributor/decision_recorder.h"

namespace raddle::machine {

void DecisionRecorder::record(const Decision& choice) { choices_.push_back(choice); }

void DecisionRecorder::say(Decision decision, Decision::Kind kind, const Grid& grid, std::uint64_t first) {
  decision.kind = kind;
  decision.time = log_->now;
  decision.sequence = sequence_++;
  decision.grid = grid.id;
  decision.first = first;
  if (kind != Decision::Kind::complete && kind != Decision::Kind::cluster_complete)
    decision.cluster = first / grid.kind.ctas_per_cluster();
  log_->record(decision);
}

void DecisionRecorder::launch(const Grid& grid, std::uint64_t first, std::uint64_t placed,
                              std::span<const std::uint32_t> sms, std::span<const std::uint32_t> free) {
  Decision launch;
  for (const Decision& choice : choices_) {
    if (choice.cluster != placed || choice.kind == Decision::Kind::fail) continue;
    if (choice.level == 0)
      launch = choice;
    else
      say(choice, Decision::Kind::launch, grid, first);
  }
  launch.sms.assign(sms.begin(), sms.end());
  launch.free.assign(free.begin(), free.end());
  say(std::move(launch), Decision::Kind::launch, grid, first);
}

void DecisionRecorder::refuse(const Grid& grid, Decision::Kind kind, std::uint64_t placed) {
  Decision refusal;
  for (const Decision& choice : choices_)
    if (choice.cluster == placed && choice.kind == Decision::Kind::fail) refusal = choice;
  say(std::move(refusal), kind, grid, grid.next);
}

void DecisionRecorder::complete(const Grid& grid, std::uint32_t sm, std::uint32_t count,
                                std::uint64_t cluster) {
  Decision decision;
  decision.sms.assign(count, sm);
  decision.cluster = cluster;
  say(std::move(decision), Decision::Kind::complete, grid, 0);
}

void DecisionRecorder::cluster_complete(const Grid& grid, std::uint64_t cluster) {
  Decision decision;
  decision.cluster = cluster;
  say(std::move(decision), Decision::Kind::cluster_complete, grid, cluster * grid.kind.ctas_per_cluster());
}

}  // namespace raddle::machine
