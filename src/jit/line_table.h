// Which PTX line a machine instruction comes from: locations that go through LLVM with the code, and the
// table read back from the object that it emits. Only for faults (K-12); code does not depend on it.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace raddle::jit {

/// Debug locations of one LLVM module. Their only contents are PTX lines.
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

/// An object's line table, read when it is first asked for. All the object's code lies in one section, of
/// which the linker moves the start only.
class LineTable {
 public:
  /// @param symbol   one of the object's functions
  /// @param address  where the linker put that function
  LineTable(std::unique_ptr<llvm::MemoryBuffer> object, std::string symbol, std::uint64_t address);
  /// 0 if unknown: no code of this object, or an instruction that belongs to no single line. Not thread-safe.
  std::uint32_t line_of(std::uint64_t address);

 private:
  void read();

  struct Row {
    std::uint64_t offset;  // from the section's start
    std::uint32_t line;
  };
  std::unique_ptr<llvm::MemoryBuffer> object_;  // null once it has been read
  std::string symbol_;
  std::vector<Row> rows_;  // ascending; the last one of a function has line 0
  std::uint64_t address_, start_ = 0;
};

}  // namespace raddle::jit
