#include "jit/near_gathers.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <numeric>
#include <optional>
#include <vector>

#include "jit/line_table.h"

namespace raddle::jit {
namespace {

namespace match = llvm::PatternMatch;

/// Words of a vector of AVX2, and of AVX-512.
bool is_whole(std::size_t lanes) { return lanes == 8 || lanes == 16; }

unsigned lanes_of(const llvm::Value& vector) {
  return llvm::cast<llvm::FixedVectorType>(vector.getType())->getNumElements();
}

std::vector<int> lanes(unsigned first, unsigned count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), static_cast<int>(first));
  return numbers;
}

/// Two gathers, and what puts their results side by side.
struct Halves {
  llvm::ShuffleVectorInst* joined;
  llvm::IntrinsicInst *low, *high;
  llvm::Value* addresses;  ///< of both
  unsigned count() const { return lanes_of(*joined); }
};

/// Whether a shuffle takes the half of a vector that begins at a lane.
bool is_half(const llvm::ShuffleVectorInst& half, unsigned first) {
  const unsigned whole = lanes_of(*half.getOperand(0));
  return half.getShuffleMask() == llvm::ArrayRef(lanes(first, whole / 2));
}

/// A gather of words by half of a vector of addresses, null if it is none.
/// @param first  lane of the half
llvm::IntrinsicInst* half_gather(llvm::Value* value, unsigned first, unsigned whole,
                                 llvm::Value*& addresses) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  if (!call || call->getIntrinsicID() != llvm::Intrinsic::masked_gather || !call->hasOneUse()) return nullptr;
  const auto* passed = llvm::dyn_cast<llvm::Constant>(call->getArgOperand(3));
  if (!call->getType()->getScalarType()->isIntegerTy(32) || !passed || !passed->isNullValue()) return nullptr;
  auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(call->getArgOperand(0));
  auto* half = cast ? llvm::dyn_cast<llvm::ShuffleVectorInst>(cast->getOperand(0)) : nullptr;
  if (!half || !is_half(*half, first)) return nullptr;
  addresses = half->getOperand(0);
  return lanes_of(*addresses) == whole ? call : nullptr;
}

/// The second follows, and nothing in between changes what the first reads.
bool may_wait(const llvm::Instruction& first, const llvm::Instruction& second) {
  for (const llvm::Instruction* i = first.getNextNode(); i != nullptr; i = i->getNextNode()) {
    if (i == &second) return true;
    if (i->mayWriteToMemory()) return false;
  }
  return false;
}

std::optional<Halves> halves_of(llvm::Instruction& i) {
  auto* joined = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i);
  const unsigned whole = joined ? lanes_of(*joined) : 0;
  if (!is_whole(whole) || joined->getShuffleMask() != llvm::ArrayRef(lanes(0, whole))) return {};
  llvm::Value *low_addresses = nullptr, *high_addresses = nullptr;
  auto* low = half_gather(joined->getOperand(0), 0, whole, low_addresses);
  auto* high = half_gather(joined->getOperand(1), whole / 2, whole, high_addresses);
  if (!low || !high || low_addresses != high_addresses || !may_wait(*low, *high)) return {};
  return Halves{joined, low, high, low_addresses};
}

/// Addresses as a number for all lanes and a signed one of each, times a power of two.
struct NearAddresses {
  std::vector<llvm::Value*> bases;  ///< to be added up, as vectors of which all lanes are equal
  llvm::Value* numbers = nullptr;   ///< of 32 bits
  unsigned shift = 0;
};

bool is_splat(llvm::Value* value) {
  if (llvm::getSplatValue(value) != nullptr) return true;
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return operation && is_splat(operation->getOperand(0)) && is_splat(operation->getOperand(1));
}

