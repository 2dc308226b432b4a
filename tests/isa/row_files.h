// The tests of one file of tests/isa.
#pragma once

#include "isa/harness/check.h"
#include "isa/harness/test_file.h"

namespace raddle::testing {

/// Checks `run:`, `warp:` and `reject:` lines and the file's own kernels, on every engine.
/// @param only  of a file of several rows: the row whose lines are checked; null: all of them
void test_row_file(const TestFile& file, const std::vector<NamedEngine>& engines, Report& report,
                   const isa::Row* only = nullptr);

/// A file with `error:` lines: the parser must report exactly these lines.
void test_error_file(const TestFile& file, Report& report);

}  // namespace raddle::testing
