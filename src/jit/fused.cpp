// The product of two f32 is exact in f64. The sum rounds there, and again to f32: the answer is that of one
// rounding unless the first ends half way between two neighbours in f32, which the exact sum may have been on
// either side of. What may have been is rounded again, by the error of the sum. One function of the module
// does this for the lanes of a warp, as code of so many conversions for each would take long to compile.
#include "jit/fused.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <vector>

#include "jit/host.h"

namespace raddle::jit {
namespace {

constexpr unsigned kChunk = 4;    // lanes that the function does at once
constexpr unsigned kAtMost = 32;  // lanes of a call

unsigned lanes_of(const llvm::Value* v) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? vector->getNumElements() : 1;
}

/// The type, or as many of it as v has lanes.
llvm::Type* like(const llvm::Value* v, llvm::Type* element) {
  return v->getType()->isVectorTy()
             ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, lanes_of(v)))
             : element;
}

/// a * b and c in f64, where both are exact.
struct Terms {
  Terms(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    auto wide = [&](llvm::Value* x) { return ir.CreateFPExt(x, like(x, ir.getDoubleTy())); };
    product = ir.CreateFMul(wide(a), wide(b));
    addend = wide(c);
    sum = ir.CreateFAdd(product, addend);
  }
  llvm::Value *product, *addend, *sum;
};

/// The sum rounded to odd: whatever it is rounded to next, the answer is that of one rounding. The error of
/// the sum is exact (Knuth's TwoSum); infinities and NaN have none.
llvm::Value* rounded_to_odd(llvm::IRBuilder<>& ir, const Terms& t) {
  auto* i64 = like(t.sum, ir.getInt64Ty());
  auto* added = ir.CreateFSub(t.sum, t.product);
  auto* error =
      ir.CreateFAdd(ir.CreateFSub(t.product, ir.CreateFSub(t.sum, added)), ir.CreateFSub(t.addend, added));
  auto* magnitude = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, error);
  auto* is_inexact = ir.CreateFCmpOGT(magnitude, llvm::Constant::getNullValue(error->getType()));
  auto *bits = ir.CreateBitCast(t.sum, i64), *error_bits = ir.CreateBitCast(error, i64);
  // All ones where the sum lies further from zero than the exact one: then its neighbour is below.
  auto* is_above = ir.CreateAShr(ir.CreateXor(bits, error_bits), llvm::ConstantInt::get(i64, 63));
  auto* odd = ir.CreateOr(ir.CreateAdd(bits, is_above), llvm::ConstantInt::get(i64, 1));
  return ir.CreateBitCast(ir.CreateSelect(is_inexact, odd, bits), t.sum->getType());
}

/// i1 by lane: the sum may lie half way between two neighbours in f32. Those of normal numbers are told by
/// the bits that f32 has not; below, every sum that is not zero counts.
llvm::Value* may_round_twice(llvm::IRBuilder<>& ir, llvm::Value* sum) {
  const unsigned lanes = lanes_of(sum);
  auto* words = ir.CreateBitCast(sum, llvm::FixedVectorType::get(ir.getInt32Ty(), lanes * 2));
  std::vector<int> even, odd;
  for (unsigned l = 0; l < lanes; ++l) {
    even.push_back(static_cast<int>(2 * l));
    odd.push_back(static_cast<int>(2 * l + 1));
  }
  auto *low = ir.CreateShuffleVector(words, even), *high = ir.CreateShuffleVector(words, odd);
  auto splat = [&](std::uint32_t x) { return llvm::ConstantInt::get(low->getType(), x); };
  auto* is_half = ir.CreateICmpEQ(ir.CreateAnd(low, splat(0x1fffffff)), splat(0x10000000));
  constexpr std::uint32_t kNormal = 0x38100000;  // upper half of 2^-126
  // From 1 to below kNormal, as one signed comparison.
  auto* magnitude = ir.CreateAdd(ir.CreateAnd(high, splat(0x7fffffff)), splat(0x7fffffff));
  auto* is_small = ir.CreateICmpSLT(magnitude, splat(0x80000000u + kNormal - 1));
  return ir.CreateOr(is_half, is_small);
}

