// Modules of LLVM's as bytes, on their way from one context to another.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

namespace raddle::jit {

std::string bitcode_of(const llvm::Module& module);
/// @param bitcode  written by this process: once LLVM is initialised (host.h), nothing checks it
std::unique_ptr<llvm::Module> module_of(const std::string& bitcode, llvm::LLVMContext& context);

}  // namespace raddle::jit
