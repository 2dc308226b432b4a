#include "jit/interleaved.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/JumpThreading.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <vector>

namespace raddle::jit {
namespace {

/// An element of a vector; null: it may be anything.
struct Element {
  llvm::Value* vector = nullptr;
  unsigned lane = 0;
  bool operator==(const Element&) const = default;
};
using Elements = std::vector<Element>;

unsigned lanes_in(const llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

/// Where shuffles take it from.
Element origin(Element e) {
  while (auto* shuffle = llvm::dyn_cast_or_null<llvm::ShuffleVectorInst>(e.vector)) {
    const int from = shuffle->getMaskValue(e.lane);
    const auto first = static_cast<int>(lanes_in(shuffle->getOperand(0)));
    if (from < 0) return {};
    e = from < first ? Element{shuffle->getOperand(0), static_cast<unsigned>(from)}
                     : Element{shuffle->getOperand(1), static_cast<unsigned>(from - first)};
  }
  return e;
}

/// Makes a vector of elements without shuffles, from what they were taken out of, by the operations that were
/// done to each.
class Rebuilding {
 public:
  explicit Rebuilding(llvm::Instruction* before) : ir_(before) {}

  /// @returns null if that cannot be
  llvm::Value* rebuild(Elements elements) {
    for (Element& e : elements) e = origin(e);
    const auto some = std::ranges::find_if(elements, [](const Element& e) { return e.vector != nullptr; });
    if (some == elements.end()) return nullptr;
    if (llvm::Value* simple = as_constant(elements)) return simple;
    if (llvm::Value* whole = as_whole(elements, *some)) return whole;
    return by_operation(elements, *some);
  }

 private:
  static llvm::Value* as_constant(const Elements& elements) {
    std::vector<llvm::Constant*> constants;
    for (const Element& e : elements) {
      auto* vector = llvm::dyn_cast_or_null<llvm::Constant>(e.vector);
      auto* element = vector == nullptr ? nullptr : vector->getAggregateElement(e.lane);
      if (e.vector != nullptr && element == nullptr) return nullptr;
      constants.push_back(element);
    }
    for (llvm::Constant*& c : constants)
      if (c == nullptr) c = llvm::PoisonValue::get(first_type(elements));
    return llvm::ConstantVector::get(constants);
  }

  static llvm::Type* first_type(const Elements& elements) {
    const auto some = std::ranges::find_if(elements, [](const Element& e) { return e.vector != nullptr; });
    return some->vector->getType()->getScalarType();
  }

  /// A vector as it is, or one element for all.
  llvm::Value* as_whole(const Elements& elements, const Element& some) {
    const auto is_or_may = [](const Element& e, const Element& wanted) {
      return e.vector == nullptr || e == wanted;
    };
    bool is_vector = lanes_in(some.vector) == elements.size();
    for (unsigned i = 0; is_vector && i < elements.size(); ++i)
      is_vector = is_or_may(elements[i], {some.vector, i});
    if (is_vector) return some.vector;
    if (!std::ranges::all_of(elements, [&](const Element& e) { return is_or_may(e, some); })) return nullptr;
    return ir_.CreateShuffleVector(some.vector,
                                   std::vector<int>(elements.size(), static_cast<int>(some.lane)));
  }

  static bool is_by_element(const llvm::Instruction& i) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      return call->getIntrinsicID() == llvm::Intrinsic::fma;
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) {
      const auto* from = llvm::dyn_cast<llvm::FixedVectorType>(cast->getSrcTy());
      return from != nullptr && from->getNumElements() == lanes_in(&i);
    }
    return llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator>(i);
  }

  static bool is_alike(const llvm::Instruction& a, const llvm::Instruction& b) {
    if (a.getOpcode() != b.getOpcode() || a.getNumOperands() != b.getNumOperands()) return false;
    for (unsigned o = 0; o < a.getNumOperands(); ++o)
      if (a.getOperand(o)->getType()->getScalarType() != b.getOperand(o)->getType()->getScalarType())
        return false;
    return !llvm::isa<llvm::CallInst>(a) ||
           a.getOperand(a.getNumOperands() - 1) == b.getOperand(b.getNumOperands() - 1);
  }

