#include "jit/combine.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/TargetFolder.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

namespace raddle::jit {
namespace {

namespace match = llvm::PatternMatch;

// ---- phis ----

/// Phis that are given one value and each other, or what nobody reads: masks of lanes that wait nowhere,
/// mostly.
class OneValue {
 public:
  explicit OneValue(const llvm::DominatorTree& dominators) : dominators_(dominators) {}

  /// @returns whether the phi, and those that it reads, have gone
  bool replace(llvm::PHINode& phi) {
    web_.clear();
    value_ = nullptr;
    if (!collect(phi) || value_ == nullptr || !dominates_all()) return false;
    for (llvm::PHINode* one : web_) one->replaceAllUsesWith(value_);
    for (llvm::PHINode* one : web_) one->eraseFromParent();
    return true;
  }

 private:
  static constexpr unsigned kLargestWeb = 32;

  bool collect(llvm::PHINode& phi) {
    if (!web_.insert(&phi)) return true;
    if (web_.size() > kLargestWeb) return false;
    for (llvm::Value* given : phi.incoming_values()) {
      if (auto* other = llvm::dyn_cast<llvm::PHINode>(given)) {
        if (!collect(*other)) return false;
      } else if (llvm::isa<llvm::UndefValue>(given)) {
        continue;
      } else if (value_ == nullptr) {
        value_ = given;
      } else if (value_ != given) {
        return false;
      }
    }
    return true;
  }

  /// That follows from what the phis are given, but in blocks that nothing leads to.
  bool dominates_all() const {
    const auto* made = llvm::dyn_cast<llvm::Instruction>(value_);
    return made == nullptr ||
           llvm::all_of(web_, [&](const llvm::PHINode* phi) { return dominators_.dominates(made, phi); });
  }

  const llvm::DominatorTree& dominators_;
  llvm::SmallSetVector<llvm::PHINode*, 8> web_;
  llvm::Value* value_ = nullptr;
};

// ---- instructions ----

/// @returns what an instruction can be instead, the instruction itself if it was changed in its place, or
/// null
class Combiner {
 public:
  explicit Combiner(const llvm::Function& function)
      : layout_(function.getDataLayout()), ir_(function.getContext(), llvm::TargetFolder(layout_)) {}

