// JIT compilation of each example kernel, in processor time of all threads: per thousand PTX instructions 150
// ms optimised and 50 ms quick on AVX-512 are the bars.
#include <benchmark/benchmark.h>

#include "example_ptx.h"
#include "jit/engine.h"
#include "ptx/parser.h"

namespace bench {
namespace {

void compile(benchmark::State& state, const std::string& text, const std::string& kernel,
             raddle::jit::Tier tier) {
  raddle::Result<raddle::ptx::Module> module = raddle::ptx::parse(text);
  if (!module.ok()) {
    state.SkipWithError(module.error().to_string().c_str());
    return;
  }
  const raddle::ptx::Function* function = module->find_function(kernel);
  const auto id = static_cast<raddle::ptx::FunctionId>(function - module->functions.data());
  const std::unique_ptr<raddle::exec::Engine> engine =
      raddle::jit::make_engine({.tier = tier, .cache = false});
  for (auto step : state) {
    auto executable = engine->compile(*module, id, {.block = {256, 1, 1}});
    if (!executable.ok()) {
      state.SkipWithError(executable.error().to_string().c_str());
      return;
    }
    benchmark::DoNotOptimize(*executable);
  }
  const double thousands = static_cast<double>(function->instructions.size()) / 1000;
  state.counters["instructions"] = 1000 * thousands;
  state.counters["s_per_1000"] = benchmark::Counter(
      thousands, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const PtxFile& file : example_ptx()) {
    raddle::Result<raddle::ptx::Module> module = raddle::ptx::parse(file.text);
    if (!module.ok()) continue;  // parse/<file> reports it
    for (const raddle::ptx::Function& function : module->functions) {
      if (!function.is_entry) continue;
      for (auto [label, tier] : {std::pair{"optimised", raddle::jit::Tier::optimised},
                                 std::pair{"quick", raddle::jit::Tier::quick}}) {
        auto run = [text = file.text, name = function.name, tier = tier](benchmark::State& state) {
          compile(state, text, name, tier);
        };
        benchmark::RegisterBenchmark(("compile/" + function.name + "/" + label).c_str(), run)
            ->Unit(benchmark::kMillisecond)
            ->MeasureProcessCPUTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace bench
