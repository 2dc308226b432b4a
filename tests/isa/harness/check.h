// Runs batches of cases on every engine: against expected values (run lines) or against the interpreter (all
// spellings).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isa/harness/engines.h"
#include "isa/harness/kernel_writer.h"
#include "isa/harness/operands.h"

namespace raddle::testing {

/// Failures, capped in print per row but all counted.
struct Report {
  unsigned checks = 0, failures = 0, run_lines = 0, spellings = 0, rejects = 0, errors = 0;
  std::vector<std::string> messages;
  void fail(std::string message) {
    ++failures;
    messages.push_back(std::move(message));
  }
};

/// A case with the values of each lane, and what must come out.
struct Case {
  CaseSpec spec;
  CaseLayout layout;  ///< filled by run_cases
  std::string where;  ///< "chapter/row.ptx:12" or the spelling
  std::string text;   ///< for messages
  /// Values of source `port`, element `element`, in a lane; absent: random operands.
  std::function<Bits(unsigned port, unsigned element, unsigned lane)> input;
  /// Expected value, or nothing where any value will do; absent: the interpreter's own result is the
  /// expectation.
  std::function<bool(unsigned port, unsigned element, unsigned lane, Bits& expected)> expected;
};

struct RunOptions {
  std::vector<std::uint32_t> masks{~0u};
  unsigned rounds = 1;  ///< with random operands
  std::uint64_t seed = 1;
};

/// Cases in one kernel, at most: LLVM's time on masked accesses grows faster than their number.
inline constexpr std::size_t kBatch = 4;

/// Writes all cases into one kernel, runs it with each mask on each engine and checks every result. When the
/// kernel as a whole fails (parser, compiler, crash), cases are run one by one so that the culprit is named.
void run_cases(std::vector<Case>& cases, const std::vector<NamedEngine>& engines, const RunOptions& options,
               Report& report);

}  // namespace raddle::testing
