// Calls, by the rules of System V: six arguments in registers, the others on the stack. What is alive is
// stored first.
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

void Selector::visitCallInst(llvm::CallInst& i) {
  if (const auto* text = llvm::dyn_cast<llvm::InlineAsm>(i.getCalledOperand())) {
    // What keeps LLVM from moving or forgetting accesses, which this generator does not do.
    if (!text->getAsmString().empty() || !i.getType()->isVoidTy()) cannot(i);
    return;
  }
  std::vector<const llvm::Value*> arguments(i.arg_begin(), i.arg_end());
  const llvm::Function* function = i.getCalledFunction();
  if (function && function->isVarArg()) return cannot(i);
  call(i, i.getCalledOperand(), function && function->isDeclaration() ? function->getName() : "", arguments);
}

void Selector::call(llvm::CallBase& i, const llvm::Value* callee, llvm::StringRef symbol,
                    llvm::ArrayRef<const llvm::Value*> arguments) {
  for (const llvm::Value* argument : arguments) {
    const auto kind = shape_of(argument->getType());
    if (!kind || kind->kind != Class::general) return cannot(i);
  }
  const auto result = shape_of(i.getType());
  if (!i.getType()->isVoidTy() && (!result || result->kind != Class::general)) return cannot(i);
  std::uint32_t kept = kept_by(i.getCallingConv());
  for (unsigned n = 0; n < std::min<std::size_t>(kArgumentsInRegisters, arguments.size()); ++n)
    kept &= ~(1u << kArgumentRegisters[n]);
  places_.before_call(kept);
  for (unsigned n = kArgumentsInRegisters; n < arguments.size(); ++n) {
    load_general(kScratch, arguments[n]);
    a_.mov(x86::ptr(x86::rsp, static_cast<std::int32_t>(8 * (n - kArgumentsInRegisters))), kScratch);
  }
  const auto* function = llvm::dyn_cast_or_null<llvm::Function>(callee);
  const bool is_indirect = callee && !function;
  if (is_indirect) load_general(kScratch, callee);
  for (unsigned n = 0; n < std::min<std::size_t>(kArgumentsInRegisters, arguments.size()); ++n) {
    const x86::Gp to = general_register(kArgumentRegisters[n], 64);
    load_general(to, arguments[n]);
    // Narrow arguments are extended by whoever calls, as C's compilers expect.
    const unsigned bits = shape(arguments[n]).element_bits;
    if (bits == 8) a_.movzx(to.r32(), to.r8());
    if (bits == 16) a_.movzx(to.r32(), to.r16());
  }
  if (!symbol.empty() || !function) a_.vzeroupper();
  if (is_indirect)
    a_.call(kScratch);
  else if (!symbol.empty())
    a_.call(code_.address_of(symbol));
  else
    a_.call(code_.label_of(*function));
  places_.after_call();
  if (i.getType()->isVoidTy() || i.use_empty()) return;
  const x86::Gp to = define_general(&i, 64);
  a_.mov(to, kScratch);
  if (result->element_bits == 1) a_.and_(to.r32(), 1);
}

}  // namespace raddle::jit::baseline
