#include "jit/prefetch.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "jit/host.h"

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

struct Ahead {
  llvm::Instruction* load;
  llvm::Value* pointer;
  const llvm::SCEV* address;  ///< as an integer
  const llvm::SCEV* step;     ///< bytes from turn to turn
  std::int64_t bytes;
};

llvm::MDNode* device_scopes(llvm::LLVMContext& context, DeviceRow row) {
  const char* name = row == DeviceRow::wide     ? "raddle.device.wide"
                     : row == DeviceRow::stream ? "raddle.device.stream"
                                                : "raddle.device";
  auto* domain = llvm::MDNode::get(context, {llvm::MDString::get(context, "raddle")});
  auto* scope = llvm::MDNode::get(context, {llvm::MDString::get(context, name), domain});
  return llvm::MDNode::get(context, {scope});
}

/// Nearly all have no mark, and are asked often: what marks look like is asked for the others.
bool is_marked(const llvm::Instruction& i, DeviceRow row) {
  const llvm::MDNode* mark = i.getMetadata(llvm::LLVMContext::MD_alias_scope);
  return mark != nullptr && mark == device_scopes(i.getContext(), row);
}

/// What a load reads or may read, null if it is none.
llvm::Value* loaded_pointer(llvm::Instruction& i) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) return load->getPointerOperand();
  auto* masked = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return masked && masked->getIntrinsicID() == llvm::Intrinsic::masked_load ? masked->getArgOperand(0)
                                                                            : nullptr;
}

/// The pointer of a marked load, but of streams; null if it is none.
llvm::Value* marked_pointer(llvm::Instruction& i) {
  return is_marked(i, DeviceRow::narrow) || is_marked(i, DeviceRow::wide) ? loaded_pointer(i) : nullptr;
}

// As llvm.prefetch counts them.
enum class Cache : std::uint8_t { second = 2, first = 3 };
enum class Use : std::uint8_t { load = 0, store = 1 };

/// The line at a pointer, into the second-level cache where many are under way, for which the first has too
/// few buffers.
void prefetch_line(llvm::IRBuilder<>& ir, llvm::Value* pointer, Cache cache = Cache::second,
                   Use use = Use::load) {
  constexpr unsigned kData = 1;
  ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir.getPtrTy()},
                     {pointer, ir.getInt32(static_cast<unsigned>(use)),
                      ir.getInt32(static_cast<unsigned>(cache)), ir.getInt32(kData)});
}

std::int64_t bytes_of(const llvm::Instruction& load, const llvm::DataLayout& layout) {
  return static_cast<std::int64_t>(layout.getTypeStoreSize(load.getType()).getFixedValue());
}

/// One load of each line of a row: of parts of a warp narrower than a line, the first.
bool begins_a_line(llvm::Value* pointer, const llvm::DataLayout& layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  return offset.srem(kLine) == 0;
}

/// The lines `behind` bytes behind those of a load.
void prefetch_row(llvm::Instruction& load, llvm::Value* pointer, std::int64_t behind, Cache cache) {
  llvm::IRBuilder<> ir(&load);
  for (std::int64_t line = 0; line < bytes_of(load, load.getDataLayout()); line += kLine)
    prefetch_line(ir, ir.CreateConstGEP1_64(ir.getInt8Ty(), pointer, behind + line), cache);
}

/// Loads outside of loops: a warp's rows in straight code.
bool prefetch_behind(llvm::Function& function, const llvm::LoopInfo& loops) {
  const llvm::DataLayout& layout = function.getDataLayout();
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    if (loops.getLoopFor(&block)) continue;
    for (llvm::Instruction& i : block) {
      llvm::Value* pointer = i.getType()->isVectorTy() ? marked_pointer(i) : nullptr;
      if (!pointer || !begins_a_line(pointer, layout)) continue;
      prefetch_row(i, pointer, is_marked(i, DeviceRow::wide) ? kFarBehind : kBehind, Cache::second);
      changed = true;
    }
  }
  return changed;
}

