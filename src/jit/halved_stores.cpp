#include "jit/halved_stores.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "jit/baseline/flow.h"

namespace raddle::jit {
namespace {

constexpr std::uint64_t kHandedOn = 32;  ///< bytes

/// What is done to a variable.
struct VariableUses {
  std::vector<llvm::StoreInst*> long_stores;
  bool by_lane = false;    ///< some load is short, and waited for
  bool by_vector = false;  ///< some load reaches over halves
};

/// The machine is called, which takes longer than what is loaded: a lane's request, a fault.
bool calls_machine(const llvm::BasicBlock& block) {
  return std::ranges::any_of(block, [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    return call && call->isIndirectCall();
  });
}

/// The branch that leads there says so.
bool hardly_runs(const llvm::BasicBlock& block) {
  const llvm::BasicBlock* before = block.getSinglePredecessor();
  if (before == nullptr) return false;
  const llvm::Instruction& branch = *before->getTerminator();
  for (unsigned n = 0; n < branch.getNumSuccessors(); ++n)
    if (branch.getSuccessor(n) == &block) return baseline::is_unlikely(branch, n);
  return false;
}

void collect_uses(llvm::Value& pointer, const llvm::DataLayout& layout, VariableUses& uses) {
  for (llvm::User* user : pointer.users()) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      const bool is_short = layout.getTypeStoreSize(load->getType()).getFixedValue() < kHandedOn;
      if (!is_short)
        uses.by_vector = true;
      else if (!calls_machine(*load->getParent()))
        uses.by_lane = true;
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
      const llvm::Type* type = store->getValueOperand()->getType();
      if (store->getPointerOperand() == &pointer && store->isSimple() && type->isVectorTy() &&
          layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue() > kHandedOn &&
          !hardly_runs(*store->getParent()))
        uses.long_stores.push_back(store);
    } else if (auto* part = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
      collect_uses(*part, layout, uses);
    }
  }
}

/// In pieces of 32 bytes, which are volatile lest LLVM join them again.
void store_by_halves(llvm::StoreInst& store, const llvm::DataLayout& layout) {
  llvm::IRBuilder<> ir(&store);
  llvm::Value* vector = store.getValueOperand();
  auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  const auto lanes = static_cast<int>(kHandedOn / layout.getTypeStoreSize(type->getElementType()));
  for (int first = 0; first < static_cast<int>(type->getNumElements()); first += lanes) {
    std::vector<int> piece(static_cast<std::size_t>(lanes));
    std::iota(piece.begin(), piece.end(), first);
    llvm::Value* place = store.getPointerOperand();
    if (first != 0)
      place = ir.CreateConstGEP1_32(type->getElementType(), place, static_cast<unsigned>(first));
    ir.CreateAlignedStore(ir.CreateShuffleVector(vector, piece), place,
                          std::min(store.getAlign(), llvm::Align(kHandedOn)), true);
  }
  store.eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses HalveStores::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const llvm::DataLayout& layout = function.getDataLayout();
  VariableUses halved;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    if (!llvm::isa<llvm::AllocaInst>(i)) continue;
    VariableUses uses;
    collect_uses(i, layout, uses);
    if (uses.by_lane && !uses.by_vector)
      halved.long_stores.insert(halved.long_stores.end(), uses.long_stores.begin(), uses.long_stores.end());
  }
  for (llvm::StoreInst* store : halved.long_stores) store_by_halves(*store, layout);
  if (halved.long_stores.empty()) return llvm::PreservedAnalyses::all();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