/// The function `void(ptr a, ptr b, ptr c, ptr results, i32 lanes)`: a * b + c, kChunk lanes at a time. First
/// all of them quickly; then, if one may be wrong, all of them exactly. One test for all is guessed right by
/// the processor: numbers of few bits often lie half way, others hardly ever.
class Vectors {
 public:
  Vectors(llvm::Module& module, const llvm::Function& caller) : ir_(module.getContext()) {
    auto* pointer = ir_.getPtrTy();
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(),
                                         {pointer, pointer, pointer, pointer, ir_.getInt32Ty()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, "fused", module);
    copy_target_attributes(*function_, caller);
    function_->addFnAttr(llvm::Attribute::NoInline);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    chunk_ = llvm::FixedVectorType::get(ir_.getFloatTy(), kChunk);
  }

  llvm::Function* make() {
    entry_ = block("entry");
    auto *quick = block("quick"), *tested = block("tested"), *exact = block("exact"), *done = block("done");
    ir_.SetInsertPoint(entry_);
    ir_.CreateBr(quick);
    auto* doubtful = write_loop(quick, tested, [](const Terms& t) { return t.sum; }, true);
    auto* bits = ir_.CreateBitCast(doubtful, ir_.getIntNTy(kChunk));
    auto* any = ir_.CreateICmpNE(bits, llvm::ConstantInt::get(bits->getType(), 0));
    entry_ = tested;
    ir_.CreateCondBr(any, exact, done, llvm::MDBuilder(ir_.getContext()).createUnlikelyBranchWeights());
    write_loop(exact, done, [this](const Terms& t) { return rounded_to_odd(ir_, t); }, false);
    ir_.CreateRetVoid();
    return function_;
  }

 private:
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function_);
  }
  llvm::Value* place(unsigned k, llvm::Value* lane) {
    return ir_.CreateInBoundsGEP(ir_.getFloatTy(), function_->getArg(k), lane);
  }

  /// Goes on at `after`.
  /// @returns lanes of a chunk, of any chunk, that may be wrong; if they are asked for
  template <class Round>
  llvm::Value* write_loop(llvm::BasicBlock* loop, llvm::BasicBlock* after, Round round, bool tests) {
    ir_.SetInsertPoint(loop);
    auto* mask = llvm::FixedVectorType::get(ir_.getInt1Ty(), kChunk);
    auto *lane = ir_.CreatePHI(ir_.getInt32Ty(), 2), *before = tests ? ir_.CreatePHI(mask, 2) : nullptr;
    auto load = [&](unsigned k) { return ir_.CreateAlignedLoad(chunk_, place(k, lane), llvm::Align(16)); };
    const Terms terms(ir_, load(0), load(1), load(2));
    llvm::Value* doubtful = tests ? ir_.CreateOr(before, may_round_twice(ir_, terms.sum)) : nullptr;
    ir_.CreateAlignedStore(ir_.CreateFPTrunc(round(terms), chunk_), place(3, lane), llvm::Align(16));
    auto* next = ir_.CreateAdd(lane, ir_.getInt32(kChunk));
    lane->addIncoming(ir_.getInt32(0), entry_);
    lane->addIncoming(next, loop);
    if (tests) before->addIncoming(llvm::Constant::getNullValue(mask), entry_);
    if (tests) before->addIncoming(doubtful, loop);
    ir_.CreateCondBr(ir_.CreateICmpULT(next, function_->getArg(4)), loop, after);
    ir_.SetInsertPoint(after);
    return doubtful;
  }

  llvm::IRBuilder<> ir_;
  llvm::Function* function_;
  llvm::Type* chunk_;
  llvm::BasicBlock* entry_ = nullptr;  // of the loop that is written
};

/// Writes the operations of one function of the module.
class Expansion {
 public:
  /// @param vectors  the function that is called; made when needed
  Expansion(llvm::Function& function, llvm::Function** vectors) : function_(function), vectors_(vectors) {}

  void run() {
    for (llvm::BasicBlock& block : function_)
      for (Group group = first_group(block); !group.empty(); group = first_group(block))
        lanes_of(group[0]) == 1 ? expand_scalar(*group[0]) : expand(group);
  }

 private:
  using Group = std::vector<llvm::IntrinsicInst*>;

