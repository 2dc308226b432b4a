// Which PTX line a machine instruction comes from: locations that go through LLVM with the code, and the
// table read back from the object that it emits. Only for faults (K-12); code does not depend on it. A
// location's column says which lanes the elements of a vector access are.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace raddle::jit {

/// The section of an object's lines that our own generator writes (baseline/object.h): three words for each
/// row, the offset from which on it counts, the line and the column.
inline constexpr const char* kLineSection = ".raddle_lines";

/// Elements of one vector instruction that are lanes in order, `first` the lowest. A run of one is a scalar
/// instruction, and `first` counts from the lane that the code marked before it.
struct LaneRun {
  unsigned first = 0, count = 0;  ///< count 0: not known
  unsigned warp = 0;              ///< which of those that run together

  bool is_one() const { return count == 1; }
  unsigned column() const { return warp * 4096 + (count == 0 ? 0 : count * 64 + first); }
  static LaneRun of(unsigned column) { return {column % 64, column / 64 % 64, column / 4096}; }
};

/// What is known about a machine instruction.
struct CodePlace {
  std::uint32_t line = 0;  ///< 0: it belongs to no single line
  LaneRun lanes;
};

/// Debug locations of one LLVM module. Their contents are PTX lines and LaneRuns.
class DebugLines {
 public:
  explicit DebugLines(llvm::Module& module);
  /// Every function needs one: LLVM inlines no function that has lines into one that has none.
  llvm::DISubprogram* subprogram(const std::string& name, std::uint32_t line);
  void finish() { builder_.finalize(); }

 private:
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
};

/// An object's line table, read when it is first asked for. All the object's code lies in one section, and
/// the linker moves only its start.
class LineTable {
 public:
  /// @param symbol   one of the object's functions
  /// @param address  where the linker put that function
  LineTable(std::unique_ptr<llvm::MemoryBuffer> object, std::string symbol, std::uint64_t address);
  /// Nothing outside of the object's code. Not thread-safe.
  std::optional<CodePlace> place_of(std::uint64_t address);

 private:
  void read();
  void read_own(llvm::StringRef section);

  struct Row {
    std::uint64_t offset;  // from the section's start
    CodePlace place;
  };
  std::unique_ptr<llvm::MemoryBuffer> object_;  // null once it has been read
  std::string symbol_;
  std::vector<Row> rows_;  // ascending; the last one of a function has line 0
  std::uint64_t address_, start_ = 0;
};

}  // namespace raddle::jit
