#include "jit/matrix_late.h"

#include <functional>

#include "exec/wgmma.h"
#include "jit/value.h"

namespace raddle::jit {
namespace {

using exec::IssuedWgmma;

constexpr unsigned kRegisterBytes = exec::kWarpSize * 4;
constexpr unsigned kAlign = 64;

class LateWriter {
 public:
  LateWriter(llvm::Function* function, const WarpgroupProductForm& form)
      : function_(function),
        ir_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
        form_(form),
        registers_(load(offsetof(IssuedWgmma, registers), ir_.getPtrTy())) {}

  void run(llvm::Function* product) {
    auto *garbage = block("garbage"), *multiplied = block("multiply");
    auto *d = local(result_registers(form_)), *a = local(kRegistersOfA);
    ir_.CreateCondBr(ir_.CreateIsNull(function_->getArg(1)), garbage, multiplied);
    ir_.SetInsertPoint(garbage);
    each_register(0, result_registers(form_), [&](llvm::Value* place, llvm::Value*) {
      ir_.CreateMemSet(place, ir_.getInt8(exec::kWgmmaGarbage), kRegisterBytes, llvm::Align(kAlign));
    });
    ir_.CreateRetVoid();
    ir_.SetInsertPoint(multiplied);
    gather(d, 0, result_registers(form_));
    if (form_.a_in_registers) gather(a, result_registers(form_), kRegistersOfA);
    ir_.CreateCall(product, {d, a, field(offsetof(IssuedWgmma, metadata)), function_->getArg(1), step(),
                             load(offsetof(IssuedWgmma, warp), ir_.getInt32Ty())});
    each_register(0, result_registers(form_),
                  [&](llvm::Value* place, llvm::Value* number) { copy(place, of(d, number)); });
    ir_.CreateRetVoid();
  }

 private:
  static constexpr unsigned kRegistersOfA = 4;

  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(ir_.getContext(), name, function_);
  }
  llvm::Value* field(std::size_t offset) {
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), function_->getArg(0), offset);
  }
  llvm::Value* load(std::size_t offset, llvm::Type* type) { return ir_.CreateLoad(type, field(offset)); }
  llvm::Value* local(unsigned registers) { return local_bytes(registers * kRegisterBytes); }
  llvm::Value* local_bytes(unsigned count) {
    auto* bytes = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getInt8Ty(), count));
    bytes->setAlignment(llvm::Align(kAlign));
    return bytes;
  }
  /// The WarpgroupStep.
  llvm::Value* step() {
    auto* step = local_bytes(sizeof(WarpgroupStep));
    const auto put = [&](std::size_t to, llvm::Value* value) {
      auto* wide = ir_.CreateZExt(value, ir_.getInt64Ty());
      ir_.CreateStore(wide, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), step, to));
    };
    put(offsetof(WarpgroupStep, a), load(offsetof(IssuedWgmma, a), ir_.getInt64Ty()));
    put(offsetof(WarpgroupStep, b), load(offsetof(IssuedWgmma, b), ir_.getInt64Ty()));
    put(offsetof(WarpgroupStep, adds), load(offsetof(IssuedWgmma, adds), ir_.getInt32Ty()));
    return step;
  }
  llvm::Value* of(llvm::Value* registers, llvm::Value* number) {
    return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), registers,
                                 ir_.CreateMul(number, ir_.getInt32(kRegisterBytes)));
  }
  void copy(llvm::Value* to, llvm::Value* from) {
    ir_.CreateMemCpy(to, llvm::Align(kAlign), from, llvm::Align(kAlign), kRegisterBytes);
  }
  void gather(llvm::Value* to, unsigned first, unsigned count) {
    each_register(first, count,
                  [&](llvm::Value* place, llvm::Value* number) { copy(of(to, number), place); });
  }
  /// A loop: `body(address of register first + number, number)`.
  void each_register(unsigned first, unsigned count,
                     const std::function<void(llvm::Value* place, llvm::Value* number)>& body) {
    auto *before = ir_.GetInsertBlock(), *turn = block("register"), *after = block("copied");
    ir_.CreateBr(turn);
    ir_.SetInsertPoint(turn);
    auto* number = ir_.CreatePHI(ir_.getInt32Ty(), 2);
    number->addIncoming(ir_.getInt32(0), before);
    auto* entry =
        ir_.CreateInBoundsGEP(ir_.getPtrTy(), registers_, ir_.CreateAdd(number, ir_.getInt32(first)));
    body(ir_.CreateLoad(ir_.getPtrTy(), entry), number);
    auto* next = ir_.CreateAdd(number, ir_.getInt32(1));
    number->addIncoming(next, turn);
    ir_.CreateCondBr(ir_.CreateICmpULT(next, ir_.getInt32(count)), turn, after);
    ir_.SetInsertPoint(after);
  }

  llvm::Function* function_;
  Builder ir_;
  const WarpgroupProductForm& form_;
  llvm::Value* registers_;
};

}  // namespace

unsigned result_registers(const WarpgroupProductForm& form) {
  return form.n / 8 * (form.d == isa::Type::f16 ? 2 : 4);
}

llvm::Function* late_product(llvm::Module& module, SimdForm simd, const WarpgroupProductForm& form) {
  const std::string name = "late." + form.name();
  if (auto* known = module.getFunction(name)) return known;
  auto* pointer = llvm::PointerType::getUnqual(module.getContext());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  LateWriter(function, form).run(warpgroup_product(module, simd, form));
  return function;
}

}  // namespace raddle::jit