  llvm::Value* combine(llvm::Instruction& i) {
    if (llvm::Constant* known = llvm::ConstantFoldInstruction(&i, layout_)) return known;
    ir_.SetInsertPoint(&i);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) return combine_cast(*cast);
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) return combine_address(*address);
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&i)) return combine_binary(*binary);
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) return combine_shuffle(*shuffle);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i)) return combine_select(*select);
    if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&i)) return combine_branch(*branch);
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) return combine_call(*call);
    return nullptr;
  }

 private:
  llvm::Value* combine_cast(llvm::CastInst& cast) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(cast.getOperand(0))) return load_as(cast, *load);
    auto* inner = llvm::dyn_cast<llvm::CastInst>(cast.getOperand(0));
    if (inner == nullptr) return of_splat(cast);
    const auto size_type = [&](llvm::Type* t) {
      return t->isPtrOrPtrVectorTy() ? layout_.getIntPtrType(t) : nullptr;
    };
    llvm::Type* const from = inner->getSrcTy();
    const unsigned opcode = llvm::CastInst::isEliminableCastPair(
        inner->getOpcode(), cast.getOpcode(), from, inner->getDestTy(), cast.getDestTy(), size_type(from),
        size_type(inner->getDestTy()), size_type(cast.getDestTy()));
    if (opcode == 0) return nullptr;
    if (opcode == llvm::Instruction::BitCast && from == cast.getDestTy()) return inner->getOperand(0);
    return ir_.CreateCast(static_cast<llvm::Instruction::CastOps>(opcode), inner->getOperand(0),
                          cast.getDestTy());
  }

  /// What is loaded is what it is read as.
  llvm::Value* load_as(llvm::CastInst& cast, llvm::LoadInst& load) {
    if (!llvm::isa<llvm::BitCastInst>(cast) || !load.hasOneUse() || !load.isSimple()) return nullptr;
    ir_.SetInsertPoint(&load);
    auto* same = ir_.CreateAlignedLoad(cast.getDestTy(), load.getPointerOperand(), load.getAlign());
    same->copyMetadata(
        load, {llvm::LLVMContext::MD_dbg, llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias,
               llvm::LLVMContext::MD_invariant_load, llvm::LLVMContext::MD_nontemporal});
    return same;
  }

  /// Known distances in bytes, from where they are counted.
  llvm::Value* combine_address(llvm::GetElementPtrInst& address) {
    llvm::APInt bytes(64, 0);
    if (address.getType()->isVectorTy()) return nullptr;
    if (!address.accumulateConstantOffset(layout_, bytes)) return with_whole_index(address);
    llvm::Value* base = address.getPointerOperand();
    bool in_bounds = address.isInBounds(), is_joined = false;
    if (auto* inner = llvm::dyn_cast<llvm::GetElementPtrInst>(base)) {
      llvm::APInt first(64, 0);
      if (inner->accumulateConstantOffset(layout_, first)) {
        bytes += first;
        in_bounds = in_bounds && inner->isInBounds();
        base = inner->getPointerOperand();
        is_joined = true;
      }
    }
    if (bytes.isZero()) return base;
    if (!is_joined && address.getSourceElementType()->isIntegerTy(8) &&
        address.getOperand(1)->getType()->isIntegerTy(64))
      return nullptr;
    return ir_.CreateGEP(ir_.getInt8Ty(), base, ir_.getInt64(bytes.getZExtValue()), "",
                         in_bounds ? llvm::GEPNoWrapFlags::inBounds() : llvm::GEPNoWrapFlags::none());
  }

  /// An index is extended once, not by each address.
  llvm::Value* with_whole_index(llvm::GetElementPtrInst& address) {
    llvm::Value* const index = address.getOperand(address.getNumOperands() - 1);
    if (!index->getType()->isIntegerTy(32)) return nullptr;
    address.setOperand(address.getNumOperands() - 1, ir_.CreateSExt(index, ir_.getInt64Ty()));
    return &address;
  }

  llvm::Value* combine_binary(llvm::BinaryOperator& binary) {
    llvm::Value* changed = nullptr;
    if (binary.isCommutative() && llvm::isa<llvm::Constant>(binary.getOperand(0)) &&
        !llvm::isa<llvm::Constant>(binary.getOperand(1))) {
      binary.swapOperands();
      changed = &binary;
    }
    if (llvm::Value* value = of_splats(binary)) return value;
    auto* constant = llvm::dyn_cast<llvm::Constant>(binary.getOperand(1));
    llvm::Value* value = constant != nullptr ? with_constant(binary, *constant) : nullptr;
    return value != nullptr ? value : changed;
  }

  llvm::Value* with_constant(llvm::BinaryOperator& binary, llvm::Constant& constant) {
    llvm::Value* const x = binary.getOperand(0);
    auto* inner = llvm::dyn_cast<llvm::BinaryOperator>(x);
    auto* first = inner != nullptr && inner->getOpcode() == binary.getOpcode()
                      ? llvm::dyn_cast<llvm::Constant>(inner->getOperand(1))
                      : nullptr;
    switch (binary.getOpcode()) {
      case llvm::Instruction::Sub:
        return ir_.CreateAdd(x, ir_.CreateNeg(&constant));
      case llvm::Instruction::Add:
        return first != nullptr ? ir_.CreateAdd(inner->getOperand(0), ir_.CreateAdd(first, &constant))
                                : nullptr;
      case llvm::Instruction::And:
        return first != nullptr ? ir_.CreateAnd(inner->getOperand(0), ir_.CreateAnd(first, &constant))
                                : nullptr;
      case llvm::Instruction::Or:
        return first != nullptr ? ir_.CreateOr(inner->getOperand(0), ir_.CreateOr(first, &constant))
                                : nullptr;
      case llvm::Instruction::Mul: {
        const llvm::APInt* factor = nullptr;
        if (!match::match(&constant, match::m_Power2(factor))) return nullptr;
        return ir_.CreateShl(x, llvm::ConstantInt::get(binary.getType(), factor->logBase2()));
      }
      case llvm::Instruction::Shl: {
        const llvm::APInt* distance = nullptr;
        if (!match::match(&constant, match::m_APInt(distance))) return nullptr;
        llvm::Value* const low = in_low_bits(x, distance->getBitWidth() - distance->getLimitedValue());
        return low != x ? ir_.CreateShl(low, &constant) : nullptr;
      }
      case llvm::Instruction::FDiv: {
        const llvm::APFloat* divisor = nullptr;
        llvm::APFloat inverse(0.0);
        if (!match::match(&constant, match::m_APFloat(divisor)) || !divisor->getExactInverse(&inverse))
          return nullptr;
        return ir_.CreateFMulFMF(x, llvm::ConstantFP::get(binary.getType(), inverse), &binary);
      }
      case llvm::Instruction::Xor:
        return match::match(&constant, match::m_AllOnes()) ? inverse_of(*x) : nullptr;
      default:
        return nullptr;
    }
  }

  /// What has the same lowest bits.
  static llvm::Value* in_low_bits(llvm::Value* value, std::uint64_t bits) {
    llvm::Value* a = nullptr;
    const llvm::APInt* b = nullptr;
    while ((match::match(value, match::m_Add(match::m_Value(a), match::m_APInt(b))) &&
            b->countr_zero() >= bits) ||
           (match::match(value, match::m_c_Add(match::m_Value(a),
                                               match::m_Shl(match::m_Value(), match::m_APInt(b)))) &&
            b->uge(bits)))
      value = a;
    return value;
  }

  /// Of a comparison that nobody else reads.
  static llvm::Value* inverse_of(llvm::Value& compared) {
    auto* comparison = llvm::dyn_cast<llvm::CmpInst>(&compared);
    if (comparison == nullptr || !comparison->hasOneUse()) return nullptr;
    comparison->setPredicate(comparison->getInversePredicate());
    return comparison;
  }

  /// One value for all lanes, of which each operand is.
  llvm::Value* of_splats(llvm::BinaryOperator& binary) {
    if (!binary.getType()->isVectorTy() || binary.isIntDivRem()) return nullptr;
    if (!binary.getOperand(0)->hasOneUse() && !binary.getOperand(1)->hasOneUse()) return nullptr;
    llvm::Value *a = llvm::getSplatValue(binary.getOperand(0)),
                *b = llvm::getSplatValue(binary.getOperand(1));
    if (a == nullptr || b == nullptr) return nullptr;
    llvm::Value* const one = ir_.CreateBinOp(binary.getOpcode(), a, b);
    if (auto* made = llvm::dyn_cast<llvm::BinaryOperator>(one)) made->copyIRFlags(&binary);
    return ir_.CreateVectorSplat(llvm::cast<llvm::VectorType>(binary.getType())->getElementCount(), one);
  }
  llvm::Value* of_splat(llvm::CastInst& cast) {
    auto* type = llvm::dyn_cast<llvm::VectorType>(cast.getType());
    auto* from = llvm::dyn_cast<llvm::VectorType>(cast.getSrcTy());
    // What a vector's bits are read as costs nothing, a number's another kind of register.
    if (cast.getOpcode() == llvm::Instruction::BitCast || type == nullptr || from == nullptr ||
        type->getElementCount() != from->getElementCount() || !cast.getOperand(0)->hasOneUse())
      return nullptr;
    llvm::Value* const scalar = llvm::getSplatValue(cast.getOperand(0));
    if (scalar == nullptr) return nullptr;
    return ir_.CreateVectorSplat(type->getElementCount(),
                                 ir_.CreateCast(cast.getOpcode(), scalar, type->getElementType()));
  }
  /// A part of several vectors side by side is one of them, or a part of it.
  llvm::Value* combine_shuffle(llvm::ShuffleVectorInst& shuffle) {
    auto* inner = llvm::dyn_cast<llvm::ShuffleVectorInst>(shuffle.getOperand(0));
    if (inner == nullptr || !llvm::isa<llvm::UndefValue>(shuffle.getOperand(1))) return nullptr;
    const llvm::ArrayRef<int> outer = shuffle.getShuffleMask();
    const auto first = outer.empty() ? -1 : outer[0];
    if (first < 0 || first >= static_cast<int>(inner->getShuffleMask().size())) return nullptr;
    const int begin = inner->getMaskValue(static_cast<unsigned>(first));
    const auto size = static_cast<int>(
        llvm::cast<llvm::FixedVectorType>(inner->getOperand(0)->getType())->getNumElements());
    if (begin < 0) return nullptr;
    for (std::size_t lane = 0; lane < outer.size(); ++lane) {
      if (outer[lane] < 0 || outer[lane] >= static_cast<int>(inner->getShuffleMask().size())) return nullptr;
      if (inner->getMaskValue(static_cast<unsigned>(outer[lane])) != begin + static_cast<int>(lane))
        return nullptr;
    }
    const int count = static_cast<int>(outer.size());
    llvm::Value* const source = inner->getOperand(begin < size ? 0 : 1);
    const int from = begin < size ? begin : begin - size;
    if (from + count > size) return nullptr;
    if (count == size) return source;
    llvm::SmallVector<int> mask;
    for (int lane = 0; lane < count; ++lane) mask.push_back(from + lane);
    return ir_.CreateShuffleVector(source, mask);
  }

  static llvm::Value* combine_select(llvm::SelectInst& select) {
    llvm::Value* condition = nullptr;
    if (!match::match(select.getCondition(), match::m_Not(match::m_Value(condition)))) return nullptr;
    select.setCondition(condition);
    select.swapValues();
    select.swapProfMetadata();
    return &select;
  }

  static llvm::Value* combine_branch(llvm::BranchInst& branch) {
    llvm::Value* condition = nullptr;
    if (!branch.isConditional() ||
        !match::match(branch.getCondition(), match::m_Not(match::m_Value(condition))))
      return nullptr;
    branch.setCondition(condition);
    branch.swapSuccessors();
    return &branch;
  }

  llvm::Value* combine_call(llvm::IntrinsicInst& call) {
    const auto all = [](llvm::Value* mask) { return match::match(mask, match::m_AllOnes()); };
    const auto none = [](llvm::Value* mask) { return match::match(mask, match::m_ZeroInt()); };
    const auto alignment = [&](unsigned k) {
      return llvm::cast<llvm::ConstantInt>(call.getArgOperand(k))->getMaybeAlignValue();
    };
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::masked_load: {
        if (!all(call.getArgOperand(2))) return nullptr;
        auto* load = ir_.CreateAlignedLoad(call.getType(), call.getArgOperand(0), alignment(1));
        load->copyMetadata(call);
        return load;
      }
      case llvm::Intrinsic::masked_store: {
        if (none(call.getArgOperand(3))) return nothing(call);
        if (!all(call.getArgOperand(3))) return nullptr;
        auto* store = ir_.CreateAlignedStore(call.getArgOperand(0), call.getArgOperand(1), alignment(2));
        store->copyMetadata(call);
        return nothing(call);
      }
      case llvm::Intrinsic::masked_scatter:
        return none(call.getArgOperand(3)) ? nothing(call) : nullptr;
      case llvm::Intrinsic::vector_extract: {
        auto* whole = llvm::dyn_cast<llvm::FixedVectorType>(call.getArgOperand(0)->getType());
        auto* part = llvm::dyn_cast<llvm::FixedVectorType>(call.getType());
        if (whole == nullptr || part == nullptr) return nullptr;
        const auto first = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue();
        auto* shuffle = ir_.CreateShuffleVector(
            call.getArgOperand(0),
            llvm::createSequentialMask(static_cast<unsigned>(first), part->getNumElements(), 0));
        auto* made = llvm::dyn_cast<llvm::ShuffleVectorInst>(shuffle);
        llvm::Value* shorter = made != nullptr ? combine_shuffle(*made) : nullptr;
        return shorter != nullptr ? shorter : shuffle;
      }
      default:
        return nullptr;
    }
  }

  /// For what has no value, and goes.
  static llvm::Value* nothing(llvm::Instruction& i) {
    return llvm::PoisonValue::get(llvm::Type::getInt1Ty(i.getContext()));
  }

  const llvm::DataLayout& layout_;
  llvm::IRBuilder<llvm::TargetFolder> ir_;  // where the instruction at hand is
};

