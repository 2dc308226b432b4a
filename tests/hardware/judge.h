// Answers kept from real hardware, asked again of a device here: the same kernels, the same inputs.
#pragma once

#include "hardware/answers.h"
#include "isa/harness/check.h"

namespace raddle::testing {

/// Differences that stay, and why: lines "WHAT: WHY" of a file, where WHAT is how the names of answers begin;
/// '#' comments.
struct KeptDifferences {
  struct Line {
    std::string what, why;
    unsigned differing = 0, asked = 0;
  };
  std::vector<Line> lines;

  /// @errors io; invalid: a line without a reason
  static Result<KeptDifferences> read(const std::string& path);
};

/// Which answers: one in `every`, chosen by the seed.
struct Sample {
  unsigned every = 1;
  std::uint64_t seed = 1;
};

/// What was found in one chapter.
struct Judgement {
  Report report;
  unsigned kept = 0, approximate = 0;
  unsigned refused = 0;  ///< not judged: the assembler there did not take them
};

/// Runs every kernel that has an answer, and compares what comes out bit by bit; what says .approx has only
/// to run, as other suites hold it to its stated error. A kernel that did not run to its
/// end there must not here.
/// @returns by chapter
std::map<std::string, Judgement> judge(const Answers& answers, Device& device, KeptDifferences& kept,
                                       const Sample& sample);

}  // namespace raddle::testing
