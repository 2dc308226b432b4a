#include "jit/prefetch.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace raddle::jit {
namespace {

constexpr std::int64_t kLine = 64;
/// Below it, bytes per iteration, the host's prefetchers follow by themselves.
constexpr std::int64_t kFarStep = 2048;
/// Lines under way per loop: what hides the latency of memory, and still fits the ways of a second-level
/// cache where the steps are powers of two (measured on Zen 4: 32 to 64 lines are alike, 16 lose a seventh,
/// 96 all).
constexpr std::int64_t kLinesAhead = 32;

/// A widened narrow counter counts as a wide one: should it wrap, prefetching elsewhere does no harm.
class Widened : public llvm::SCEVRewriteVisitor<Widened> {
 public:
  explicit Widened(llvm::ScalarEvolution& evolution) : SCEVRewriteVisitor(evolution) {}
  const llvm::SCEV* visitSignExtendExpr(const llvm::SCEVSignExtendExpr* e) {
    return extended(visit(e->getOperand()), e->getType(), true);
  }
  const llvm::SCEV* visitZeroExtendExpr(const llvm::SCEVZeroExtendExpr* e) {
    return extended(visit(e->getOperand()), e->getType(), false);
  }

 private:
  const llvm::SCEV* extended(const llvm::SCEV* e, llvm::Type* type, bool is_signed) {
    auto wide = [&](const llvm::SCEV* x) {
      return is_signed ? SE.getSignExtendExpr(x, type) : SE.getZeroExtendExpr(x, type);
    };
    const auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(e);
    if (!counter || !counter->isAffine()) return wide(e);
    // Steps are distances: negative ones stay negative.
    return SE.getAddRecExpr(wide(counter->getStart()),
                            SE.getSignExtendExpr(counter->getStepRecurrence(SE), type), counter->getLoop(),
                            llvm::SCEV::FlagAnyWrap);
  }
};

struct FarLoad {
  llvm::Instruction* load;
  llvm::Value* pointer;
  const llvm::SCEV* address;  ///< as an integer
  const llvm::SCEV* step;     ///< bytes per iteration
  std::int64_t bytes;
};

class LoopPrefetcher {
 public:
  LoopPrefetcher(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const llvm::DataLayout& layout)
      : loop_(loop), evolution_(evolution), layout_(layout) {}

  bool run() {
    if (!loop_.getLoopPreheader()) return false;
    for (llvm::BasicBlock* block : loop_.blocks())
      for (llvm::Instruction& i : *block)
        if (i.hasMetadata(kDeviceLoad)) consider(i);
    if (far_.empty()) return false;
    std::int64_t lines = 0;
    for (const FarLoad& f : far_) lines += (f.bytes + kLine - 1) / kLine;
    const std::int64_t iterations = std::max<std::int64_t>(1, kLinesAhead / lines);
    llvm::SCEVExpander expander(evolution_, layout_, "ahead");
    for (const FarLoad& f : far_) prefetch(f, iterations, expander);
    return true;
  }

 private:
  /// The address as a sum of integers. Device addresses are computed as integers, so that a pointer is one of
  /// them made a pointer, or some bytes from it.
  const llvm::SCEV* integer(llvm::Value* pointer) {
    if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointer))
      return evolution_.getSCEV(cast->getOperand(0));
    if (auto* gep = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
      const llvm::SCEV* base = integer(gep->getPointerOperand());
      const llvm::SCEV* distance =
          evolution_.getMinusSCEV(evolution_.getSCEV(gep), evolution_.getSCEV(gep->getPointerOperand()));
      if (!base || llvm::isa<llvm::SCEVCouldNotCompute>(distance)) return nullptr;
      return evolution_.getAddExpr(base, distance);
    }
    return nullptr;
  }

  void consider(llvm::Instruction& i) {
    llvm::Value* pointer = nullptr;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) pointer = load->getPointerOperand();
    if (auto* masked = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        masked && masked->getIntrinsicID() == llvm::Intrinsic::masked_load)
      pointer = masked->getArgOperand(0);
    const llvm::SCEV* address = pointer ? integer(pointer) : nullptr;
    if (!address) return;
    address = Widened(evolution_).visit(address);
    const auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
    if (!counter || counter->getLoop() != &loop_ || !counter->isAffine()) return;
    const llvm::SCEV* step = counter->getStepRecurrence(evolution_);
    if (const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(step);
        constant && constant->getAPInt().abs().ult(kFarStep))
      return;
    const auto bytes = static_cast<std::int64_t>(layout_.getTypeStoreSize(i.getType()).getFixedValue());
    if (is_covered(address)) return;
    far_.push_back({&i, pointer, address, step, bytes});
  }

  /// Another load of the loop touches the same line, or nearly.
  bool is_covered(const llvm::SCEV* address) {
    return std::any_of(far_.begin(), far_.end(), [&](const FarLoad& f) {
      const auto* apart = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getMinusSCEV(address, f.address));
      return apart && apart->getAPInt().abs().ult(kLine);
    });
  }

  void prefetch(const FarLoad& f, std::int64_t iterations, llvm::SCEVExpander& expander) {
    llvm::Instruction* outside = loop_.getLoopPreheader()->getTerminator();
    if (!expander.isSafeToExpandAt(f.step, outside)) return;
    llvm::Value* step = expander.expandCodeFor(f.step, f.step->getType(), outside);
    llvm::IRBuilder<> before(outside);
    llvm::Value* distance = before.CreateMul(step, llvm::ConstantInt::get(step->getType(), iterations));
    llvm::IRBuilder<> ir(f.load);
    llvm::Value* ahead = ir.CreateGEP(ir.getInt8Ty(), f.pointer, distance);
    for (std::int64_t line = 0; line < f.bytes; line += kLine)
      ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir.getPtrTy()},
                         {ir.CreateConstGEP1_64(ir.getInt8Ty(), ahead, line), ir.getInt32(0), ir.getInt32(2),
                          ir.getInt32(1)});
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  const llvm::DataLayout& layout_;
  std::vector<FarLoad> far_;
};

}  // namespace

llvm::PreservedAnalyses PrefetchFarLoads::run(llvm::Function& function,
                                              llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  if (loops.empty()) return llvm::PreservedAnalyses::all();
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder())
    if (loop->isInnermost()) changed |= LoopPrefetcher(*loop, evolution, function.getDataLayout()).run();
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace raddle::jit
