#include "jit/matrix_dots.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace raddle::jit {
namespace {

Val words_of(Val v) { return v.as(isa::Type::s32); }

}  // namespace

Val dot_of_bytes(Val unsigned_bytes, Val signed_bytes, Val sum) {
  auto* result =
      sum.ir->CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
                              {words_of(sum).v, words_of(unsigned_bytes).v, words_of(signed_bytes).v});
  return {sum.ir, result, isa::Type::s32};
}

Val dot_of_bf16(Val a, Val b, Val sum) {
  auto& ir = *sum.ir;
  auto* pairs = llvm::FixedVectorType::get(ir.getBFloatTy(), 2 * sum.lanes());
  auto* result = ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                    {sum.v, ir.CreateBitCast(a.v, pairs), ir.CreateBitCast(b.v, pairs)});
  return {sum.ir, result, isa::Type::f32};
}

}  // namespace raddle::jit
