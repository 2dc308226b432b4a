#include "jit/baseline/patterns.h"

#include <llvm/IR/Constants.h>

#include "jit/baseline/analysis.h"

namespace raddle::jit::baseline {
namespace {

template <class Extension>
bool is_extended(const llvm::Value* value) {
  const auto* cast = llvm::dyn_cast<Extension>(value);
  return cast && cast->getSrcTy()->getScalarSizeInBits() <= 32 && cast->getSrcTy()->getScalarSizeInBits() > 1;
}

/// The upper halves of lanes, or what is left of them.
bool is_upper_part(const llvm::Value* value, unsigned opcode) {
  const auto* shift = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!shift || shift->getOpcode() != opcode) return false;
  const auto* by = same_in_all_lanes(shift->getOperand(1));
  return by && by->getValue().uge(32);
}

/// The upper half of each lane's product by the same number of 32 bits, and nothing else, is read.
bool is_high_product(const llvm::User* user, const llvm::BasicBlock* block) {
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(user);
  if (!product || product->getOpcode() != llvm::Instruction::Mul || !product->hasOneUse()) return false;
  const auto* factor = same_in_all_lanes(product->getOperand(1));
  const auto* shift = llvm::dyn_cast<llvm::BinaryOperator>(*product->user_begin());
  if (!factor || !factor->getValue().isIntN(32) || !shift || !shift->hasOneUse() ||
      shift->getOpcode() != llvm::Instruction::LShr || shift->getOperand(0) != product)
    return false;
  const auto* by = same_in_all_lanes(shift->getOperand(1));
  const auto* halves = llvm::dyn_cast<llvm::TruncInst>(*shift->user_begin());
  return by && by->getValue() == 32 && halves && halves->getType()->getScalarSizeInBits() == 32 &&
         product->getParent() == block && shift->getParent() == block && halves->getParent() == block;
}

/// @returns whether `reader` follows soon, in the same block, and nothing between may write
bool is_soon_read(const llvm::LoadInst& load, const llvm::Instruction& reader) {
  constexpr unsigned kNear = 8;
  const llvm::Instruction* i = load.getNextNode();
  for (unsigned n = 0; n < kNear && i && i != &reader; ++n, i = i->getNextNode())
    if (i->mayWriteToMemory()) return false;
  return i == &reader;
}

}  // namespace

bool fits_32_bits(const llvm::Value* value, bool is_signed) {
  const auto* number = same_in_all_lanes(value);
  if (number) return is_signed ? number->getValue().isSignedIntN(32) : number->getValue().isIntN(32);
  return is_signed ? is_extended<llvm::SExtInst>(value) || is_upper_part(value, llvm::Instruction::AShr)
                   : is_extended<llvm::ZExtInst>(value) || is_upper_part(value, llvm::Instruction::LShr);
}

std::optional<unsigned> power_and_one(const llvm::BinaryOperator& product) {
  if (product.getOpcode() != llvm::Instruction::Mul || product.getType()->getScalarSizeInBits() != 64)
    return {};
  const auto* number = llvm::isa<llvm::ConstantInt>(product.getOperand(1))
                           ? llvm::cast<llvm::ConstantInt>(product.getOperand(1))
                           : same_in_all_lanes(product.getOperand(1));
  if (!number) return {};
  const llvm::APInt power = number->getValue() - 1;
  return power.isPowerOf2() ? std::optional(power.logBase2()) : std::nullopt;
}

bool is_factor_of_high_products(const llvm::ZExtInst& words) {
  const auto* from = llvm::dyn_cast<llvm::FixedVectorType>(words.getSrcTy());
  return from && from->getScalarSizeInBits() == 32 && from->getNumElements() % 16 == 0 &&
         words.getType()->getScalarSizeInBits() == 64 && !words.use_empty() &&
         llvm::all_of(words.users(),
                      [&](const llvm::User* user) { return is_high_product(user, words.getParent()); });
}

unsigned repeated_lanes(const llvm::ShuffleVectorInst& shuffle) {
  const auto mask = shuffle.getShuffleMask();
  const unsigned given =
      llvm::cast<llvm::FixedVectorType>(shuffle.getOperand(0)->getType())->getNumElements();
  for (unsigned count = 1; count < mask.size() && count <= given; count *= 2) {
    bool repeats = true, again = false;
    for (unsigned lane = 0; lane < mask.size() && repeats; ++lane) {
      repeats = mask[lane] < 0 || mask[lane] == static_cast<int>(lane % count);
      again |= lane >= count && mask[lane] >= 0;
    }
    if (repeats && again) return count;
  }
  return 0;
}

bool repeats_part(const llvm::ShuffleVectorInst& shuffle, const Form& form) {
  const auto to = shape_of(shuffle.getType(), form);
  if (!to || to->kind != Class::vector || to->is_mask) return false;
  const unsigned bytes = repeated_lanes(shuffle) * to->element_bits / 8;
  return (bytes == 16 || bytes == 32) && bytes < form.bytes;
}

bool is_repeated_load(const llvm::LoadInst& load, const Form& form) {
  if (!load.isSimple() || !load.hasOneUse()) return false;
  const llvm::Type* type = load.getType();
  const auto* reader = llvm::cast<llvm::Instruction>(*load.user_begin());
  const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(reader);
  if (insert) {
    const auto* at = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
    if (!insert->hasOneUse() || insert->getOperand(1) != &load || !at || !at->isZero() ||
        !llvm::isa<llvm::UndefValue>(insert->getOperand(0)))
      return false;
    reader = llvm::cast<llvm::Instruction>(*insert->user_begin());
  }
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(reader);
  if (!shuffle || !llvm::isa<llvm::UndefValue>(shuffle->getOperand(1)) ||
      shuffle->getParent() != load.getParent() || !is_soon_read(load, *shuffle))
    return false;
  if (insert)
    return repeated_lanes(*shuffle) == 1 && insert->getParent() == load.getParent() &&
           type->getScalarSizeInBits() >= 8 && shape_of(shuffle->getType(), form);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && repeats_part(*shuffle, form) && repeated_lanes(*shuffle) == vector->getNumElements();
}

}  // namespace raddle::jit::baseline
