#include "jit/deposited_masks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <optional>
#include <vector>

namespace raddle::jit {
namespace {

constexpr unsigned kMostLanes = 64, kMostRounds = 4;

unsigned lanes_of(const llvm::Value& mask) {
  return llvm::cast<llvm::FixedVectorType>(mask.getType())->getNumElements();
}

/// Places that lanes 0, 1, 2 ... of a mask go to, in this order; a round for each place of a lane.
using Rounds = std::vector<std::uint64_t>;

/// Nothing where lanes do not keep their order, or more is taken than some lanes once or several times.
std::optional<Rounds> rounds_of(const llvm::ShuffleVectorInst& spread) {
  const auto source = static_cast<int>(lanes_of(*spread.getOperand(0)));
  const auto* rest = llvm::dyn_cast<llvm::Constant>(spread.getOperand(1));
  if (rest == nullptr || !(rest->isNullValue() || llvm::isa<llvm::UndefValue>(rest))) return {};
  std::uint64_t left = 0;
  const llvm::ArrayRef<int> lanes = spread.getShuffleMask();
  for (unsigned place = 0; place < lanes.size(); ++place)
    if (lanes[place] >= 0 && lanes[place] < source) left |= std::uint64_t{1} << place;
  Rounds rounds;
  while (left != 0) {
    std::uint64_t places = 0;
    int next = 0;
    for (unsigned place = 0; place < lanes.size(); ++place)
      if ((left >> place & 1) != 0 && lanes[place] == next) places |= std::uint64_t{1} << place, ++next;
    if (next != source || rounds.size() == kMostRounds) return {};
    rounds.push_back(places);
    left &= ~places;
  }
  return rounds;
}

bool is_side_by_side(std::uint64_t places) {
  const std::uint64_t low = places >> std::countr_zero(places);
  return (low & (low + 1)) == 0;
}

llvm::Value* deposited(llvm::ShuffleVectorInst& spread, const Rounds& rounds) {
  llvm::IRBuilder<> ir(&spread);
  const unsigned bits = lanes_of(spread) <= 32 ? 32 : 64;
  auto* number = ir.getIntNTy(bits);
  auto* from = ir.CreateZExt(
      ir.CreateBitCast(spread.getOperand(0), ir.getIntNTy(lanes_of(*spread.getOperand(0)))), number);
  const auto pdep = bits == 32 ? llvm::Intrinsic::x86_bmi_pdep_32 : llvm::Intrinsic::x86_bmi_pdep_64;
  llvm::Value *first = nullptr, *all = nullptr;
  for (const std::uint64_t places : rounds) {
    const int distance = std::countr_zero(places) - std::countr_zero(rounds[0]);
    llvm::Value* one = first != nullptr && distance > 0 && places == rounds[0] << distance
                           ? ir.CreateShl(first, static_cast<std::uint64_t>(distance))
                           : ir.CreateIntrinsic(pdep, {}, {from, llvm::ConstantInt::get(number, places)});
    if (first == nullptr) first = one;
    all = all == nullptr ? one : ir.CreateOr(all, one);
  }
  return ir.CreateBitCast(ir.CreateTrunc(all, ir.getIntNTy(lanes_of(spread))), spread.getType());
}

}  // namespace

llvm::PreservedAnalyses DepositMasks::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::ShuffleVectorInst*> spreads;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i);
    if (shuffle != nullptr && shuffle->getType()->getScalarType()->isIntegerTy(1) &&
        lanes_of(*shuffle->getOperand(0)) >= 8 && lanes_of(*shuffle) > lanes_of(*shuffle->getOperand(0)) &&
        lanes_of(*shuffle) <= kMostLanes && lanes_of(*shuffle) % 16 == 0)
      spreads.push_back(shuffle);
  }
  bool changed = false;
  for (llvm::ShuffleVectorInst* spread : spreads) {
    const auto rounds = rounds_of(*spread);
    if (!rounds || rounds->empty() || (rounds->size() == 1 && is_side_by_side(rounds->front()))) continue;
    spread->replaceAllUsesWith(deposited(*spread, *rounds));
    spread->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace raddle::jit
