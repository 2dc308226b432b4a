#include "jit/block.h"

#include "exec/executable.h"
#include "jit/value.h"

namespace raddle::jit {
void emit_block_function(llvm::Module& llvm, DebugLines& debug, llvm::Function* warp_function) {
  auto& context = llvm.getContext();
  Builder ir(context);
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getInt32Ty()}, false);
  auto* block = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "block", llvm);
  block->addFnAttr(llvm::Attribute::NullPointerIsValid);
  block->setSubprogram(debug.subprogram("block", 0));
  ir.SetCurrentDebugLocation(llvm::DILocation::get(context, 0, 0, block->getSubprogram()));
  warp_function->setLinkage(llvm::Function::InternalLinkage);
  warp_function->addFnAttr(llvm::Attribute::AlwaysInline);
  auto* entry = llvm::BasicBlock::Create(context, "entry", block);
  auto* loop = llvm::BasicBlock::Create(context, "warp", block);
  auto* done = llvm::BasicBlock::Create(context, "done", block);
  ir.SetInsertPoint(entry);
  auto* warp =
      ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), sizeof(exec::WarpContext)), nullptr, "warp");
  warp->setAlignment(
      llvm::Align(64));  // a cache line: elsewhere the frame around it costs loops up to a fifth
  auto field = [&](std::size_t offset) {
    return ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp, offset);
  };
  auto cta_field = [&](std::size_t offset) {
    auto* load = ir.CreateLoad(ir.getInt32Ty(),
                               ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block->getArg(0), offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    return load;
  };
  ir.CreateMemSet(warp, ir.getInt8(0), offsetof(exec::WarpContext, dynamic_stack), llvm::Align(8));
  ir.CreateStore(block->getArg(0), field(offsetof(exec::WarpContext, cta)));
  auto* handed_over = field(offsetof(exec::WarpContext, handed_over));
  auto* warps = cta_field(offsetof(exec::CtaContext, warp_count));
  auto* threads = cta_field(offsetof(exec::CtaContext, thread_count));
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  auto* index = ir.CreatePHI(ir.getInt32Ty(), 2, "index");
  index->addIncoming(block->getArg(1), entry);
  ir.CreateStore(index, field(offsetof(exec::WarpContext, warp_id)));
  auto* left = ir.CreateSub(threads, ir.CreateShl(index, 5));
  auto* partial =
      ir.CreateSub(ir.CreateShl(ir.getInt32(1), ir.CreateAnd(left, ir.getInt32(31))), ir.getInt32(1));
  auto* lanes =
      ir.CreateSelect(ir.CreateICmpUGE(left, ir.getInt32(exec::kWarpSize)), ir.getInt32(0xffffffff), partial);
  ir.CreateStore(lanes, field(offsetof(exec::WarpContext, initial_lanes)));
  ir.CreateStore(lanes, field(offsetof(exec::WarpContext, live_lanes)));
  auto* next = ir.CreateAdd(index, ir.getInt32(1));
  ir.CreateStore(next, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block->getArg(0),
                                                     offsetof(exec::CtaContext, running_warp)));
  ir.CreateCall(warp_function, {warp});
  index->addIncoming(next, loop);
  // Once the machine has suspended a warp, those behind it are another fiber's. Where a warp cannot be
  // suspended nothing stores this word, and LLVM drops the test.
  auto* alone = ir.CreateICmpEQ(ir.CreateLoad(ir.getInt32Ty(), handed_over), ir.getInt32(0));
  ir.CreateCondBr(ir.CreateAnd(ir.CreateICmpULT(next, warps), alone), loop, done);
  ir.SetInsertPoint(done);
  ir.CreateRetVoid();
}

}  // namespace raddle::jit