bool take_apart(llvm::Value* sum, NearAddresses& found) {
  llvm::Value *a = nullptr, *b = nullptr;
  if (is_splat(sum)) {
    found.bases.push_back(sum);
    return true;
  }
  if (match::match(sum, match::m_Add(match::m_Value(a), match::m_Value(b))))
    return take_apart(a, found) && take_apart(b, found);
  constexpr std::uint64_t kMostShift = 3;  // of an address of the host
  const llvm::APInt* amount = nullptr;
  if (!match::match(sum, match::m_Shl(match::m_Value(a), match::m_APInt(amount)))) a = sum;
  const std::uint64_t shift = amount ? amount->getLimitedValue() : 0;
  if (found.numbers != nullptr || shift > kMostShift || !match::match(a, match::m_SExt(match::m_Value(b))) ||
      !b->getType()->getScalarType()->isIntegerTy(32))
    return false;
  found.numbers = b;
  found.shift = static_cast<unsigned>(shift);
  return true;
}

/// The one number of a vector for which is_splat() holds, computed where the vector is.
llvm::Value* scalar_of(llvm::Value* value) {
  if (auto* scalar = llvm::getSplatValue(value)) return scalar;
  auto* operation = llvm::cast<llvm::BinaryOperator>(value);
  llvm::IRBuilder<> ir(operation);
  return ir.CreateBinOp(operation->getOpcode(), scalar_of(operation->getOperand(0)),
                        scalar_of(operation->getOperand(1)));
}

/// A fault names the lanes of the whole.
llvm::DebugLoc location_of(const Halves& halves) {
  const llvm::DILocation* at = halves.low->getDebugLoc();
  if (at == nullptr) return {};
  LaneRun run = LaneRun::of(at->getColumn());
  run.count = halves.count();
  return llvm::DILocation::get(at->getContext(), at->getLine(), run.column(), at->getScope(),
                               at->getInlinedAt());
}

/// The mask of which both gathers have their half, or what is joined to one.
llvm::Value* mask_of(const Halves& halves, llvm::IRBuilder<>& ir) {
  llvm::Value *low = halves.low->getArgOperand(2), *high = halves.high->getArgOperand(2);
  const auto *first = llvm::dyn_cast<llvm::ShuffleVectorInst>(low),
             *second = llvm::dyn_cast<llvm::ShuffleVectorInst>(high);
  if (first && second && first->getOperand(0) == second->getOperand(0) &&
      lanes_of(*first->getOperand(0)) == halves.count() && is_half(*first, 0) &&
      is_half(*second, halves.count() / 2))
    return first->getOperand(0);
  return ir.CreateShuffleVector(low, high, lanes(0, halves.count()));
}

void join(const Halves& halves, const NearAddresses& near) {
  llvm::IRBuilder<> ir(halves.high);
  ir.SetCurrentDebugLocation(location_of(halves));
  llvm::Value* base = nullptr;
  for (llvm::Value* each : near.bases) {
    llvm::Value* scalar = scalar_of(each);
    base = base ? ir.CreateAdd(base, scalar) : scalar;
  }
  llvm::Value* const mask = mask_of(halves, ir);
  auto* places =
      ir.CreateGEP(ir.getIntNTy(8u << near.shift), ir.CreateIntToPtr(base, ir.getPtrTy()), near.numbers);
  const auto* alignment = llvm::cast<llvm::ConstantInt>(halves.low->getArgOperand(1));
  auto* all =
      ir.CreateMaskedGather(halves.joined->getType(), places, alignment->getMaybeAlignValue().valueOrOne(),
                            mask, llvm::Constant::getNullValue(halves.joined->getType()));
  all->copyMetadata(*halves.low, {llvm::LLVMContext::MD_alias_scope});
  halves.joined->replaceAllUsesWith(all);
  llvm::RecursivelyDeleteTriviallyDeadInstructions(halves.joined);
}

}  // namespace

llvm::PreservedAnalyses NearGathers::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<Halves> found;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (const auto halves = halves_of(i)) found.push_back(*halves);
  bool changed = false;
  for (const Halves& halves : found) {
    NearAddresses near;
    if (!take_apart(halves.addresses, near) || !near.numbers || near.bases.empty()) continue;
    join(halves, near);
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
