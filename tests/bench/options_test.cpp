// The command line of bench/run: defaults, and what it says about arguments that are none.
#include "kernels/options.h"

#include <gtest/gtest.h>

#include "kernels/names.h"
#include "kernels/parallel.h"

namespace bench {
namespace {

raddle::Result<Options> parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench_kernels");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return parse_options(static_cast<int>(pointers.size()), pointers.data());
}

std::string complaint(std::vector<std::string> arguments) {
  const raddle::Result<Options> options = parse(std::move(arguments));
  return options.ok() ? "" : options.error().message;
}

TEST(BenchOptions, AllKernelsOnRaddleAndRivals) {
  const Options options = *parse({});
  EXPECT_EQ(options.kernels.size(), all_kernels().size());
  EXPECT_EQ(options.systems, (std::vector<std::string>{"raddle-jit", "pocl", "openmp", "library"}));
  EXPECT_FALSE(options.quick);
  EXPECT_EQ(options.runs, 7);
  EXPECT_EQ(parse({"--quick"})->runs, 5);
  EXPECT_EQ(parse({"--widths"})->systems.front(), "raddle-avx512");
  EXPECT_EQ(parse({"--against", "x.json"})->systems, std::vector<std::string>{"raddle-jit"});
}

TEST(BenchOptions, ListsChoose) {
  const Options options = *parse({"--kernels", "fft,saxpy", "--systems", "openmp-avx2,pocl", "--cores", "3"});
  EXPECT_EQ(options.kernels, (std::vector<Kernel>{Kernel::saxpy, Kernel::fft}));  // in the table's order
  EXPECT_EQ(options.systems, (std::vector<std::string>{"openmp-avx2", "pocl"}));
  EXPECT_EQ(core_count(), 3u);
}

TEST(BenchOptions, WhatIsWrongIsNamed) {
  const auto says = [](std::vector<std::string> arguments, const char* text) {
    EXPECT_NE(complaint(arguments).find(text), std::string::npos) << complaint(arguments);
  };
  says({"--quik"}, "unknown option --quik; options: --quick");
  says({"saxpy"}, "unknown option saxpy");
  says({"--json"}, "--json wants a value");
  says({"--kernels", "saxpy,sort"}, "--kernels knows no 'sort', but saxpy, black_scholes");
  says({"--kernels", ""}, "--kernels knows no ''");
  says({"--systems", "cuda"}, "--systems knows no 'cuda', but raddle-jit");
  says({"--runs", "0"}, "--runs wants a number from 1 to 1000, not '0'");
  says({"--runs", "3x"}, "not '3x'");
  says({"--factor", "1.5"}, "--factor wants a number from 0.01 to 1, not '1.5'");
  says({"--widths", "--systems", "pocl"}, "--widths chooses its systems");
  says({"--widths", "--against", "x.json"}, "--widths chooses its systems");
  says({"--against", "x.json", "--systems", "pocl"}, "--against compares raddle-jit");
}

}  // namespace
}  // namespace bench
