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

/// Writes the function around the warps of a block.
class BlockEmitter {
 public:
  BlockEmitter(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel)
      : context_(llvm.getContext()), ir_(context_), kernel_(kernel) {
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt32Ty()}, false);
    block_ = function(llvm, debug, "block", type);
    ir_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 0, 0, block_->getSubprogram()));
  }

  void emit() {
    if (kernel_.together) keep_inside(kernel_.by_lanes, llvm::Attribute::NoInline);
    keep_inside(kernel_.together ? kernel_.together : kernel_.by_lanes, llvm::Attribute::AlwaysInline);
    ir_.SetInsertPoint(new_block("entry"));
    prepare();
    if (kernel_.goes_on)
      over_ctas();
    else
      over_warps();
    ir_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, block_); }
  llvm::Value* warp_field(std::size_t offset, unsigned number = 0) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), warp_,
                                          number * sizeof(exec::WarpContext) + offset);
  }
  llvm::Value* cta_field(std::size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), block_->getArg(0), offset);
  }
  llvm::LoadInst* load(std::size_t offset) { return ir_.CreateLoad(ir_.getInt32Ty(), cta_field(offset)); }
  llvm::LoadInst* load_constant(std::size_t offset) {
    auto* loaded = load(offset);
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return loaded;
  }

  /// A loop that counts from `first` on, as long as the body's value holds.
  template <class Body>
  void repeat(const char* name, llvm::Value* first, unsigned step, const Body& body) {
    auto* before = ir_.GetInsertBlock();
    auto* head = new_block(name);
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    auto* number = ir_.CreatePHI(ir_.getInt32Ty(), 2, "index");
    number->addIncoming(first, before);
    auto* next = ir_.CreateAdd(number, ir_.getInt32(step));
    llvm::Value* goes_on = body(number, next);
    number->addIncoming(next, ir_.GetInsertBlock());
    auto* after = new_block("done");
    ir_.CreateCondBr(goes_on, head, after);
    ir_.SetInsertPoint(after);
  }

  /// Variables, and what is the same for all warps.
  void prepare() {
    const unsigned together = kernel_.warps;
    warp_ = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getInt8Ty(), together * sizeof(exec::WarpContext)),
                             nullptr, "warp");
    warp_->setAlignment(
        llvm::Align(64));  // a cache line: elsewhere the frame around it costs loops up to a fifth
    if (kernel_.together) {
      frames_ = ir_.CreateAlloca(
          llvm::ArrayType::get(ir_.getInt8Ty(), std::uint64_t{together} * kernel_.frame_bytes), nullptr,
          "frames");
      frames_->setAlignment(llvm::Align(64));
    }
    for (unsigned w = 0; w < together; ++w) {
      ir_.CreateMemSet(warp_field(0, w), ir_.getInt8(0), offsetof(exec::WarpContext, dynamic_stack),
                       llvm::Align(8));
      ir_.CreateStore(block_->getArg(0), warp_field(offsetof(exec::WarpContext, cta), w));
    }
    warps_ = load_constant(offsetof(exec::CtaContext, warp_count));
    threads_ = load_constant(offsetof(exec::CtaContext, thread_count));
    first_x_ = load(offsetof(exec::CtaContext, ctaid));
    x_ = first_x_;
    if (!kernel_.goes_on) return;
    following_ = load(offsetof(exec::CtaContext, following));
    first_sm_ = load(offsetof(exec::CtaContext, smid));
    sm_step_ = load(offsetof(exec::CtaContext, smid_step));
  }

  /// The CTA so many behind the first. What says where the code is stands in memory, for faults.
  void at_cta(llvm::Value* number) {
    x_ = ir_.CreateAdd(first_x_, number);
    ir_.CreateStore(x_, cta_field(offsetof(exec::CtaContext, ctaid)));
    ir_.CreateStore(ir_.CreateAdd(first_sm_, ir_.CreateMul(number, sm_step_)),
                    cta_field(offsetof(exec::CtaContext, smid)));
    ir_.CreateStore(ir_.CreateSub(following_, number), cta_field(offsetof(exec::CtaContext, following)));
  }

  /// Whether the machine does not want to look at what runs.
  llvm::Value* nobody_asks() {
    auto* poll = ir_.CreateLoad(ir_.getPtrTy(), cta_field(offsetof(exec::CtaContext, poll)));
    poll->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    auto* polled = ir_.CreateAlignedLoad(ir_.getInt32Ty(), poll, llvm::Align(4), "polled");
    polled->setAtomic(llvm::AtomicOrdering::Monotonic);
    return ir_.CreateICmpEQ(polled, ir_.getInt32(0));
  }

  /// CTA after CTA.
  void over_ctas() {
    repeat("cta", ir_.getInt32(0), 1, [&](llvm::Value* number, llvm::Value* next) {
      at_cta(number);
      over_warps();
      return ir_.CreateAnd(ir_.CreateICmpULE(next, following_), nobody_asks());
    });
  }

  /// The warps of a CTA from the function's argument on. Once the machine has suspended a warp, those behind
  /// it are another fiber's.
  void over_warps() {
    repeat("warp", block_->getArg(1), kernel_.warps, [&](llvm::Value* index, llvm::Value* next) {
      at_warps(index);
      return ir_.CreateAnd(ir_.CreateICmpULT(next, warps_), run_warps());
    });
  }

  /// Warps `index` to `index` + warps - 1 are to run.
  void at_warps(llvm::Value* index) {
    auto* left = ir_.CreateSub(threads_, ir_.CreateShl(index, 5));
    auto* partial =
        ir_.CreateSub(ir_.CreateShl(ir_.getInt32(1), ir_.CreateAnd(left, ir_.getInt32(31))), ir_.getInt32(1));
    llvm::Value* lanes = ir_.CreateSelect(ir_.CreateICmpUGE(left, ir_.getInt32(exec::kWarpSize)),
                                          ir_.getInt32(0xffffffff), partial);
    if (kernel_.warps > 1) lanes = ir_.getInt32(0xffffffff);  // of full warps only
    for (unsigned w = 0; w < kernel_.warps; ++w) {
      ir_.CreateStore(ir_.CreateAdd(index, ir_.getInt32(w)),
                      warp_field(offsetof(exec::WarpContext, warp_id), w));
      ir_.CreateStore(x_, warp_field(offsetof(exec::WarpContext, ctaid_x), w));
      for (const std::size_t set :
           {offsetof(exec::WarpContext, initial_lanes), offsetof(exec::WarpContext, live_lanes)})
        ir_.CreateStore(lanes, warp_field(set, w));
    }
    ir_.CreateStore(ir_.CreateAdd(index, ir_.getInt32(1)),
                    cta_field(offsetof(exec::CtaContext, running_warp)));
  }

  /// @returns whether those behind them are still to be run here. Where a warp cannot be suspended nothing
  /// stores the word that says so, and LLVM drops the test
  llvm::Value* run_warps() {
    auto* handed_over = warp_field(offsetof(exec::WarpContext, handed_over), kernel_.warps - 1);
    if (!kernel_.together) {
      ir_.CreateCall(kernel_.by_lanes, {warp_});
      return ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt32Ty(), handed_over), ir_.getInt32(0));
    }
    ir_.CreateStore(ir_.getInt32(0), handed_over);  // a warp that had parted has set it
    auto* state = ir_.CreateCall(kernel_.together, {warp_, frames_, ir_.getInt32(0)});
    auto* alone = ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt32Ty(), handed_over), ir_.getInt32(0));
    auto *apart = new_block("apart"), *after = new_block("after");
    ir_.CreateCondBr(ir_.CreateICmpEQ(state, ir_.getInt32(0)), after, apart,
                     llvm::MDBuilder(context_).createLikelyBranchWeights());
    ir_.SetInsertPoint(apart);
    emit_parted(ir_, kernel_, warp_, frames_, ir_.CreateAnd(state, ir_.getInt32(~kParted)));
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
    return alone;
  }

  llvm::LLVMContext& context_;
  Builder ir_;
  const WarpFunctions& kernel_;
  llvm::Function* block_;
  llvm::AllocaInst *warp_ = nullptr, *frames_ = nullptr;
  llvm::Value *warps_ = nullptr, *threads_ = nullptr;
  llvm::Value *first_x_ = nullptr, *x_ = nullptr;  // of the first CTA, of the one that runs
  llvm::Value *following_ = nullptr, *first_sm_ = nullptr, *sm_step_ = nullptr;
};

}  // namespace

void emit_block_function(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel) {
  BlockEmitter(llvm, debug, kernel).emit();
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
