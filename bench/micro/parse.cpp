// PTX parsing: bytes per second, on each example and on a module of 11 MB (target: over 50 MB/s).
#include <benchmark/benchmark.h>

#include "example_ptx.h"
#include "ptx/parser.h"

namespace bench {
namespace {

void parse(benchmark::State& state, const std::string& text) {
  for (auto step : state) {
    raddle::Result<raddle::ptx::Module> module = raddle::ptx::parse(text);
    if (!module.ok()) {
      state.SkipWithError(module.error().to_string().c_str());
      return;
    }
    benchmark::DoNotOptimize(*module);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

[[maybe_unused]] const bool kRegistered = [] {
  for (PtxFile& file : example_ptx()) {
    benchmark::RegisterBenchmark(("parse/" + file.name).c_str(), [text = std::move(file.text)](
                                                                     benchmark::State& state) {
      parse(state, text);
    })->Unit(benchmark::kMicrosecond);
  }
  benchmark::RegisterBenchmark("parse/11_MB", [text = large_module(11'000'000)](benchmark::State& state) {
    parse(state, text);
  })->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace bench
