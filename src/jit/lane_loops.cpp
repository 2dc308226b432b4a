#include "jit/lane_loops.h"

#include <llvm/IR/Intrinsics.h>

namespace raddle::jit {

void LaneLoops::for_each(llvm::Value* bits, const Body& body) {
  if (llvm::Value* lane = code_.thread())
    return code_.if_then(ir_.CreateICmpNE(bits, ir_.getInt32(0)), [&] { body(lane); });
  auto* loop = code_.new_block("lane");
  auto* after = code_.new_block("lanes_done");
  auto* before = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateICmpEQ(bits, ir_.getInt32(0)), after, loop);
  ir_.SetInsertPoint(loop);
  auto* left = ir_.CreatePHI(ir_.getInt32Ty(), 2, "left");
  left->addIncoming(bits, before);
  auto* lane = ir_.CreateIntrinsic(llvm::Intrinsic::cttz, {ir_.getInt32Ty()}, {left, ir_.getTrue()});
  body(lane);
  auto* rest = ir_.CreateAnd(left, ir_.CreateSub(left, ir_.getInt32(1)));
  left->addIncoming(rest, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpEQ(rest, ir_.getInt32(0)), after, loop);
  ir_.SetInsertPoint(after);
}

void LaneLoops::for_each_marked(llvm::Value* bits, const Body& body) {
  if (code_.thread()) return for_each(bits, body);  // which is marked
  for_each(bits, [&](llvm::Value* lane) {
    context_.mark_lane(lane);
    body(lane);
  });
  context_.mark_lane(nullptr);
}

void LaneLoops::for_one_marked(llvm::Value* lane, const std::function<void()>& body) {
  context_.mark_lane(lane);
  body();
  context_.mark_lane(nullptr);
}

void LaneLoops::for_each_unrolled(llvm::Value* bits, const Body& body) {
  if (code_.thread()) return for_each(bits, body);
  constexpr unsigned kAtOnce = 4;
  auto* loop = code_.new_block("lanes");
  auto* some = code_.new_block("some");
  auto* after = code_.new_block("lanes_done");
  auto* before = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateICmpEQ(bits, ir_.getInt32(0xffffffff)), loop, some);
  ir_.SetInsertPoint(loop);
  auto* first = ir_.CreatePHI(ir_.getInt32Ty(), 2, "first");
  first->addIncoming(ir_.getInt32(0), before);
  context_.mark_lane(first);  // once for all of them: which it is, the place in the code says
  for (unsigned k = 0; k < kAtOnce; ++k) {
    code_.at_lanes({k, 1});
    body(ir_.CreateAdd(first, ir_.getInt32(k), "", true, true));
  }
  code_.at_lanes({});
  auto* next = ir_.CreateAdd(first, ir_.getInt32(kAtOnce), "", true, true);
  first->addIncoming(next, ir_.GetInsertBlock());
  auto* again = ir_.CreateCondBr(ir_.CreateICmpEQ(next, ir_.getInt32(exec::kWarpSize)), after, loop);
  // Processors predict by instruction whether a load has to wait for an earlier store; with one instruction
  // per lane they learn it badly (measured on Zen 4: the shared atomics of a histogram took five times as
  // long).
  auto* disable =
      llvm::MDNode::get(ir_.getContext(), llvm::MDString::get(ir_.getContext(), "llvm.loop.unroll.disable"));
  auto* properties = llvm::MDNode::getDistinct(ir_.getContext(), {nullptr, disable});
  properties->replaceOperandWith(0, properties);
  again->setMetadata(llvm::LLVMContext::MD_loop, properties);
  ir_.SetInsertPoint(some);
  for_each(bits, [&](llvm::Value* lane) {
    context_.mark_lane(lane);
    body(lane);
  });
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  context_.mark_lane(nullptr);
}

void LaneLoops::for_all_marked(const std::function<void(unsigned lane)>& body) {
  context_.mark_lane(ir_.getInt32(0));  // from which accesses count theirs
  for (unsigned lane = 0; lane < exec::kWarpSize; ++lane) {
    code_.at_lanes({lane, 1});
    body(lane);
  }
  code_.at_lanes({});
  context_.mark_lane(nullptr);
}

}  // namespace raddle::jit