  llvm::Value* by_operation(const Elements& elements, const Element& some) {
    constexpr unsigned kMost = 8;  // more may cost more than the shuffles, where the registers are used, too
    auto* const one = llvm::dyn_cast<llvm::Instruction>(some.vector);
    if (one == nullptr || !is_by_element(*one) || ++operations_ > kMost) return nullptr;
    for (const Element& e : elements) {
      const auto* other = llvm::dyn_cast_or_null<llvm::Instruction>(e.vector);
      if (e.vector != nullptr && (other == nullptr || !is_by_element(*other) || !is_alike(*one, *other)))
        return nullptr;
    }
    const bool is_call = llvm::isa<llvm::CallInst>(one);
    std::vector<llvm::Value*> operands;
    for (unsigned o = 0; o < one->getNumOperands() - (is_call ? 1 : 0); ++o) {
      Elements of_operand;
      for (const Element& e : elements)
        of_operand.push_back(e.vector == nullptr
                                 ? e
                                 : Element{llvm::cast<llvm::Instruction>(e.vector)->getOperand(o), e.lane});
      operands.push_back(rebuild(std::move(of_operand)));
      if (operands.back() == nullptr) return nullptr;
    }
    return write(elements, *one, operands);
  }

  llvm::Value* write(const Elements& elements, const llvm::Instruction& one,
                     const std::vector<llvm::Value*>& operands) {
    auto* type =
        llvm::FixedVectorType::get(one.getType()->getScalarType(), static_cast<unsigned>(elements.size()));
    llvm::Value* made = nullptr;
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&one))
      made = ir_.CreateIntrinsic(type, call->getIntrinsicID(), operands);
    else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&one))
      made = ir_.CreateCast(cast->getOpcode(), operands[0], type);
    else
      made = ir_.CreateNAryOp(one.getOpcode(), operands);
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(made);
    if (instruction == nullptr) return made;  // of constants
    instruction->copyIRFlags(&one);
    for (const Element& e : elements)
      if (e.vector != nullptr) instruction->andIRFlags(e.vector);
    return made;
  }

  llvm::IRBuilder<> ir_;
  unsigned operations_ = 0;
};

/// What a store writes, if that is a vector: place of the operand; null: it is none.
llvm::Use* stored_vector(llvm::Instruction& i) {
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  const bool stores = llvm::isa<llvm::StoreInst>(i) ||
                      (intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_store);
  return stores && i.getOperand(0)->getType()->isVectorTy() ? &i.getOperandUse(0) : nullptr;
}

/// Whether a vector is put together of several that are smaller.
bool is_joined(llvm::Value* vector) {
  if (!llvm::isa<llvm::ShuffleVectorInst>(vector)) return false;
  const Element first = origin({vector, 0}), second = origin({vector, 1});
  return first.vector != nullptr && second.vector != nullptr && first.vector != second.vector;
}

/// Whether it takes each so many-th element of what was loaded, by however many shuffles (jit/transposes.h).
bool takes_apart(llvm::Instruction& i) {
  if (!llvm::isa<llvm::ShuffleVectorInst>(i) || lanes_in(&i) < 2) return false;
  const Element first = origin({&i, 0}), second = origin({&i, 1});
  if (first.vector == nullptr || !llvm::isa<llvm::LoadInst, llvm::IntrinsicInst>(first.vector) ||
      second.lane < first.lane + 2)
    return false;
  const unsigned step = second.lane - first.lane;
  for (unsigned l = 1; l < lanes_in(&i); ++l)
    if (origin({&i, l}) != Element{first.vector, first.lane + l * step}) return false;
  return true;
}

bool has_both(llvm::Function& function) {
  bool takes = false, joins = false;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      takes = takes || takes_apart(i);
      if (const llvm::Use* stored = stored_vector(i)) joins = joins || is_joined(*stored);
    }
  return takes && joins;
}

void keep_interleaved(llvm::Function& function) {
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      llvm::Use* const stored = stored_vector(i);
      if (stored == nullptr || !is_joined(*stored)) continue;
      llvm::Value* const joined = *stored;
      Elements elements;
      for (unsigned l = 0; l < lanes_in(joined); ++l) elements.push_back({joined, l});
      llvm::Value* const kept = Rebuilding(&i).rebuild(std::move(elements));
      if (kept == nullptr) continue;
      stored->set(kept);
      llvm::RecursivelyDeleteTriviallyDeadInstructions(joined);
    }
}

}  // namespace

/// A load and a store with ways of their own for wrapped addresses come together between the two. Threading
/// joins their ways, where one flag decides about both; what it copies is little beside the shuffles.
llvm::PreservedAnalyses KeepInterleaved::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& analyses) {
  constexpr int kMostCopied = 60;  // instructions between two accesses
  if (!has_both(function)) return llvm::PreservedAnalyses::all();
  const auto threaded = llvm::JumpThreadingPass(kMostCopied).run(function, analyses);
  analyses.invalidate(function, threaded);
  keep_interleaved(function);
  const auto merged = llvm::EarlyCSEPass().run(function, analyses);  // masks, and what was made for nothing
  analyses.invalidate(function, merged);
  return llvm::PreservedAnalyses::none();
}

}  // namespace raddle::jit