/// Loads of whole vectors in kernels without loops, in the loops over warps and blocks.
bool prefetch_streams(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getDataLayout();
  bool changed = false;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    if (!i.getType()->isVectorTy() || !is_marked(i, DeviceRow::stream)) continue;
    llvm::Value* pointer = loaded_pointer(i);
    if (!pointer || !begins_a_line(pointer, layout)) continue;
    prefetch_row(i, pointer, kStreamBehind, Cache::first);
    changed = true;
  }
  return changed;
}

bool is_scattered_store(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call && call->getIntrinsicID() == llvm::Intrinsic::masked_scatter && is_marked(i, DeviceRow::narrow);
}

/// Scatters that follow one another, as the parts of a warp do.
using ScatterRow = std::vector<llvm::IntrinsicInst*>;

std::vector<ScatterRow> rows_of_scatters(llvm::Function& function) {
  std::vector<ScatterRow> rows;
  for (llvm::BasicBlock& block : function) {
    bool goes_on = false;
    for (llvm::Instruction& i : block) {
      const bool is_one = is_scattered_store(i);
      if (is_one && !goes_on) rows.emplace_back();
      if (is_one) rows.back().push_back(llvm::cast<llvm::IntrinsicInst>(&i));
      goes_on = is_one;
    }
  }
  return rows;
}

unsigned lanes_of(const llvm::IntrinsicInst& scatter) {
  return llvm::cast<llvm::FixedVectorType>(scatter.getArgOperand(1)->getType())->getNumElements();
}

/// Writes the function that fetches the lines of some vectors of addresses, to be written, by way of memory:
/// processors take a vector apart more slowly. One for the module: in a kernel that stores a tile the same
/// code for each row was a quarter of all.
class ScatterFetcher {
 public:
  /// Its convention hands over the whole vectors in registers, and keeps the upper 16.
  static constexpr llvm::CallingConv::ID kConvention = llvm::CallingConv::Intel_OCL_BI;

  /// @param caller  for which processor
  static llvm::Function* get(const llvm::Function& caller, llvm::Module& module,
                             const std::vector<llvm::Type*>& vectors) {
    std::string name = "raddle.fetch_lines";
    for (const llvm::Type* vector : vectors) name += "." + std::to_string(lanes_in(vector));
    if (auto* known = module.getFunction(name)) return known;
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), vectors, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    copy_target_attributes(*function, caller);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->setCallingConv(kConvention);
    ScatterFetcher(*function).write();
    return function;
  }

 private:
  static constexpr unsigned kLanesATurn = 8, kLanesOfHalf = 4;

  explicit ScatterFetcher(llvm::Function& function)
      : function_(function), ir_(llvm::BasicBlock::Create(function.getContext(), "entry", &function)) {}

  static unsigned lanes_in(const llvm::Type* vector) {
    return llvm::cast<llvm::FixedVectorType>(vector)->getNumElements();
  }

  void write() {
    unsigned lanes = 0;
    for (const llvm::Argument& vector : function_.args()) lanes += lanes_in(vector.getType());
    lines_ = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getPtrTy(), lanes), nullptr, "lines");
    lines_->setAlignment(llvm::Align(kLine));
    unsigned lane = 0;
    for (llvm::Argument& vector : function_.args()) {
      put_down(vector, lane);
      lane += lanes_in(vector.getType());
    }
    fetch(lanes);
    ir_.CreateRetVoid();
  }

  /// In pieces of 32 bytes, as HalveStores does it, and why.
  void put_down(llvm::Value& vector, unsigned to) {
    const unsigned lanes = lanes_in(vector.getType()), piece = std::gcd(lanes, kLanesOfHalf);
    for (unsigned first = 0; first < lanes; first += piece) {
      std::vector<int> which(piece);
      std::iota(which.begin(), which.end(), static_cast<int>(first));
      ir_.CreateAlignedStore(ir_.CreateShuffleVector(&vector, which), line_of(ir_.getInt64(to + first)),
                             llvm::Align(8), true);
    }
  }

  llvm::Value* line_of(llvm::Value* lane) { return ir_.CreateInBoundsGEP(ir_.getPtrTy(), lines_, lane); }

  void fetch(unsigned lanes) {
    llvm::BasicBlock* entry = ir_.GetInsertBlock();
    auto* turn = llvm::BasicBlock::Create(function_.getContext(), "turn", &function_);
    auto* done = llvm::BasicBlock::Create(function_.getContext(), "done", &function_);
    ir_.CreateBr(turn);
    ir_.SetInsertPoint(turn);
    auto* lane = ir_.CreatePHI(ir_.getInt64Ty(), 2, "lane");
    lane->addIncoming(ir_.getInt64(0), entry);
    const unsigned together = std::gcd(lanes, kLanesATurn);
    for (unsigned k = 0; k < together; ++k)
      prefetch_line(ir_, ir_.CreateLoad(ir_.getPtrTy(), line_of(ir_.CreateAdd(lane, ir_.getInt64(k)))),
                    Cache::first, Use::store);
    auto* next = ir_.CreateAdd(lane, ir_.getInt64(together));
    lane->addIncoming(next, turn);
    ir_.CreateCondBr(ir_.CreateICmpEQ(next, ir_.getInt64(lanes)), done, turn);
    ir_.SetInsertPoint(done);
  }

  llvm::Function& function_;
  llvm::IRBuilder<> ir_;
  llvm::AllocaInst* lines_ = nullptr;
};

