#include "jit/bitcode.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/raw_ostream.h>

#include "base/assert.h"

namespace raddle::jit {

std::string bitcode_of(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

std::unique_ptr<llvm::Module> module_of(const std::string& bitcode, llvm::LLVMContext& context) {
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernel"), context);
  RADDLE_ASSERT(static_cast<bool>(module), "bitcode written a moment ago cannot be read");
  return std::move(*module);
}

}  // namespace raddle::jit
