// A policy is asked directly, without a distributor: the states are of a moment, and nothing ends.
#include "distribute/example.h"

#include <fmt/format.h>

#include "machine/distributor/policy.h"
#include "machine/distributor/worked_examples.h"

namespace raddle::distribute {
namespace {

using machine::Decision;
namespace worked = machine::worked;

/// Adds to a policy's decisions what the distributor adds: grid, time, number.
class Teller final : public machine::DecisionLog {
 public:
  Teller(History& history, worked::State state, std::unique_ptr<machine::Policy> policy)
      : history_(history), state_(std::move(state)), policy_(std::move(policy)) {
    history_.layout = layout_of(state_.shape);
    history_.layout.name = "worked example";
    history_.unit = "steps";
    fill_others();
  }

  /// Has the policy place at most `left` clusters (or CTAs) of a grid.
  void place(const std::string& name, const machine::GridKind& kind, std::array<std::uint32_t, 3> extent,
             std::uint64_t left) {
    history_.arrived({++grid_, name, now_, extent, kind, state_.shape.sm.cta_slots});
    const std::vector<std::uint32_t> ids(state_.shape.domains(machine::Level::gpc).size(), 32);
    policy_->place({state_.shape, kind, state_.free, state_.load, ids, {}, left}, placement_, this);
    for (const std::uint32_t sm : placement_.sms) --state_.free[sm], ++state_.load[sm];
    if (placement_.failed && !told_failure_) record({Decision::Kind::fail});
    told_failure_ = false;
  }

  void record(const Decision& told) override {
    Decision decision = told;
    decision.grid = grid_;
    decision.time = ++now_;
    decision.sequence = history_.steps.size();
    told_failure_ |= decision.kind == Decision::Kind::fail;
    history_.record(decision);
  }

 private:
  void fill_others() {
    history_.arrived({0, "resident before", 0, {1, 1, 1}, {}, state_.shape.sm.cta_slots});
    Decision decision;
    for (std::uint32_t sm = 0; sm < state_.load.size(); ++sm)
      decision.sms.insert(decision.sms.end(), state_.load[sm], sm);
    history_.grids[0].extent[0] = static_cast<std::uint32_t>(decision.sms.size());
    decision.free = state_.free;
    history_.record(decision);
  }

  History& history_;
  worked::State state_;
  std::unique_ptr<machine::Policy> policy_;
  machine::Placement placement_;
  std::uint64_t grid_ = 0, now_ = 0;
  bool told_failure_ = false;
};

machine::GridKind gpu_cluster(std::uint32_t ctas) {
  machine::GridKind kind;
  kind.depth = 1;
  kind.levels[0] = {machine::Level::gpu, {ctas, 1, 1}};
  return kind;
}

}  // namespace

Result<History> example_history(const std::string& name, const std::string& policy_name) {
  TRY_ASSIGN(std::unique_ptr<machine::Policy> policy, machine::make_policy(policy_name));
  History history;
  history.policy = policy_name;
  if (name == "lake") {
    Teller(history, worked::room_for_137(), std::move(policy)).place("137 CTAs", {}, {137, 1, 1}, 137);
  } else if (name == "cluster") {
    Teller teller(history, worked::too_full_for_137(), std::move(policy));
    teller.place("cluster of 137", gpu_cluster(137), {137, 1, 1}, 1);
    teller.place("cluster of 100", gpu_cluster(100), {100, 1, 1}, 1);
    teller.place("plain grid of 137", {}, {137, 1, 1}, 137);
  } else if (name == "nested") {
    const worked::State state = worked::four_gpcs();
    Teller(history, state, std::move(policy)).place("nested", state.kind, {24, 1, 1}, 4);
  } else {
    return Error::make(ErrorCode::not_found, "no example '{}'; there are lake, cluster, nested", name);
  }
  return history;
}

}  // namespace raddle::distribute