bool is_all_ones(const llvm::Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant && constant->isAllOnesValue();
}

/// Before the row's first, if all lanes store: few lanes' lines are not worth 32 prefetches.
void fetch_first(const ScatterRow& row) {
  constexpr std::size_t kMostVectors = 4;  // in registers
  llvm::Instruction* at = row.front();
  llvm::Value* all = nullptr;
  llvm::IRBuilder<> ir(at);
  for (const llvm::IntrinsicInst* scatter : row) {
    llvm::Value* mask = scatter->getArgOperand(3);
    if (!is_all_ones(mask)) all = all ? ir.CreateAnd(all, mask) : mask;
  }
  if (all != nullptr) {
    auto* bits = ir.getIntNTy(lanes_of(*row.front()));
    llvm::Value* every = ir.CreateICmpEQ(ir.CreateBitCast(all, bits), llvm::Constant::getAllOnesValue(bits));
    ir.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(every, at->getIterator(), false));
  }
  for (std::size_t first = 0; first < row.size(); first += kMostVectors) {
    std::vector<llvm::Value*> vectors;
    std::vector<llvm::Type*> types;
    for (std::size_t n = first; n < std::min(first + kMostVectors, row.size()); ++n) {
      vectors.push_back(row[n]->getArgOperand(1));
      types.push_back(vectors.back()->getType());
    }
    llvm::Function& caller = *at->getFunction();
    auto* call = ir.CreateCall(ScatterFetcher::get(caller, *caller.getParent(), types), vectors);
    call->setCallingConv(ScatterFetcher::kConvention);
  }
}

/// What a loop loads some turns later, where it steps far. Loops inside it load nothing from device memory,
/// as those over lanes: they would push out what was fetched.
class LoopPrefetcher {
 public:
  LoopPrefetcher(llvm::ScalarEvolution& evolution, const llvm::DataLayout& layout)
      : evolution_(evolution), layout_(layout), expander_(evolution, layout, "ahead") {}

  bool run(llvm::Loop& loop, const llvm::LoopInfo& loops) {
    llvm::BasicBlock* before = loop.getLoopPredecessor();
    if (!before) return false;
    for (llvm::BasicBlock* block : loop.blocks()) {
      const bool is_inside = loops.getLoopFor(block) != &loop;
      for (llvm::Instruction& i : *block) {
        if (!is_inside) {
          consider(i, loop);
        } else if (marked_pointer(i)) {
          return false;
        }
      }
    }
    std::int64_t lines = 0;
    for (const Ahead& a : ahead_) lines += (a.bytes + kLine - 1) / kLine;
    for (const Ahead& a : ahead_)
      prefetch(a, std::max<std::int64_t>(1, kLinesAhead / lines), before->getTerminator());
    return !ahead_.empty();
  }

