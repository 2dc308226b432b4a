// Accesses to addresses that are no multiple of their size fault (PTX ISA "Alignment"); the host would make
// them. Where the plan cannot prove alignment, an address's low bits are added into its topmost bits, which a
// user address has clear: the access of a misaligned one traps, aligned ones stay what they are (ADR 0014).
// exec::misaligned_from() finds the true address again.
#include <bit>

#include "jit/function.h"

namespace raddle::jit {

using isa::Mod;

void FunctionCompiler::trap_misaligned(const ptx::Operand& operand, Mod space, WarpValue& address,
                                       unsigned bytes) {
  if ((1u << plan.address_alignment(operand, space)) >= bytes) return;
  bool by_base = address.shape.affine;
  for (unsigned l = 0; by_base && l < exec::kWarpSize; ++l)
    by_base = address.shape.offset(l) % static_cast<std::int64_t>(bytes) == 0;
  if (!by_base) {
    std::vector<llvm::Value*> lanes;
    for (unsigned p = 0; p < parts(); ++p) lanes.push_back(part(address, p).as(Type::u64).v);
    address.parts = std::move(lanes);
    address.shape = Shape::varying();
    address.bases.clear();
    address.ok = nullptr;
  }
  // An addition, not an or: LLVM moves the part that is the same for many addresses out of loops, and what
  // is left folds into the access.
  auto change = [&](llvm::Value*& x) {
    auto* up = llvm::ConstantInt::get(x->getType(), 64 - static_cast<unsigned>(std::countr_zero(bytes)));
    x = ir.CreateAdd(x, ir.CreateShl(x, up));
  };
  for (auto*& base : address.bases) change(base);
  for (auto*& x : address.parts) change(x);
}

}  // namespace raddle::jit
