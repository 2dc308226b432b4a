// The way of PTX lines through LLVM and back: see line_table.h.
#include "jit/line_table.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ObjectFile.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace raddle::jit {

DebugLines::DebugLines(llvm::Module& module) : builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  file_ = builder_.createFile("kernel.ptx", ".");
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, file_, "raddle", true, "", 0, "",
                             llvm::DICompileUnit::LineTablesOnly);
}

llvm::DISubprogram* DebugLines::subprogram(const std::string& name, std::uint32_t line) {
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  return builder_.createFunction(file_, name, "", file_, line, type, line, llvm::DINode::FlagZero,
                                 llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
}

LineTable::LineTable(std::unique_ptr<llvm::MemoryBuffer> object, std::string symbol, std::uint64_t address)
    : object_(std::move(object)), symbol_(std::move(symbol)), address_(address) {}

void LineTable::read() {
  auto buffer = std::move(object_);
  auto object = llvm::object::ObjectFile::createObjectFile(buffer->getMemBufferRef());
  if (!object) return llvm::consumeError(object.takeError());
  std::optional<std::uint64_t> offset;
  for (const auto& s : (*object)->symbols()) {
    auto name = s.getName();
    auto address = s.getAddress();
    if (name && address && *name == symbol_) offset = *address;
    if (!name) llvm::consumeError(name.takeError());
    if (!address) llvm::consumeError(address.takeError());
  }
  if (!offset) return;
  start_ = address_ - *offset;
  for (const auto& section : (*object)->sections())
    if (auto name = section.getName(); name && *name == kLineSection)
      return read_own(llvm::cantFail(section.getContents()));
    else if (!name)
      llvm::consumeError(name.takeError());
  auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  auto context = llvm::DWARFContext::create(**object, llvm::DWARFContext::ProcessDebugRelocations::Process,
                                            nullptr, "", ignore, ignore);
  for (const auto& unit : context->compile_units()) {
    const auto* lines = context->getLineTableForUnit(unit.get());
    if (!lines) continue;
    for (const auto& row : lines->Rows) {
      CodePlace place;
      if (!row.EndSequence) place = {row.Line, LaneRun::of(row.Column)};
      if (!rows_.empty() && rows_.back().offset == row.Address.Address && rows_.back().place.line != 0)
        rows_.back().place = place;  // the last row of an address counts
      else
        rows_.push_back({row.Address.Address, place});
    }
  }
  // Functions one after the other; where one ends and the next starts, the start (it has a line) comes last.
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return std::pair(a.offset, a.place.line) < std::pair(b.offset, b.place.line);
  });
}

void LineTable::read_own(llvm::StringRef section) {
  constexpr std::size_t kRow = 12;
  for (std::size_t at = 0; at + kRow <= section.size(); at += kRow) {
    std::uint32_t row[3];
    std::memcpy(row, section.data() + at, kRow);
    rows_.push_back({row[0], {row[1], LaneRun::of(row[2])}});
  }
}

std::optional<CodePlace> LineTable::place_of(std::uint64_t address) {
  if (object_) read();
  auto after = std::upper_bound(rows_.begin(), rows_.end(), address - start_,
                                [](std::uint64_t x, const Row& row) { return x < row.offset; });
  if (after == rows_.begin() || after == rows_.end()) return {};
  return std::prev(after)->place;
}

}  // namespace raddle::jit