 private:
  void consider(llvm::Instruction& i, const llvm::Loop& loop) {
    llvm::Value* pointer = nullptr;
    const llvm::SCEV* address = address_of(i, pointer);
    if (!address) return;
    address = Widened(evolution_).visit(address);
    const auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address);
    if (!counter || counter->getLoop() != &loop || !counter->isAffine()) return;
    const llvm::SCEV* step = counter->getStepRecurrence(evolution_);
    const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(step);
    if (constant && constant->getAPInt().abs().ult(kFarStep)) return;
    add(i, pointer, address, step);
  }

  /// Address of a marked load as a sum of integers, null if it is none. Device addresses are computed as
  /// integers, so that a pointer is one of them made a pointer, or some bytes from it.
  const llvm::SCEV* address_of(llvm::Instruction& i, llvm::Value*& pointer) {
    pointer = marked_pointer(i);
    return pointer ? integer(pointer) : nullptr;
  }

  /// Notes a load, unless one before it touches the same line, or nearly.
  void add(llvm::Instruction& i, llvm::Value* pointer, const llvm::SCEV* address, const llvm::SCEV* step) {
    for (const Ahead& other : ahead_) {
      const auto* apart = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getMinusSCEV(address, other.address));
      if (apart && apart->getAPInt().abs().ult(kLine)) return;
    }
    ahead_.push_back({&i, pointer, address, step, bytes_of(i, layout_)});
  }

  void prefetch(const Ahead& a, std::int64_t turns, llvm::Instruction* outside) {
    if (!expander_.isSafeToExpandAt(a.step, outside)) return;
    llvm::Value*& distance = distances_[a.step];  // one for all: each would keep a register
    if (!distance) {
      distance = expander_.expandCodeFor(a.step, a.step->getType(), outside);
      if (turns != 1)
        distance = llvm::IRBuilder<>(outside).CreateMul(distance,
                                                        llvm::ConstantInt::get(distance->getType(), turns));
    }
    llvm::IRBuilder<> ir(a.load);
    llvm::Value* first = ir.CreateGEP(ir.getInt8Ty(), a.pointer, distance);
    for (std::int64_t line = 0; line < a.bytes; line += kLine)
      prefetch_line(ir, ir.CreateConstGEP1_64(ir.getInt8Ty(), first, line));
  }

  const llvm::SCEV* integer(llvm::Value* pointer) {
    if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointer))
      return evolution_.getSCEV(cast->getOperand(0));
    auto* gep = llvm::dyn_cast<llvm::GEPOperator>(pointer);
    const llvm::SCEV* base = gep ? integer(gep->getPointerOperand()) : nullptr;
    if (!base) return nullptr;
    const llvm::SCEV* distance =
        evolution_.getMinusSCEV(evolution_.getSCEV(gep), evolution_.getSCEV(gep->getPointerOperand()));
    return llvm::isa<llvm::SCEVCouldNotCompute>(distance) ? nullptr : evolution_.getAddExpr(base, distance);
  }

  llvm::ScalarEvolution& evolution_;
  const llvm::DataLayout& layout_;
  std::vector<Ahead> ahead_;
  llvm::DenseMap<const llvm::SCEV*, llvm::Value*> distances_;  // that loads are fetched ahead, by their steps
  llvm::SCEVExpander expander_;
};

}  // namespace

void mark_device_load(llvm::Instruction& load, DeviceRow row) {
  load.setMetadata(llvm::LLVMContext::MD_alias_scope, device_scopes(load.getContext(), row));
}

llvm::PreservedAnalyses PrefetchScattered::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const std::vector<ScatterRow> rows = rows_of_scatters(function);
  if (rows.empty()) return llvm::PreservedAnalyses::all();
  for (const ScatterRow& row : rows) fetch_first(row);
  return llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses PrefetchLoads::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  bool changed = false;
  if (!loops.empty()) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop* loop : loops.getLoopsInPreorder())
      changed |= LoopPrefetcher(evolution, function.getDataLayout()).run(*loop, loops);
  }
  changed |= prefetch_behind(function, loops);
  if (streams_) changed |= prefetch_streams(function);
  if (!changed) return llvm::PreservedAnalyses::all();
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

}  // namespace raddle::jit
