#include "jit/masks.h"

#include <llvm/IR/Intrinsics.h>

namespace raddle::jit {

Masks::Masks(FunctionBuilder& code, const Cursor& cursor)
    : code_(code), ir_(code.ir), cursor_(cursor), waiting_(cursor.function.blocks.size()) {}

// ---- forms ----

llvm::Value* Masks::bits(const Mask& mask) {
  llvm::Value* bits = nullptr;
  const unsigned lanes = code_.lanes();
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* part_bits = ir_.CreateZExt(ir_.CreateBitCast(mask[p], ir_.getIntNTy(lanes)), ir_.getInt32Ty());
    auto* shifted = p == 0 ? part_bits : ir_.CreateShl(part_bits, p * lanes);
    bits = bits ? ir_.CreateOr(bits, shifted) : shifted;
  }
  return bits;
}

Mask Masks::from_bits(llvm::Value* bits) {
  Mask mask;
  const unsigned lanes = code_.lanes();
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* part_bits = ir_.CreateTrunc(p == 0 ? bits : ir_.CreateLShr(bits, p * lanes), ir_.getIntNTy(lanes));
    mask.push_back(ir_.CreateBitCast(part_bits, code_.vector_of(ir_.getInt1Ty())));
  }
  return mask;
}

llvm::Value* Masks::any(const Mask& mask) {
  if (code_.thread()) return ir_.CreateICmpNE(bits(mask), ir_.getInt32(0));  // LLVM finds the guard again
  llvm::Value* all = mask[0];
  for (unsigned p = 1; p < code_.parts(); ++p) all = ir_.CreateOr(all, mask[p]);
  auto* bits = ir_.CreateBitCast(all, ir_.getIntNTy(code_.lanes()));
  return ir_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
}

llvm::Value* Masks::every(const Mask& mask) {
  llvm::Value* all = mask[0];
  for (unsigned p = 1; p < code_.parts(); ++p) all = ir_.CreateAnd(all, mask[p]);
  auto* bits = ir_.CreateBitCast(all, ir_.getIntNTy(code_.lanes()));
  return ir_.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
}

Mask Masks::all_lanes(bool value) { return Mask(code_.parts(), code_.splat(ir_.getInt1(value))); }

llvm::Value* Masks::first_lane(llvm::Value* bits) {
  auto* lane = ir_.CreateIntrinsic(llvm::Intrinsic::cttz, {ir_.getInt32Ty()}, {bits, ir_.getFalse()});
  return ir_.CreateAnd(lane, ir_.getInt32(31));
}

llvm::Type* Masks::storage_type() {
  return code_.vector_of(code_.has_mask_registers() ? ir_.getInt1Ty() : ir_.getInt32Ty());
}

llvm::Value* Masks::to_storage(llvm::Value* part) {
  return code_.has_mask_registers() ? part : ir_.CreateSExt(part, storage_type());
}

llvm::Value* Masks::from_storage(llvm::Value* stored) {
  if (code_.has_mask_registers()) return stored;
  return ir_.CreateICmpSLT(stored, llvm::Constant::getNullValue(stored->getType()));
}

// ---- lanes of the function ----

llvm::Value* Masks::inside() { return ir_.CreateLoad(ir_.getInt32Ty(), inside_); }

/// Those that were held for lanes that have left may go on.
void Masks::set_inside(llvm::Value* bits) {
  ir_.CreateStore(bits, inside_);
  if (held_) ir_.CreateStore(ir_.getInt32(0), held_);
}

void Masks::prepare_held() {
  held_ = code_.entry_alloca(ir_.getInt32Ty(), "held");
  code_.begin_as_zero(held_, ir_.getInt32Ty());
}

llvm::Value* Masks::held() {
  return held_ ? static_cast<llvm::Value*>(ir_.CreateLoad(ir_.getInt32Ty(), held_)) : ir_.getInt32(0);
}

void Masks::set_held(llvm::Value* bits, bool held) {
  if (!held_) return;
  auto* before = this->held();
  ir_.CreateStore(held ? ir_.CreateOr(before, bits) : ir_.CreateAnd(before, ir_.CreateNot(bits)), held_);
}

llvm::Value* Masks::elsewhere() { return ir_.CreateAnd(inside(), ir_.CreateNot(bits(active_))); }

llvm::Value* Masks::nobody_elsewhere() {
  if (!nobody_elsewhere_) nobody_elsewhere_ = ir_.CreateICmpEQ(elsewhere(), ir_.getInt32(0));
  return nobody_elsewhere_;
}

// ---- lanes that wait at blocks ----

void Masks::prepare_waiting(BlockId b) {
  for (unsigned p = 0; p < code_.parts(); ++p)
    waiting_[b].push_back(code_.entry_alloca(storage_type(), "waiting"));
}

void Masks::clear_waiting() {
  for (BlockId b : cursor_.plan.order.blocks)
    for (auto* a : waiting_[b]) ir_.CreateStore(llvm::Constant::getNullValue(a->getAllocatedType()), a);
}

void Masks::enter(BlockId first, const Mask& lanes) {
  set_waiting(first, lanes);
  inside_ = code_.entry_alloca(ir_.getInt32Ty(), "inside");
  set_inside(bits(lanes));
}

Mask Masks::waiting_at(BlockId b) {
  Mask mask;
  for (auto* a : waiting_[b]) mask.push_back(from_storage(ir_.CreateLoad(a->getAllocatedType(), a)));
  return mask;
}

void Masks::set_waiting(BlockId b, const Mask& mask) {
  for (unsigned p = 0; p < code_.parts(); ++p) ir_.CreateStore(to_storage(mask[p]), waiting_[b][p]);
}

void Masks::add_waiting(BlockId b, const Mask& lanes) {
  Mask waiting = waiting_at(b);
  for (unsigned p = 0; p < code_.parts(); ++p) waiting[p] = ir_.CreateOr(waiting[p], lanes[p]);
  set_waiting(b, waiting);
}

}  // namespace raddle::jit
