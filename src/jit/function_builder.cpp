#include "jit/function_builder.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>

namespace raddle::jit {
namespace {

llvm::FunctionType* type_of(llvm::LLVMContext& context, const KernelPlan& kernel, const ptx::Function& f) {
  auto* pointer = llvm::PointerType::getUnqual(context);
  if (!f.is_entry) return device_function_type(context);
  if (kernel.has_states()) {
    auto* i32 = llvm::Type::getInt32Ty(context);
    return llvm::FunctionType::get(i32, {pointer, pointer, i32}, false);
  }
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
}

}  // namespace

llvm::FunctionType* device_function_type(llvm::LLVMContext& context) {
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* i32 = llvm::Type::getInt32Ty(context);
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i32, pointer, pointer, i32},
                                 false);
}

void keep_in_memory(Builder& ir, llvm::Value* variable) {
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy()}, false);
  ir.CreateCall(llvm::InlineAsm::get(type, "", "r,~{memory}", true), {variable});
}

FunctionBuilder::FunctionBuilder(ModuleBuilder& module, const FunctionPlan& plan)
    : ir(module.llvm.getContext()), simd_(module.simd) {
  const ptx::Function& f = plan.function;
  const std::string name = (plan.together ? kTogetherName : f.is_entry ? "kernel." : "function.") + f.name;
  function_ = module.llvm.getFunction(name);
  if (!function_)
    function_ = llvm::Function::Create(
        type_of(ir.getContext(), module.kernel, f),
        f.is_entry ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name, module.llvm);
  // LLVM would delete dead loads and treat a store to null as unreachable (decisions: null pointers are valid
  // addresses).
  function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  const std::uint32_t first_line = f.instructions.empty() ? 0 : f.instructions.front().line;
  subprogram_ = module.debug.subprogram(name, first_line);
  function_->setSubprogram(subprogram_);
  at_line(0);
  entry_ = new_block("entry");
  body_ = new_block("body");
  exit_ = new_block("exit");
  Builder(entry_).CreateBr(body_);
  ir.SetInsertPoint(body_);
}

void FunctionBuilder::if_then(llvm::Value* condition, const std::function<void()>& then,
                              llvm::MDNode* weights) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition); constant && constant->isZero()) return;
  auto *yes = new_block("then"), *after = new_block("after");
  ir.CreateCondBr(condition, yes, after, weights);
  ir.SetInsertPoint(yes);
  then();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

void FunctionBuilder::if_else(llvm::Value* condition, const std::function<void()>& then,
                              const std::function<void()>& otherwise) {
  auto *yes = new_block("all"), *no = new_block("some"), *after = new_block("after");
  ir.CreateCondBr(condition, yes, no);
  ir.SetInsertPoint(yes);
  then();
  ir.CreateBr(after);
  ir.SetInsertPoint(no);
  otherwise();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

void FunctionBuilder::if_seldom(llvm::Value* condition, const std::function<void()>& then) {
  if_then(condition, then, llvm::MDBuilder(ir.getContext()).createUnlikelyBranchWeights());
}

void FunctionBuilder::two_ways(llvm::Value* condition, const std::function<void()>& likely,
                               const std::function<void()>& otherwise) {
  if (writes_otherwise()) return otherwise();
  if (writes_likely()) {
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
        known == nullptr || known->isZero()) {
      if (*leave_ == nullptr) *leave_ = new_block("wrapped");
      auto* yes = new_block("strided");
      ir.CreateCondBr(condition, yes, *leave_, llvm::MDBuilder(ir.getContext()).createLikelyBranchWeights());
      ir.SetInsertPoint(yes);
    }
    return likely();
  }
  auto *yes = new_block("strided"), *no = new_block("wrapped"), *after = new_block("accessed");
  ir.CreateCondBr(condition, yes, no, llvm::MDBuilder(ir.getContext()).createLikelyBranchWeights());
  ir.SetInsertPoint(yes);
  likely();
  ir.CreateBr(after);
  ir.SetInsertPoint(no);
  otherwise();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

void FunctionBuilder::two_ways_together(llvm::Value* condition, std::function<void()> likely,
                                        std::function<void()> otherwise) {
  ways_.push_back({warp_, condition, std::move(likely), std::move(otherwise)});
}

void FunctionBuilder::write_ways() {
  if (ways_.empty()) return;
  const std::vector<Ways> all = std::exchange(ways_, {});
  llvm::Value* condition = all[0].condition;
  for (std::size_t n = 1; n < all.size(); ++n) condition = ir.CreateAnd(condition, all[n].condition);
  const auto each = [&](std::function<void()> Ways::* way) {
    for (const Ways& one : all) {
      at_warp(one.warp);
      at_line(line_);
      (one.*way)();
    }
  };
  two_ways(condition, [&] { each(&Ways::likely); }, [&] { each(&Ways::otherwise); });
  at_warp(0);
}

std::vector<llvm::Value*> FunctionBuilder::conditional(
    llvm::Value* condition, const std::vector<llvm::Type*>& types,
    const std::function<std::vector<llvm::Value*>()>& make) {
  auto *yes = new_block("access"), *after = new_block("accessed");
  auto* before = ir.GetInsertBlock();
  ir.CreateCondBr(condition, yes, after);
  ir.SetInsertPoint(yes);
  auto made = make();
  auto* made_in = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  std::vector<llvm::Value*> result;
  for (std::size_t k = 0; k < types.size(); ++k) {
    auto* phi = ir.CreatePHI(types[k], 2);
    phi->addIncoming(made[k], made_in);
    phi->addIncoming(llvm::Constant::getNullValue(types[k]), before);
    result.push_back(phi);
  }
  return result;
}

llvm::AllocaInst* FunctionBuilder::entry_alloca(llvm::Type* type, const char* name, unsigned align) {
  Builder at(entry_, entry_->begin());
  auto* variable = at.CreateAlloca(type, nullptr, name);
  if (align) variable->setAlignment(llvm::Align(align));
  return variable;
}

llvm::AllocaInst* FunctionBuilder::shared_alloca(llvm::Type* type, const std::string& name, unsigned align) {
  llvm::AllocaInst*& variable = shared_[name];
  if (variable == nullptr) variable = entry_alloca(type, name.c_str(), align);
  return variable;
}

llvm::Value* FunctionBuilder::place_in(llvm::Instruction* variable, unsigned bytes) {
  Builder at(entry_, std::next(variable->getIterator()));
  return at.CreateConstInBoundsGEP1_32(at.getInt8Ty(), variable, bytes);
}

void FunctionBuilder::begin_as_zero(llvm::Value* variable, llvm::Type* type) {
  Builder at(body_, body_->begin());
  if (!type->isArrayTy())
    at.CreateStore(llvm::Constant::getNullValue(type), variable);
  else  // LLVM would make a store of each element
    at.CreateMemSet(variable, at.getInt8(0), body_->getDataLayout().getTypeAllocSize(type),
                    llvm::MaybeAlign(16));
}

void FunctionBuilder::at_line(std::uint32_t line, LaneRun lanes) {
  line_ = line;
  lanes.warp = warp_;
  ir.SetCurrentDebugLocation(llvm::DILocation::get(ir.getContext(), line, lanes.column(), subprogram_));
}

llvm::Value* FunctionBuilder::lane_numbers(unsigned bits, unsigned p) {
  std::vector<llvm::Constant*> numbers;
  for (unsigned l = 0; l < lanes(); ++l) numbers.push_back(ir.getIntN(bits, p * lanes() + l));
  return llvm::ConstantVector::get(numbers);
}

}  // namespace raddle::jit
