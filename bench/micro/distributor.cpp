// The cost of choosing SMs per CTA: the policies' own part of a launch, on one core, 132 SMs.
#include <benchmark/benchmark.h>

#include <vector>

#include "machine/distributor/policy.h"

namespace bench {
namespace {

using namespace raddle::machine;

GridKind clusters_of(std::uint32_t ctas, DistributionMode mode = DistributionMode::load_balance) {
  GridKind kind;
  kind.depth = 1;
  kind.levels[0] = {Level::gpc, {ctas, 1, 1}};
  kind.mode = mode;
  return kind;
}

GridKind nested() {
  GridKind kind = clusters_of(2);
  kind.depth = 2;
  kind.levels[1] = {Level::cpc, {4, 1, 1}};
  return kind;
}

struct Load {
  GridKind kind;
  std::uint32_t slots = 8;  // of every SM in `every`
  std::uint32_t every = 1;
  std::uint64_t left = 1u << 20;
  const char* policy = "lake";
};

void place(benchmark::State& state, const Load& load) {
  const MachineShape shape = std::move(*preset_shape("h200", 1));
  const auto policy = std::move(*make_policy(load.policy));
  std::vector<std::uint32_t> free(shape.sm_count()), resident(shape.sm_count(), 4);
  for (std::size_t sm = 0; sm < free.size(); sm += load.every) free[sm] = load.slots;
  const std::vector<std::uint32_t> ids(shape.domains(Level::gpc).size(), 1000);
  Placement placement;
  for (auto step : state) {
    policy->place({shape, load.kind, free, resident, ids, {}, load.left}, placement, nullptr);
    benchmark::DoNotOptimize(placement.sms.data());
  }
  const auto ctas = static_cast<double>(placement.sms.size());
  state.counters["ctas"] = ctas;
  state.counters["ctas_per_second"] = benchmark::Counter(ctas, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["s_per_cta"] =
      benchmark::Counter(ctas, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

[[maybe_unused]] const bool kRegistered = [] {
  const auto add = [](const std::string& name, const Load& load) {
    benchmark::RegisterBenchmark(("distributor/" + name).c_str(),
                                 [load](benchmark::State& state) { place(state, load); });
  };
  add("plain/one_cta_on_an_idle_machine", {.kind = {}, .slots = 32, .left = 1});
  add("plain/33_sms_with_one_slot", {.kind = {}, .slots = 1, .every = 4});
  add("plain/idle_8_slots", {.kind = {}});
  add("plain/idle_32_slots", {.kind = {}, .slots = 32});
  for (const std::uint32_t ctas : {2, 4, 8, 16}) {
    const std::string name = "clusters_of_" + std::to_string(ctas);
    add(name + "/idle", {.kind = clusters_of(ctas)});
    add(name + "/one", {.kind = clusters_of(ctas), .left = 1});
    add(name + "/multicast", {.kind = clusters_of(ctas, DistributionMode::multicast)});
  }
  add("nested_2_of_4/idle", {.kind = nested()});
  add("nested_2_of_4/one", {.kind = nested(), .left = 1});
  for (const char* policy : {"round_robin", "first_fit", "partitioned", "deep"}) {
    add(std::string("plain/idle_8_slots/") + policy, {.kind = {}, .policy = policy});
    add(std::string("clusters_of_8/idle/") + policy, {.kind = clusters_of(8), .policy = policy});
  }
  return true;
}();

}  // namespace
}  // namespace bench
