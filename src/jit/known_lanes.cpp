#include "jit/known_lanes.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>

namespace raddle::jit {
namespace {

/// Accessed at known places alone.
bool is_known(const llvm::Value& address) {
  return std::ranges::all_of(address.users(), [&](const llvm::User* user) {
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user))
      return store->getValueOperand() != &address && store->isSimple();
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) return load->isSimple();
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) return call->isLifetimeStartOrEnd();
    const auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
    return place != nullptr && place->hasAllConstantIndices() && is_known(*place);
  });
}

/// Lanes in memory, of which a known one is read.
bool is_read_at_known(const llvm::Instruction& i) {
  const auto* lanes = llvm::dyn_cast<llvm::AllocaInst>(&i);
  return lanes != nullptr && lanes->getAllocatedType()->isArrayTy() && !lanes->use_empty() &&
         is_known(*lanes);
}

}  // namespace

llvm::PreservedAnalyses KnownLanes::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.empty() || std::ranges::none_of(function.getEntryBlock(), is_read_at_known))
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved = llvm::SROAPass(llvm::SROAOptions::PreserveCFG).run(function, analyses);
  analyses.invalidate(function, preserved);
  preserved.intersect(llvm::InstCombinePass().run(function, analyses));
  return preserved;
}

}  // namespace raddle::jit