/// What one way of a branch reads alone goes there. A block that is empty then may fall to where it leads.
void sink(llvm::Instruction& i) {
  if (!i.hasOneUse() || i.isTerminator() || i.mayHaveSideEffects() || i.mayReadFromMemory() ||
      llvm::isa<llvm::PHINode, llvm::AllocaInst>(i))
    return;
  auto* reader = llvm::cast<llvm::Instruction>(i.user_back());
  llvm::BasicBlock* const block = reader->getParent();
  if (block == i.getParent() || llvm::isa<llvm::PHINode>(reader) ||
      block->getUniquePredecessor() != i.getParent())
    return;
  i.moveBefore(*block, block->getFirstInsertionPt());
}

}  // namespace

llvm::PreservedAnalyses Combine::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  OneValue one_value(analyses.getResult<llvm::DominatorTreeAnalysis>(function));
  Combiner combiner(function);
  llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  for (llvm::BasicBlock* block : order)
    for (auto i = block->begin(); i != block->end() && llvm::isa<llvm::PHINode>(i);)
      i = one_value.replace(llvm::cast<llvm::PHINode>(*i)) ? block->begin() : std::next(i);
  for (llvm::BasicBlock* block : order)
    for (llvm::Instruction& i : llvm::make_early_inc_range(*block)) {
      llvm::Value* const value = combiner.combine(i);
      if (value == nullptr || value == &i) continue;
      if (!i.getType()->isVoidTy()) i.replaceAllUsesWith(value);
      i.eraseFromParent();
    }
  for (llvm::BasicBlock* block : llvm::reverse(order))  // behind its readers
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (llvm::isInstructionTriviallyDead(&i))
        i.eraseFromParent();
      else
        sink(i);
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
