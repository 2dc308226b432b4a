#include "jit/block.h"

#include <llvm/IR/MDBuilder.h>

#include "exec/executable.h"
#include "jit/executable.h"
#include "jit/value.h"

namespace raddle::jit {
namespace {

llvm::Function* function(llvm::Module& llvm, DebugLines& debug, const char* name, llvm::FunctionType* type) {
  auto* made = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, llvm);
  made->addFnAttr(llvm::Attribute::NullPointerIsValid);
  made->setSubprogram(debug.subprogram(name, 0));
  return made;
}

void keep_inside(llvm::Function* function, llvm::Attribute::AttrKind inlining) {
  function->setLinkage(llvm::Function::InternalLinkage);
  function->addFnAttr(inlining);
}

/// Runs warps that have parted, one by one, on this fiber alone: those behind them are begun, too.
void emit_parted(Builder& ir, const WarpFunctions& kernel, llvm::Value* warps, llvm::Value* frames,
                 llvm::Value* state) {
  for (unsigned w = 0; w < kernel.warps; ++w) {
    auto* warp = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warps, w * sizeof(exec::WarpContext));
    auto* frame =
        ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), frames, std::uint64_t{w} * kernel.frame_bytes);
    ir.CreateStore(ir.getInt32(1), ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp,
                                                                 offsetof(exec::WarpContext, handed_over)));
    ir.CreateCall(kernel.by_lanes, {warp, frame, state});
  }
}

}  // namespace

