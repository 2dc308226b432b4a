// JIT: the dynamic stack. How much of it each lane uses stands in the warp's context, so that called
// functions see it; a function that moves the pointer puts it back when it returns (CallStack).
// Source: PTX ISA "Stack Manipulation Instructions".
#include <llvm/IR/Intrinsics.h>

#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

using Parts = std::vector<llvm::Value*>;

struct Stack {
  explicit Stack(WarpEmitter& emitter) : e(emitter), ir(e.ir), base(e.spaces.local_base()) {
    stride = e.splat(e.spaces.local_bytes());
  }

  /// The pointers as generic addresses.
  llvm::Value* top(unsigned p) { return ir.CreateAdd(base[p], stride); }
  llvm::Value* pointer(unsigned p) {
    auto* used = ir.CreateAlignedLoad(words(), e.spaces.dynamic_stack(p), llvm::Align(4));
    return ir.CreateSub(top(p), ir.CreateZExt(used, top(p)->getType()));
  }
  /// Moves the pointers of the lanes that execute; a fault where one would leave the stack, or where `fits`
  /// is false.
  void move(const Parts& to, const Parts& fits) {
    Mask mask = e.executing(), outside;
    auto* frame_end = ir.CreateZExt(e.spaces.frame_end(), ir.getInt64Ty());
    for (unsigned p = 0; p < e.parts(); ++p) {
      auto* low = ir.CreateICmpUGE(to[p], ir.CreateAdd(base[p], e.splat(frame_end)));
      auto* high = ir.CreateICmpULE(to[p], top(p));
      auto* inside = ir.CreateAnd(fits[p], ir.CreateAnd(low, high));
      outside.push_back(ir.CreateAnd(mask[p], ir.CreateNot(inside)));
    }
    e.context.fault_lanes(exec::FaultKind::stack_overflow, outside);
    for (unsigned p = 0; p < e.parts(); ++p)
      ir.CreateMaskedStore(ir.CreateTrunc(ir.CreateSub(top(p), to[p]), words()), e.spaces.dynamic_stack(p),
                           llvm::Align(4), mask[p]);
  }
  Parts as_local(const Parts& pointers, Type type) {
    Parts result;
    for (unsigned p = 0; p < e.parts(); ++p)
      result.push_back(
          ir.CreateTrunc(ir.CreateSub(pointers[p], base[p]),
                         llvm::FixedVectorType::get(ir.getIntNTy(isa::bit_size(type)), e.lanes())));
    return result;
  }
  llvm::Type* words() { return llvm::FixedVectorType::get(ir.getInt32Ty(), e.lanes()); }

  WarpEmitter& e;
  Builder& ir;
  Parts base;
  llvm::Value* stride;
};

llvm::Value* wide(WarpEmitter& e, const WarpValue& value, unsigned p) {
  return e.ir.CreateZExt(e.part(value, p).as(isa::bits_type(isa::bit_size(value.type))).v,
                         llvm::FixedVectorType::get(e.ir.getInt64Ty(), e.lanes()));
}

}  // namespace

template <>
void emit<Op::stacksave>(WarpEmitter& e) {
  Stack stack(e);
  Parts pointers;
  for (unsigned p = 0; p < e.parts(); ++p) pointers.push_back(stack.pointer(p));
  e.out(0, e.type(), stack.as_local(pointers, e.type()));
}

template <>
void emit<Op::stackrestore>(WarpEmitter& e) {
  Stack stack(e);
  WarpValue a = e.in(0);
  Parts to, fits;
  for (unsigned p = 0; p < e.parts(); ++p) {
    auto* offset = wide(e, a, p);
    to.push_back(e.ir.CreateAdd(stack.base[p], offset));
    fits.push_back(e.ir.CreateICmpULE(offset, stack.stride));
  }
  stack.move(to, fits);
}

template <>
void emit<Op::alloca>(WarpEmitter& e) {
  Stack stack(e);
  WarpValue size = e.in(1);
  std::uint64_t align =
      e.present(2) ? std::max<std::uint64_t>(static_cast<std::uint64_t>(e.operand(2).value), 8) : 8;
  Parts to, fits;
  for (unsigned p = 0; p < e.parts(); ++p) {
    auto* bytes = wide(e, size, p);
    fits.push_back(e.ir.CreateICmpULE(bytes, stack.stride));
    to.push_back(
        e.ir.CreateAnd(e.ir.CreateSub(stack.pointer(p), bytes), e.splat(e.ir.getInt64(~(align - 1)))));
  }
  stack.move(to, fits);
  e.out(0, e.type(), stack.as_local(to, e.type()));
}

}  // namespace raddle::jit
