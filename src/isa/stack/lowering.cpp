// JIT: the dynamic stack. How much of it each lane uses stands in the warp's context, so that called
// functions see it; a function that moves the pointer puts it back when it returns (FunctionCompiler).
// Source: PTX ISA "Stack Manipulation Instructions".
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/function.h"

namespace raddle::jit {
namespace {

using Parts = std::vector<llvm::Value*>;

struct Stack {
  explicit Stack(FunctionCompiler& compiler) : f(compiler), ir(compiler.ir), base(compiler.local_base()) {
    stride = f.splat(f.cta_field(offsetof(exec::CtaContext, local_stride), ir.getInt64Ty(), "local_stride"));
  }

  /// The pointers as generic addresses.
  llvm::Value* top(unsigned p) { return ir.CreateAdd(base[p], stride); }
  llvm::Value* pointer(unsigned p) {
    auto* used = ir.CreateAlignedLoad(words(), f.dynamic_stack(p), llvm::Align(4));
    return ir.CreateSub(top(p), ir.CreateZExt(used, top(p)->getType()));
  }
  /// Moves the pointers of the lanes that execute; a fault where one would leave the stack, or where `fits`
  /// is false.
  void move(const Parts& to, const Parts& fits) {
    Mask mask = f.executing(), outside;
    auto* frame_end = ir.CreateZExt(f.frame_end(), ir.getInt64Ty());
    for (unsigned p = 0; p < f.parts(); ++p) {
      auto* low = ir.CreateICmpUGE(to[p], ir.CreateAdd(base[p], f.splat(frame_end)));
      auto* high = ir.CreateICmpULE(to[p], top(p));
      auto* inside = ir.CreateAnd(fits[p], ir.CreateAnd(low, high));
      outside.push_back(ir.CreateAnd(mask[p], ir.CreateNot(inside)));
    }
    f.fault_lanes(exec::FaultKind::stack_overflow, outside);
    for (unsigned p = 0; p < f.parts(); ++p)
      ir.CreateMaskedStore(ir.CreateTrunc(ir.CreateSub(top(p), to[p]), words()), f.dynamic_stack(p),
                           llvm::Align(4), mask[p]);
  }
  Parts as_local(const Parts& pointers, Type type) {
    Parts result;
    for (unsigned p = 0; p < f.parts(); ++p)
      result.push_back(
          ir.CreateTrunc(ir.CreateSub(pointers[p], base[p]),
                         llvm::FixedVectorType::get(ir.getIntNTy(isa::bit_size(type)), f.lanes())));
    return result;
  }
  llvm::Type* words() { return llvm::FixedVectorType::get(ir.getInt32Ty(), f.lanes()); }

  FunctionCompiler& f;
  Builder& ir;
  Parts base;
  llvm::Value* stride;
};

llvm::Value* wide(FunctionCompiler& f, const WarpValue& value, unsigned p) {
  return f.ir.CreateZExt(f.part(value, p).as(isa::bits_type(isa::bit_size(value.type))).v,
                         llvm::FixedVectorType::get(f.ir.getInt64Ty(), f.lanes()));
}

}  // namespace

template <>
void emit<Op::stacksave>(FunctionCompiler& f) {
  Stack stack(f);
  Parts pointers;
  for (unsigned p = 0; p < f.parts(); ++p) pointers.push_back(stack.pointer(p));
  f.write_parts(f.operand(0), f.opcode().type(), stack.as_local(pointers, f.opcode().type()));
}

template <>
void emit<Op::stackrestore>(FunctionCompiler& f) {
  Stack stack(f);
  WarpValue a = f.read(0);
  Parts to, fits;
  for (unsigned p = 0; p < f.parts(); ++p) {
    auto* offset = wide(f, a, p);
    to.push_back(f.ir.CreateAdd(stack.base[p], offset));
    fits.push_back(f.ir.CreateICmpULE(offset, stack.stride));
  }
  stack.move(to, fits);
}

template <>
void emit<Op::alloca>(FunctionCompiler& f) {
  Stack stack(f);
  WarpValue size = f.read(1);
  std::uint64_t align =
      f.present(2) ? std::max<std::uint64_t>(static_cast<std::uint64_t>(f.operand(2).value), 8) : 8;
  Parts to, fits;
  for (unsigned p = 0; p < f.parts(); ++p) {
    auto* bytes = wide(f, size, p);
    fits.push_back(f.ir.CreateICmpULE(bytes, stack.stride));
    to.push_back(
        f.ir.CreateAnd(f.ir.CreateSub(stack.pointer(p), bytes), f.splat(f.ir.getInt64(~(align - 1)))));
  }
  stack.move(to, fits);
  f.write_parts(f.operand(0), f.opcode().type(), stack.as_local(to, f.opcode().type()));
}

}  // namespace raddle::jit