void emit_block_function(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel) {
  const unsigned together = kernel.warps;
  auto& context = llvm.getContext();
  Builder ir(context);
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getInt32Ty()}, false);
  auto* block = function(llvm, debug, "block", type);
  ir.SetCurrentDebugLocation(llvm::DILocation::get(context, 0, 0, block->getSubprogram()));
  llvm::Function* likely = kernel.together ? kernel.together : kernel.by_lanes;
  if (kernel.together) keep_inside(kernel.by_lanes, llvm::Attribute::NoInline);
  keep_inside(likely, llvm::Attribute::AlwaysInline);
  auto* entry = llvm::BasicBlock::Create(context, "entry", block);
  auto* loop = llvm::BasicBlock::Create(context, "warp", block);
  auto* done = llvm::BasicBlock::Create(context, "done", block);
  ir.SetInsertPoint(entry);
  auto* warp = ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), together * sizeof(exec::WarpContext)),
                               nullptr, "warp");
  llvm::AllocaInst* frames = nullptr;
  if (kernel.together) {
    frames =
        ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), std::uint64_t{together} * kernel.frame_bytes),
                        nullptr, "frames");
    frames->setAlignment(llvm::Align(64));
  }
  warp->setAlignment(
      llvm::Align(64));  // a cache line: elsewhere the frame around it costs loops up to a fifth
  auto field = [&](std::size_t offset, unsigned number = 0) {
    return ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), warp, number * sizeof(exec::WarpContext) + offset);
  };
  auto cta_field = [&](std::size_t offset) {
    auto* load = ir.CreateLoad(ir.getInt32Ty(),
                               ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block->getArg(0), offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
    return load;
  };
  for (unsigned w = 0; w < together; ++w) {
    ir.CreateMemSet(field(0, w), ir.getInt8(0), offsetof(exec::WarpContext, dynamic_stack), llvm::Align(8));
    ir.CreateStore(block->getArg(0), field(offsetof(exec::WarpContext, cta), w));
  }
  auto* handed_over = field(offsetof(exec::WarpContext, handed_over), together - 1);
  auto* warps = cta_field(offsetof(exec::CtaContext, warp_count));
  auto* threads = cta_field(offsetof(exec::CtaContext, thread_count));
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  auto* index = ir.CreatePHI(ir.getInt32Ty(), 2, "index");
  index->addIncoming(block->getArg(1), entry);
  for (unsigned w = 0; w < together; ++w)
    ir.CreateStore(ir.CreateAdd(index, ir.getInt32(w)), field(offsetof(exec::WarpContext, warp_id), w));
  auto* left = ir.CreateSub(threads, ir.CreateShl(index, 5));
  auto* partial =
      ir.CreateSub(ir.CreateShl(ir.getInt32(1), ir.CreateAnd(left, ir.getInt32(31))), ir.getInt32(1));
  llvm::Value* lanes =
      ir.CreateSelect(ir.CreateICmpUGE(left, ir.getInt32(exec::kWarpSize)), ir.getInt32(0xffffffff), partial);
  if (together > 1) lanes = ir.getInt32(0xffffffff);  // of full warps only
  for (unsigned w = 0; w < together; ++w)
    for (const std::size_t set :
         {offsetof(exec::WarpContext, initial_lanes), offsetof(exec::WarpContext, live_lanes)})
      ir.CreateStore(lanes, field(set, w));
  auto* next = ir.CreateAdd(index, ir.getInt32(together));
  ir.CreateStore(ir.CreateAdd(index, ir.getInt32(1)),
                 ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), block->getArg(0),
                                               offsetof(exec::CtaContext, running_warp)));
  if (kernel.together) ir.CreateStore(ir.getInt32(0), handed_over);  // a warp that had parted has set it
  llvm::Value* state = nullptr;
  if (kernel.together)
    state = ir.CreateCall(kernel.together, {warp, frames, ir.getInt32(0)});
  else
    ir.CreateCall(kernel.by_lanes, {warp});
  // Once the machine has suspended a warp, those behind it are another fiber's. Where a warp cannot be
  // suspended nothing stores this word, and LLVM drops the test.
  auto* alone = ir.CreateICmpEQ(ir.CreateLoad(ir.getInt32Ty(), handed_over), ir.getInt32(0));
  if (kernel.together) {
    auto* apart = llvm::BasicBlock::Create(context, "apart", block);
    auto* after = llvm::BasicBlock::Create(context, "after", block);
    ir.CreateCondBr(ir.CreateICmpEQ(state, ir.getInt32(0)), after, apart,
                    llvm::MDBuilder(context).createLikelyBranchWeights());
    ir.SetInsertPoint(apart);
    emit_parted(ir, kernel, warp, frames, ir.CreateAnd(state, ir.getInt32(~kParted)));
    ir.CreateBr(after);
    ir.SetInsertPoint(after);
  }
  index->addIncoming(next, ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateAnd(ir.CreateICmpULT(next, warps), alone), loop, done);
  ir.SetInsertPoint(done);
  ir.CreateRetVoid();
}

void emit_region_function(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel) {
  auto& context = llvm.getContext();
  Builder ir(context);
  auto* region = function(llvm, debug, "region", kernel.by_lanes->getFunctionType());
  ir.SetCurrentDebugLocation(llvm::DILocation::get(context, 0, 0, region->getSubprogram()));
  auto* entry = llvm::BasicBlock::Create(context, "entry", region);
  auto* alone = llvm::BasicBlock::Create(context, "alone", region);
  auto* together = llvm::BasicBlock::Create(context, "together", region);
  ir.SetInsertPoint(entry);
  auto* state = ir.CreateAnd(region->getArg(2), ir.getInt32(~kTogether));
  ir.CreateCondBr(ir.CreateICmpEQ(state, region->getArg(2)), alone, together);
  for (auto [block, form] : {std::pair(alone, kernel.by_lanes), std::pair(together, kernel.together)}) {
    keep_inside(form, llvm::Attribute::NoInline);
    ir.SetInsertPoint(block);
    auto* call = ir.CreateCall(form, {region->getArg(0), region->getArg(1), state});
    call->setTailCallKind(llvm::CallInst::TCK_Tail);
    ir.CreateRet(call);
  }
}

}  // namespace raddle::jit
