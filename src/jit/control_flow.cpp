#include "jit/control_flow.h"

namespace raddle::jit {

ControlFlow::ControlFlow(FunctionBuilder& code, const Cursor& cursor, const Stream& stream)
    : code_(code),
      ir_(code.ir),
      cursor_(cursor),
      plan_(cursor.plan),
      stream_(stream),
      blocks_(cursor.function.blocks.size()),
      whole_(cursor.function.blocks.size()),
      takes_whole_(cursor.function.blocks.size()) {}

void ControlFlow::prepare(BlockId b) {
  const std::string& label = cursor_.function.blocks[b].label;
  blocks_[b] = code_.new_block(label.empty() ? "b" : label.c_str());
}

llvm::Value* ControlFlow::any_waiting_at(BlockId b) {
  Mask waiting = stream_[0].masks.waiting_at(b);
  for (std::size_t w = 1; w < stream_.size(); ++w) {
    const Mask more = stream_[w].masks.waiting_at(b);
    for (unsigned p = 0; p < code_.parts(); ++p) waiting[p] = ir_.CreateOr(waiting[p], more[p]);
  }
  return stream_[0].masks.any(waiting);
}

void ControlFlow::go(const std::vector<BlockId>& set) {
  for (const Target& t : plan_.targets(cursor_.block, set)) {
    auto* arrive = t.backward ? back_edge_to(t.block) : blocks_[t.block];
    if (!t.tested) {
      ir_.CreateBr(arrive);
      return;
    }
    auto* next = code_.new_block("next");
    ir_.CreateCondBr(any_waiting_at(t.block), arrive, next);
    ir_.SetInsertPoint(next);
  }
  ir_.CreateBr(code_.exit());
}

void ControlFlow::go_to(BlockId target) {
  const bool is_forward = plan_.order.position[target] > plan_.order.position[cursor_.block];
  if (takes_whole_[target] && is_forward && plan_.pending_behind(cursor_.block).empty()) {
    if (whole_[target] == nullptr) whole_[target] = code_.new_block("whole");
    ir_.CreateBr(whole_[target]);
    return;
  }
  for (const StreamWarp& warp : stream_) warp.masks.add_waiting(target, warp.masks.active());
  go(plan_.with(cursor_.block, {target}));
}

void ControlFlow::join_whole(llvm::BasicBlock* checked) {
  auto *whole = whole_[cursor_.block], *here = ir_.GetInsertBlock();
  if (whole == nullptr) return;
  Masks& masks = stream_[0].masks;
  ir_.SetInsertPoint(whole);
  const Mask all = masks.from_bits(masks.inside());
  ir_.CreateBr(here);
  ir_.SetInsertPoint(here);
  Mask lanes;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* either = ir_.CreatePHI(all[p]->getType(), 2);
    either->addIncoming(masks.active()[p], checked);
    either->addIncoming(all[p], whole);
    lanes.push_back(either);
  }
  masks.set_active(lanes);
}

/// On the way back the machine is asked whether to go on; a loop that waits for others lets them run. The
/// last warp asks: should it be suspended, those behind it may run.
llvm::BasicBlock* ControlFlow::back_edge_to(BlockId target) {
  auto* back = code_.new_block("back");
  auto at = ir_.saveIP();
  ir_.SetInsertPoint(back);
  stream_.back().context.poll();
  if (plan_.order.waiting_header[target]) yield_sometimes();
  ir_.CreateBr(blocks_[target]);
  ir_.restoreIP(at);
  return back;
}

void ControlFlow::yield_sometimes() {
  auto* i32 = ir_.getInt32Ty();
  if (!spin_counter_) {
    spin_counter_ = code_.entry_alloca(i32, "spins");
    code_.begin_as_zero(spin_counter_, i32);
  }
  auto* spins = ir_.CreateAdd(ir_.CreateLoad(i32, spin_counter_), ir_.getInt32(1));
  ir_.CreateStore(spins, spin_counter_);
  code_.if_then(ir_.CreateICmpEQ(ir_.CreateAnd(spins, ir_.getInt32(15)), ir_.getInt32(0)),
                [&] { stream_.back().context.call_service(exec::Service::yield, {}); });
}

}  // namespace raddle::jit
