#include "jit/baseline/address_parts.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

namespace raddle::jit::baseline {
namespace {

constexpr unsigned kDistanceBits = 25;  // of each step, so that a few of them, scaled, fit an instruction
constexpr unsigned kMostSteps = 6;
constexpr unsigned kMostAccesses = 3;  // by the same sum of two registers, of which it then leaves one free

/// A left shift that an index can have.
const llvm::ConstantInt* scale_of(const llvm::Value* value) {
  const auto* shift = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!shift || shift->getOpcode() != llvm::Instruction::Shl) return nullptr;
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(shift->getOperand(1));
  return by && by->getValue().uge(1) && by->getValue().ule(3) ? by : nullptr;
}

std::int64_t own_distance(const llvm::GEPOperator& gep, const llvm::DataLayout& layout) {
  llvm::APInt offset(64, 0);
  gep.accumulateConstantOffset(layout, offset);
  return offset.getSExtValue();
}

bool is_near(std::int64_t distance) { return llvm::isIntN(kDistanceBits, distance); }

/// From a block's end to its beginning, so that whoever reads a value is known before it.
class Folding {
 public:
  Folding(const llvm::BasicBlock& block, const llvm::DataLayout& layout, Folded& folded)
      : block_(block), layout_(layout), folded_(folded) {}

  void run() {
    for (const llvm::Instruction& i : llvm::reverse(block_)) {
      if (const llvm::Value* address = address_in(i))
        offer(address, {.accesses = 1});
      else if (const auto found = parts_.find(&i); found != parts_.end() && take(i, found->second))
        folded_.insert(&i);
    }
  }

 private:
  /// What is known of a part by those that read it.
  struct Part {
    bool has_other = false;  ///< some address has another register
    bool may_scale = false;  ///< all have, and nothing is scaled
    unsigned steps = 0;
    unsigned readers = 0;
    unsigned accesses = 0;  ///< that its readers make
  };

  void offer(const llvm::Value* value, Part part) {
    const auto* i = llvm::dyn_cast<llvm::Instruction>(value);
    if (!i || i->getParent() != &block_) return;
    ++part.steps;
    const auto [found, is_new] = parts_.try_emplace(i, part);
    Part& all = found->second;
    if (!is_new) {
      all.has_other |= part.has_other;
      all.may_scale &= part.may_scale;
      all.steps = std::max(all.steps, part.steps);
      all.accesses += part.accesses;
    }
    ++all.readers;
  }

  /// @returns false if it must be computed
  bool take(const llvm::Instruction& i, Part part) {
    if (part.steps > kMostSteps || i.hasNUsesOrMore(part.readers + 1)) return false;
    if (i.getType()->isVectorTy()) return false;
    part.readers = 0;
    if (llvm::isa<llvm::IntToPtrInst>(i)) {
      if (!i.getOperand(0)->getType()->isIntegerTy(64) || llvm::isa<llvm::Constant>(i.getOperand(0)))
        return false;
      offer(i.getOperand(0), part);
      return true;
    }
    if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) return take_element(*gep, part);
    if (!i.getType()->isIntegerTy(64) || llvm::isa<llvm::Constant>(i.getOperand(0))) return false;
    if (i.getOpcode() == llvm::Instruction::Add) return take_sum(i, part);
    const auto* by = scale_of(&i);
    if (!by || !part.may_scale) return false;
    part.may_scale = false;
    offer(i.getOperand(0), part);
    return true;
  }

  /// For another register.
  static bool has_room(const Part& part) { return !part.has_other && part.accesses <= kMostAccesses; }

  bool take_element(const llvm::GetElementPtrInst& gep, Part part) {
    if (const auto* constant = constant_gep(&gep)) {
      if (!is_near(own_distance(*constant, layout_))) return false;
      offer(gep.getPointerOperand(), part);
      return true;
    }
    const auto element = index_of(gep, layout_);
    if (!element || !is_near(element->distance) || !has_room(part)) return false;
    part.has_other = true;
    part.may_scale = element->scale == 1;
    offer(element->number, part);
    part.may_scale = false;
    offer(gep.getPointerOperand(), part);
    return true;
  }

