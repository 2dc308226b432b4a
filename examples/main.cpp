// run_examples: every example kernel, run and checked against its reference; one table.
// Exits 1 if a result is wrong, a kernel did not run, or another engine ran it than the one asked for; 2 on a
// bad option.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "runner.h"

namespace {

struct Options {
  examples::EngineChoice engine{.name = "jit"};
  std::string only;              ///< comma-separated names; empty: all
  unsigned part = 0, parts = 1;  ///< only examples whose number modulo `parts` is `part`
  examples::Size size = examples::Size::full;
  unsigned threads = 256;
  int runs = 3;
};

constexpr const char* kUsage =
    "usage: run_examples [--engine=jit|interp] [--simd=NAME] [--tier=NAME] [--kernels=DIR] [--threads=N] "
    "[--small] [--runs=N] [--only=NAME,...] [--part=K/N]\n"
    "  --engine  which engine must run the kernels (jit)\n"
    "  --simd    widest vectors of the jit: avx512, avx2, sse42\n"
    "  --tier    of the jit: quick, balanced, optimised\n"
    "  --kernels directory of other PTX files for the same kernels than those checked in\n"
    "  --threads per block where the kernel leaves it open, a multiple of 32 (256)\n"
    "  --small   small problems, as --engine=interp uses anyway\n"
    "  --runs    of each, of which the fastest counts (3)\n"
    "  --only    these examples\n"
    "  --part    those whose number modulo N is K\n";

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--engine=jit" || argument == "--engine=interp") {
      options.engine.name = argument.substr(9);
    } else if (argument.starts_with("--simd=")) {
      options.engine.simd = argument.substr(7);
    } else if (argument.starts_with("--tier=")) {
      options.engine.tier = argument.substr(7);
    } else if (argument.starts_with("--kernels=")) {
      options.engine.kernels = argument.substr(10);
    } else if (argument.starts_with("--threads=")) {
      options.threads = static_cast<unsigned>(std::strtoul(argument.c_str() + 10, nullptr, 10));
      if (options.threads < 32 || options.threads > 1024 || options.threads % 32 != 0) return false;
    } else if (argument == "--small") {
      options.size = examples::Size::small;
    } else if (argument.starts_with("--runs=")) {
      options.runs = std::atoi(argument.c_str() + 7);
      if (options.runs < 1) return false;
    } else if (argument.starts_with("--only=")) {
      options.only = "," + argument.substr(7) + ",";
    } else if (argument.starts_with("--part=")) {
      if (std::sscanf(argument.c_str(), "--part=%u/%u", &options.part, &options.parts) != 2 ||
          options.part >= options.parts)
        return false;
    } else {
      return false;
    }
  }
  if (options.engine.name == "interp") {
    options.size = examples::Size::small;
    options.runs = 1;
  }
  return true;
}

std::vector<examples::Example> all_examples(examples::Size size, unsigned threads) {
  std::vector<examples::Example> all;
  for (auto make :
       {examples::make_elementwise_examples, examples::make_matrix_examples,
        examples::make_collective_examples, examples::make_grid_examples, examples::make_irregular_examples,
        examples::make_number_examples, examples::make_cooperating_examples,
        examples::make_asynchronous_examples, examples::make_tensor_core_examples}) {
    for (examples::Example& example : make(size, threads)) all.push_back(std::move(example));
  }
  return all;
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", 1e6 * seconds) : fmt::format("{:.2f} ms", 1e3 * seconds);
}

std::string error_text(const examples::CheckResult& check) {
  return check.max_error == 0 ? "exact" : fmt::format("max error {:.1e}", check.max_error);
}

void print_row(const examples::Example& example, const examples::Outcome& outcome) {
  if (!outcome.error.empty()) {
    fmt::print("{:<19} did not run: {}\n", example.name, outcome.error);
    return;
  }
  const double share =
      outcome.memory_operations == 0 ? 0 : 100.0 * outcome.not_vectorised / outcome.memory_operations;
  fmt::print("{:<19} {:<5} {:<18} {:<7} {:<8} {:>4} of {:>4} {:>4.0f}% {:>11} {:>11} {:>9.3g} {}\n",
             example.name, outcome.check.ok ? "ok" : "WRONG",
             outcome.check.ok ? error_text(outcome.check) : "", outcome.engine, outcome.block_kind,
             outcome.not_vectorised, outcome.memory_operations, share, time_text(outcome.compile_seconds),
             time_text(outcome.seconds), example.work / outcome.seconds, example.unit);
  if (!outcome.check.ok) fmt::print("{:<19} {}\n", "", outcome.check.message);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  fmt::print("{:<19} {:<5} {:<18} {:<7} {:<8} {:>12} {:>5} {:>11} {:>11} {:>9}\n", "example", "check", "",
             "engine", "blocks", "not vectorised", "", "compile", "run", "speed");
  int ran = 0, failed = 0;
  unsigned number = 0;
  for (const examples::Example& example : all_examples(options.size, options.threads)) {
    if (number++ % options.parts != options.part) continue;
    if (!options.only.empty() && options.only.find("," + example.name + ",") == std::string::npos) continue;
    examples::Outcome outcome = examples::run_example(example, options.engine, options.runs);
    if (outcome.error.empty() && outcome.engine != options.engine.name) {
      outcome.error =
          fmt::format("the {} engine ran it, not the {} engine", outcome.engine, options.engine.name);
    }
    print_row(example, outcome);
    std::fflush(stdout);
    ++ran;
    failed += !outcome.ok();
  }
  fmt::print("{} examples, {} failed\n", ran, failed);
  return ran > 0 && failed == 0 ? 0 : 1;
}
