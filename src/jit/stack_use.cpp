#include "jit/stack_use.h"

#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/LEB128.h>

#include "base/assert.h"

namespace raddle::jit {
namespace {

/// The address that a call pushes, and what aligning a frame for the widest vectors may skip.
constexpr std::uint64_t kBesidesFrame = 8 + 64;

/// Entries are a function's address, of the machine's size, and its frame's bytes as ULEB128.
std::uint64_t sum_of(llvm::StringRef section, unsigned address_bytes) {
  std::uint64_t sum = 0;
  const auto* at = section.bytes_begin();
  while (at < section.bytes_end()) {
    unsigned length = 0;
    sum += llvm::decodeULEB128(at + address_bytes, &length, section.bytes_end()) + kBesidesFrame;
    at += address_bytes + length;
  }
  return sum;
}

}  // namespace

std::uint64_t stack_of_all_functions(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  RADDLE_ASSERT(static_cast<bool>(file), "an object that LLVM made cannot be read");
  std::uint64_t sum = 0;
  for (const auto& section : (*file)->sections()) {
    if (llvm::cantFail(section.getName()) != ".stack_sizes") continue;
    sum += sum_of(llvm::cantFail(section.getContents()), (*file)->getBytesInAddress());
  }
  RADDLE_ASSERT(sum != 0, "an object says nothing of its functions' stacks");
  return sum;
}

}  // namespace raddle::jit
