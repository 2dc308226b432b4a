// JIT: products of matrices that a warp holds together: a call of the opcode's function, with the registers
// in memory that all products of a PTX function share.
#include "isa/fragment.h"
#include "isa/op.h"
#include "jit/matrix_memory.h"
#include "jit/matrix_product.h"

namespace raddle::jit {
namespace {

void emit_product(WarpEmitter& e) {
  const unsigned bits = e.type(0) == Type::f64 ? 64 : 32;
  auto *a = in_memory(e, e.elements(1), "matrix_a", bits), *b = in_memory(e, e.elements(2), "matrix_b", bits);
  llvm::Value* metadata = llvm::PoisonValue::get(e.ir.getPtrTy());
  unsigned selector = 0;
  if (isa::is_sparse(e.opcode())) {
    FragmentMemory words(e, "matrix_metadata", 32);
    words.store({e.operand(4)});
    metadata = words.place();
    selector = static_cast<unsigned>(e.operand(5).value);
  }
  auto* product = matrix_product(*e.code.function()->getParent(), e.opcode(), e.code.simd(), selector);
  if (auto* sums = e.registers.fragment(e.elements(0));
      sums != nullptr && sums == e.registers.fragment(e.elements(3))) {
    e.if_any(e.bits(e.executing()), [&] { e.ir.CreateCall(product, {sums, a, b, sums, metadata}); });
    return;
  }
  FragmentMemory d(e, "matrix_d", bits), c(e, "matrix_c", bits);
  c.store(e.elements(3));
  e.ir.CreateCall(product, {d.place(), a, b, c.place(), metadata});
  d.load(e.elements(0));
}

}  // namespace

template <>
void emit<Op::mma>(WarpEmitter& e) {
  emit_product(e);
}

template <>
void emit<Op::mma_sp>(WarpEmitter& e) {
  emit_product(e);
}

template <>
void emit<Op::wmma_mma>(WarpEmitter& e) {
  emit_product(e);
}

template <>
void emit<Op::wmma_mma_f16>(WarpEmitter& e) {
  emit_product(e);
}

}  // namespace raddle::jit
