// The function around the warps of a block whose kernel stops at barriers: from one barrier to the next.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "jit/block.h"
#include "jit/cta_regions.h"
#include "jit/value.h"

namespace raddle::jit {
namespace {

/// Writes a loop that takes warps as long as the region has some: `State::next` says which, in memory, as
/// other fibers take warps too once the one at hand is suspended. What is counted they need to know at the end
/// alone: nobody asks before all warps are over.
class RegionLoopEmitter {
 public:
  RegionLoopEmitter(llvm::Function& region, const WarpFunctions& kernel)
      : region_(region), ir_(region.getContext()), kernel_(kernel) {
    ir_.SetCurrentDebugLocation(llvm::DILocation::get(region.getContext(), 0, 0, region.getSubprogram()));
  }

  void emit() {
    ir_.SetInsertPoint(new_block("entry"));
    auto* count = load(field(cta(), offsetof(exec::CtaContext, warp_count)));
    count->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir_.getContext(), {}));
    auto* before = ir_.GetInsertBlock();
    auto *head = new_block("warp"), *take = new_block("take"), *run = new_block("run"), *done = new_block("done");
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    auto* over = ir_.CreatePHI(ir_.getInt32Ty(), 3, "over");
    auto* come_to = ir_.CreatePHI(ir_.getInt32Ty(), 3, "come_to");
    auto* warp = load(field(regions(), offsetof(State, next)));
    ir_.CreateCondBr(ir_.CreateICmpULT(warp, count), take, done);

    ir_.SetInsertPoint(take);
    auto* next = ir_.CreateAdd(warp, ir_.getInt32(1));
    ir_.CreateStore(next, field(regions(), offsetof(State, next)));
    auto* number = ir_.CreateZExt(warp, ir_.getInt64Ty());
    auto* place = element(offsetof(State, states), number, sizeof(std::uint32_t));
    auto* state = load(place);
    auto* one_more = ir_.CreateAdd(over, ir_.getInt32(1));
    ir_.CreateCondBr(ir_.CreateICmpNE(state, ir_.getInt32(0)), run, head);

    ir_.SetInsertPoint(run);
    ir_.CreateStore(next, field(cta(), offsetof(exec::CtaContext, running_warp)));
    auto* to = run_warp(number, state);
    ir_.CreateStore(to, place);
    auto* come_to_next = ir_.CreateOr(come_to, to);
    auto* after = ir_.GetInsertBlock();
    ir_.CreateBr(head);
    for (auto [from, counted, states] :
         {std::tuple<llvm::BasicBlock*, llvm::Value*, llvm::Value*>(before, ir_.getInt32(0), ir_.getInt32(0)),
          {take, one_more, come_to}, {after, one_more, come_to_next}}) {
      over->addIncoming(counted, from);
      come_to->addIncoming(states, from);
    }
    ir_.SetInsertPoint(done);
    add(offsetof(State, over), over, llvm::Instruction::Add);
    add(offsetof(State, come_to), come_to, llvm::Instruction::Or);
    ir_.CreateRetVoid();
  }

 private:
  using State = JitExecutable::Regions;

  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, &region_);
  }
  llvm::Value* cta() const { return region_.getArg(0); }
  llvm::Value* regions() const { return region_.getArg(1); }
  llvm::Value* field(llvm::Value* of, std::size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), of, offset);
  }
  llvm::LoadInst* load(llvm::Value* from) { return ir_.CreateLoad(ir_.getInt32Ty(), from); }
  /// Of an array in `State`.
  llvm::Value* element(std::size_t offset, llvm::Value* number, std::size_t size) {
    return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), field(regions(), offset),
                                 ir_.CreateMul(number, ir_.getInt64(size)));
  }
  /// @returns its next state
  llvm::Value* run_warp(llvm::Value* number, llvm::Value* state) {
    auto* context = element(offsetof(State, warps), number, sizeof(exec::WarpContext));
    ir_.CreateStore(ir_.getInt32(0), field(context, offsetof(exec::WarpContext, handed_over)));
    auto* frames = ir_.CreateLoad(ir_.getPtrTy(), field(regions(), offsetof(State, frames)));
    auto* frame = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), frames,
                                        ir_.CreateMul(number, ir_.getInt64(frame_size(kernel_.frame_bytes))));
    auto* begun = ir_.CreateSelect(ir_.CreateICmpEQ(state, ir_.getInt32(kNotBegun)), ir_.getInt32(0), state);
    return ir_.CreateCall(kernel_.by_lanes, {context, frame, begun});
  }
  void add(std::size_t offset, llvm::Value* what, llvm::Instruction::BinaryOps how) {
    auto* place = field(regions(), offset);
    ir_.CreateStore(ir_.CreateBinOp(how, load(place), what), place);
  }

  llvm::Function& region_;
  Builder ir_;
  const WarpFunctions& kernel_;
};

}  // namespace

void emit_region_loop(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel) {
  auto* pointer = llvm::PointerType::get(llvm.getContext(), 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(llvm.getContext()), {pointer, pointer}, false);
  keep_inside(kernel.by_lanes, llvm::Attribute::NoInline);
  RegionLoopEmitter(*function_around(llvm, debug, kRegionName, type), kernel).emit();
}

void join_region_loop(llvm::Module& module) {
  llvm::Function* region = module.getFunction(kRegionName);
  if (region == nullptr || !region->getReturnType()->isVoidTy()) return;
  for (llvm::Instruction& i : llvm::instructions(*region)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    if (call == nullptr) continue;
    llvm::Function* warp = call->getCalledFunction();
    llvm::InlineFunctionInfo info;
    if (llvm::InlineFunction(*call, info).isSuccess() && warp->use_empty()) warp->eraseFromParent();
    return;
  }
}

}  // namespace raddle::jit