  static bool is_fused(const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::fma) return false;
    const unsigned lanes = lanes_of(call);
    return call->getType()->getScalarType()->isFloatTy() &&
           (lanes == 1 || (lanes % kChunk == 0 && lanes <= kAtMost));
  }

  /// Operations that follow one another, none of which, nor what comes between, needs another's result.
  static Group first_group(llvm::BasicBlock& block) {
    Group group;
    unsigned lanes = 0;
    for (llvm::Instruction& i : block) {
      const bool needs = std::ranges::any_of(
          i.operands(), [&](const llvm::Use& u) { return std::ranges::find(group, u.get()) != group.end(); });
      if (needs) break;
      if (!is_fused(i)) continue;
      const bool fits = lanes_of(&i) > 1 && lanes + lanes_of(&i) <= kAtMost;
      if (!group.empty() && !fits) break;
      lanes += lanes_of(&i);
      group.push_back(llvm::cast<llvm::IntrinsicInst>(&i));
      if (lanes == 1) break;
    }
    return group;
  }

  /// In line, as one of a chain mostly waits for another.
  static void expand_scalar(llvm::IntrinsicInst& i) {
    llvm::IRBuilder<> ir(&i);
    const Terms terms(ir, i.getOperand(0), i.getOperand(1), i.getOperand(2));
    auto* quick = ir.CreateFPTrunc(terms.sum, i.getType());
    auto* bits = ir.CreateBitCast(terms.sum, ir.getInt64Ty());
    auto* is_half = ir.CreateICmpEQ(ir.CreateAnd(bits, 0x1fffffff), ir.getInt64(0x10000000));
    auto* below = ir.CreateSub(ir.CreateAnd(bits, ~std::uint64_t{0} >> 1), ir.getInt64(1));
    auto* is_small = ir.CreateICmpULT(below, ir.getInt64((std::uint64_t{0x381} << 52) - 1));
    auto* before = ir.GetInsertBlock();
    auto* seldom = llvm::MDBuilder(ir.getContext()).createUnlikelyBranchWeights();
    auto* end = llvm::SplitBlockAndInsertIfThen(ir.CreateOr(is_half, is_small), &i, false, seldom);
    ir.SetInsertPoint(end);
    auto* exact = ir.CreateFPTrunc(rounded_to_odd(ir, terms), i.getType());
    ir.SetInsertPoint(&i);
    auto* result = ir.CreatePHI(i.getType(), 2);
    result->addIncoming(quick, before);
    result->addIncoming(exact, end->getParent());
    i.replaceAllUsesWith(result);
    i.eraseFromParent();
  }

  /// One call for all of them.
  void expand(const Group& group) {
    if (*vectors_ == nullptr) *vectors_ = Vectors(*function_.getParent(), function_).make();
    llvm::IRBuilder<> ir(group.back());
    unsigned lanes = 0;
    for (llvm::IntrinsicInst* i : group) {
      for (unsigned k = 0; k < 3; ++k)
        ir.CreateAlignedStore(i->getOperand(k), at(ir, k, lanes), llvm::Align(16));
      lanes += lanes_of(i);
    }
    ir.CreateCall(*vectors_, {place(0), place(1), place(2), place(3), ir.getInt32(lanes)});
    lanes = 0;
    for (llvm::IntrinsicInst* i : group) {
      i->replaceAllUsesWith(ir.CreateAlignedLoad(i->getType(), at(ir, 3, lanes), llvm::Align(16)));
      lanes += lanes_of(i);
      i->eraseFromParent();
    }
  }

  llvm::Value* at(llvm::IRBuilder<>& ir, unsigned k, unsigned lane) {
    return ir.CreateConstInBoundsGEP1_32(ir.getFloatTy(), place(k), lane);
  }

  /// The function's place for operands of number k; 3: for results.
  llvm::Value* place(unsigned k) {
    if (places_[k] == nullptr) {
      auto& entry = function_.getEntryBlock();
      llvm::IRBuilder<> ir(&entry, entry.begin());
      places_[k] = ir.CreateAlloca(llvm::ArrayType::get(ir.getFloatTy(), kAtMost), nullptr, "fused");
      places_[k]->setAlignment(llvm::Align(16));
    }
    return places_[k];
  }

  llvm::Function& function_;
  llvm::Function** vectors_;
  llvm::AllocaInst* places_[4] = {};
};

}  // namespace

llvm::PreservedAnalyses ExpandFused::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  llvm::Function* vectors = nullptr;
  std::vector<llvm::Function*> functions;
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) functions.push_back(&f);
  for (llvm::Function* f : functions) Expansion(*f, &vectors).run();
  return llvm::PreservedAnalyses::none();
}

}  // namespace raddle::jit
