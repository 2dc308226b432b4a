#include "jit/carried_loop.h"

namespace raddle::jit {

std::vector<llvm::Value*> carried_loop(Builder& ir, llvm::Value* first, unsigned end,
                                       std::vector<llvm::Value*> carried, const LoopBody& body) {
  auto* const before = ir.GetInsertBlock();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(ir.getContext(), name, before->getParent());
  };
  auto *head = block("turn"), *after = block("after");
  ir.CreateBr(head);
  ir.SetInsertPoint(head);
  auto* turn = ir.CreatePHI(ir.getInt32Ty(), 2);
  turn->addIncoming(first, before);
  std::vector<llvm::PHINode*> phis;
  for (auto*& value : carried) {
    phis.push_back(ir.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  std::vector<llvm::Value*> next = body(turn, std::move(carried));
  auto* const back = ir.GetInsertBlock();
  auto* const following = ir.CreateAdd(turn, ir.getInt32(1));
  turn->addIncoming(following, back);
  for (std::size_t n = 0; n < phis.size(); ++n) phis[n]->addIncoming(next[n], back);
  ir.CreateCondBr(ir.CreateICmpULT(following, ir.getInt32(end)), head, after);
  ir.SetInsertPoint(after);
  return next;
}

}  // namespace raddle::jit