  bool take_sum(const llvm::Instruction& sum, Part part) {
    const llvm::Value *left = sum.getOperand(0), *right = sum.getOperand(1);
    if (const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(right)) {
      if (!distance->getValue().isSignedIntN(kDistanceBits)) return false;
      offer(left, part);
      return true;
    }
    if (llvm::isa<llvm::Constant>(right) || !has_room(part)) return false;
    if (!scale_of(right)) std::swap(left, right);
    part.has_other = part.may_scale = true;
    offer(right, part);
    part.may_scale = false;
    offer(left, part);
    return true;
  }

  const llvm::BasicBlock& block_;
  const llvm::DataLayout& layout_;
  Folded& folded_;
  llvm::DenseMap<const llvm::Instruction*, Part> parts_;
};

}  // namespace

const llvm::GEPOperator* constant_gep(const llvm::Value* value) {
  const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(value);
  return gep && !gep->getType()->isVectorTy() && gep->hasAllConstantIndices() ? gep : nullptr;
}

Place place_of(const llvm::Value* pointer, const llvm::DataLayout& layout) {
  std::int64_t distance = 0;
  while (const auto* gep = constant_gep(pointer)) {
    distance += own_distance(*gep, layout);
    pointer = gep->getPointerOperand();
  }
  return {pointer, distance};
}

std::optional<Index> index_of(const llvm::GetElementPtrInst& element, const llvm::DataLayout& layout) {
  llvm::MapVector<llvm::Value*, llvm::APInt> scaled;
  llvm::APInt distance(64, 0);
  if (element.getType()->isVectorTy() || llvm::isa<llvm::Constant>(element.getPointerOperand()) ||
      !element.collectOffset(layout, 64, scaled, distance) || scaled.size() != 1 ||
      !distance.isSignedIntN(30))
    return {};
  const auto& [number, scale] = *scaled.begin();
  const std::uint64_t bytes = scale.getZExtValue();
  if (!number->getType()->isIntegerTy(64) || !(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8))
    return {};
  return Index{number, bytes, distance.getSExtValue()};
}

const llvm::Value* address_in(const llvm::Instruction& i) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) return load->getPointerOperand();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) return store->getPointerOperand();
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  if (call && (call->getIntrinsicID() == llvm::Intrinsic::masked_load ||
               call->getIntrinsicID() == llvm::Intrinsic::prefetch))
    return call->getArgOperand(0);
  if (call && call->getIntrinsicID() == llvm::Intrinsic::masked_store) return call->getArgOperand(1);
  return nullptr;
}

void fold_addresses(const llvm::BasicBlock& block, const llvm::DataLayout& layout, Folded& folded) {
  Folding(block, layout, folded).run();
}

AddressParts::AddressParts(const llvm::Value* address, const Folded& folded, const llvm::DataLayout& layout) {
  add(address, 0, folded, layout);
}

void AddressParts::add(const llvm::Value* value, unsigned by, const Folded& folded,
                       const llvm::DataLayout& layout) {
  const auto* i = llvm::dyn_cast<llvm::Instruction>(value);
  const bool is_folded = i && folded.contains(i);
  if (const auto* gep = constant_gep(value); gep && (is_folded || !i)) {
    distance += own_distance(*gep, layout) * (std::int64_t{1} << by);
    return add(gep->getPointerOperand(), by, folded, layout);
  }
  if (!is_folded) {
    if (by == 0 && !base) {
      base = value;
    } else {
      index = value;
      shift = by;
    }
    return;
  }
  if (const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(i)) {
    const auto element = index_of(*gep, layout);
    distance += element->distance;
    add(gep->getPointerOperand(), 0, folded, layout);
    return add(element->number, llvm::Log2_64(element->scale), folded, layout);
  }
  add(i->getOperand(0), by + (i->getOpcode() == llvm::Instruction::Shl ? scale_of(i)->getZExtValue() : 0),
      folded, layout);
  if (i->getOpcode() != llvm::Instruction::Add) return;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(i->getOperand(1)))
    distance += constant->getSExtValue() * (std::int64_t{1} << by);
  else
    add(i->getOperand(1), 0, folded, layout);
}

}  // namespace raddle::jit::baseline
