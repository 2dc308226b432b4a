// A file of tests/isa: legal PTX whose comments carry the tests (tests/isa/README.md shows the format).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/row.h"

namespace raddle::testing {

/// `// run: bfe.u32(0xdeadbeef, 4, 8) == 0xee`: one thread's operands and results; or, as `// warp:`, lists
/// that give all lanes' values, after an optional `@mask` of active lanes.
struct RunLine {
  unsigned line = 0;
  std::string callee;  ///< an instruction's full text, or a kernel of the file
  std::vector<std::string> arguments, results;
  bool is_warp = false;
  std::uint32_t mask = ~0u;
};

/// `// kernel: name(u32, v2.f32) -> u32, pred  block=64`: the types a hand-written kernel reads and writes.
struct KernelLine {
  unsigned line = 0;
  std::string name;
  std::vector<std::string> arguments, results;  ///< type names, with a leading `v2.` for vectors
  unsigned block = 32;
  unsigned cluster = 1;  ///< blocks; thread t is thread t % block of block t / block
  unsigned threads() const { return block * cluster; }
  std::string expected_fault;  ///< `faults=trap`: the run must end in this fault
  std::string only;            ///< `only=interp`: a known gap of the other engines; the file says which
};

/// `// reject: bfe.b32  d, a, b, c`: a spelling that resolving must refuse.
struct RejectLine {
  unsigned line = 0;
  std::string opcode;
};

/// `... // error: text`: the parser must report an error at this line whose message contains the text.
struct ErrorLine {
  unsigned line = 0;
  std::string text;
};

struct TestFile {
  std::string path, chapter, row, text;
  std::vector<std::string> rows;  ///< `// rows: f32x2_add f32x2_sub`: a file of several rows; else empty
  std::vector<RunLine> runs;
  std::vector<KernelLine> kernels;
  std::vector<RejectLine> rejects;
  std::vector<ErrorLine> errors;
};

/// The file of a row below `root`: named after it, else the file of its chapter whose `rows:` line names it.
std::string test_file_of(const std::string& root, const isa::Row& row);

/// @errors io, or invalid with the file's line for a malformed test comment
Result<TestFile> read_test_file(const std::string& path);

/// Splits at commas outside of (), [], {} and <>; items are trimmed.
std::vector<std::string> split_list(std::string_view text, char separator = ',');

/// Expands a `// warp:` operand to one literal per lane: `[0..31]`, `[7*32]`, `[0, 1*30, 5]`, or a single
/// literal for all lanes; `_` stands for "any value".
/// @errors invalid: a list that does not have exactly `lanes` items
Result<std::vector<std::string>> expand_lanes(std::string_view text, unsigned lanes);

}  // namespace raddle::testing
