#include "jit/lane_loops.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <utility>

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

void LaneLoops::join_next(Access access, llvm::Value* safe) {
  joined_.push_back({code_.line(), std::move(access), safe});
}

/// Of `lanes` lanes. What the accesses need is read before any is made: a load behind a store whose address
/// is just computed waits to learn whether it is the same (measured on Zen 4).
void LaneLoops::emit(const std::vector<Joined>& all, llvm::Value* first, unsigned lanes) {
  struct Ready {
    std::uint32_t line;
    LaneRun place;
    std::function<void()> access;
  };
  std::vector<Ready> ready;
  for (unsigned k = 0; k < lanes; ++k) {
    auto* lane = k == 0 ? first : ir_.CreateAdd(first, ir_.getInt32(k), "", true, true);
    for (const Joined& one : all) ready.push_back({one.line, {k, 1}, one.access(lane)});
  }
  for (const Ready& one : ready) {
    code_.at_line(one.line, one.place);
    one.access();
  }
  code_.at_line(all.back().line);
}

void LaneLoops::for_each_unrolled(llvm::Value* bits, const Body& body) {
  for_each_joined(bits, [&](llvm::Value* lane) { return [&body, lane] { body(lane); }; });
}

void LaneLoops::for_each_joined(llvm::Value* bits, const Access& access, llvm::Value* safe) {
  if (code_.thread()) return for_each(bits, [&](llvm::Value* lane) { access(lane)(); });
  join_next(access, safe);
  const std::vector<Joined> all = std::exchange(joined_, {});
  const bool may_fault = std::ranges::any_of(all, [](const Joined& one) { return one.safe == nullptr; });
  const unsigned at_once = may_fault ? 4 : 8;  // accesses a turn: more are slower, and so are fewer
  const unsigned lanes_at_once = std::max(1u, at_once / static_cast<unsigned>(std::bit_ceil(all.size())));
  auto* loop = code_.new_block("lanes");
  auto* some = code_.new_block("some");
  auto* after = code_.new_block("lanes_done");
  auto* before = ir_.GetInsertBlock();
  llvm::Value* whole = ir_.CreateICmpEQ(bits, ir_.getInt32(0xffffffff));
  if (!may_fault)
    for (const Joined& one : all) whole = ir_.CreateAnd(whole, one.safe);
  ir_.CreateCondBr(whole, loop, some);
  ir_.SetInsertPoint(loop);
  auto* first = ir_.CreatePHI(ir_.getInt32Ty(), 2, "first");
  first->addIncoming(ir_.getInt32(0), before);
  if (may_fault) context_.mark_lane(first);  // once for all of them: which it is, the place in the code says
  emit(all, first, lanes_at_once);
  auto* next = ir_.CreateAdd(first, ir_.getInt32(lanes_at_once), "", true, true);
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
    emit(all, lane, 1);
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
