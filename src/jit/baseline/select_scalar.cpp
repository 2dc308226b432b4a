// Integers, addresses and truths in general registers, and floats one at a time. Bits of a register beyond a
// value's type are unknown, but those of a truth, which is 0 or 1.
#include <llvm/IR/Constants.h>

#include "jit/baseline/patterns.h"
#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

using x86::CondCode;

void Selector::visitBinaryOperator(llvm::BinaryOperator& i) {
  const auto kind = shape_of(i.getType());
  if (!kind) return cannot(i);
  if (kind->kind == Class::general) return scalar_binary(i);
  if (kind->is_mask && !i.isBitwiseLogicOp()) return cannot(i);
  if (kind->kind == Class::mask) return mask_binary(i);
  vector_binary(i);
}

void Selector::scalar_binary(llvm::BinaryOperator& i) {
  const unsigned own = shape(&i).element_bits, bits = own == 64 ? 64 : 32;
  asmjit::InstId instruction = 0;
  switch (i.getOpcode()) {
    case llvm::Instruction::Add:
      instruction = own == 1 ? Inst::kIdXor : Inst::kIdAdd;
      break;
    case llvm::Instruction::Sub:
      instruction = own == 1 ? Inst::kIdXor : Inst::kIdSub;
      break;
    case llvm::Instruction::And:
      instruction = Inst::kIdAnd;
      break;
    case llvm::Instruction::Or:
      instruction = Inst::kIdOr;
      break;
    case llvm::Instruction::Xor:
      instruction = Inst::kIdXor;
      break;
    case llvm::Instruction::Mul:
      instruction = own == 1 ? Inst::kIdAnd : Inst::kIdImul;
      break;
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      return scalar_shift(i);
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      return divide(i);
    default:
      return cannot(i);
  }
  if (const auto by = power_and_one(i)) {
    const x86::Gp from = general(i.getOperand(0), 64);
    a_.mov(kScratch, from);
    a_.shl(kScratch, *by);
    return void(a_.lea(define_general(&i, 64), x86::ptr(from, kScratch)));
  }
  const llvm::Value *left = i.getOperand(0), *right = i.getOperand(1);
  if (i.isCommutative() && (llvm::isa<llvm::ConstantInt>(left) || is_at_home_of(i, right)))
    std::swap(left, right);
  asmjit::Operand other = general_or_constant(right, bits);
  if (own == 1 && other.isImm()) other = asmjit::Imm(other.as<asmjit::Imm>().value() & 1);
  if (is_made_where_used(left)) {
    const x86::Gp to = define_general(&i, bits);
    load_general(to, left);
    a_.emit(instruction, to, other);
    return;
  }
  if (own >= 32 && write_elsewhere(i, left, other)) return;
  const x86::Gp to = general_register(places_.define_from(piece(&i), piece(left)), bits);
  a_.emit(instruction, to, other);
}

bool Selector::write_elsewhere(llvm::BinaryOperator& i, const llvm::Value* left,
                               const asmjit::Operand& other) {
  const unsigned bits = shape(&i).element_bits, opcode = i.getOpcode();
  if (places_.takes_over(piece(&i), piece(left)) || !places_.is_in_register(piece(left))) return false;
  const bool is_constant = other.isImm();
  const std::int64_t number = is_constant ? other.as<asmjit::Imm>().value() : 0;
  const bool is_sum = opcode == llvm::Instruction::Add ||
                      (opcode == llvm::Instruction::Sub && is_constant && number != INT32_MIN);
  if (!is_sum && !(opcode == llvm::Instruction::Mul && is_constant)) return false;
  const x86::Gp from = general(left, 64), to = define_general(&i, bits);
  if (!is_sum)
    a_.imul(to, general_register(from.id(), bits), asmjit::Imm(number));
  else if (is_constant)
    a_.lea(to,
           x86::ptr(from, static_cast<std::int32_t>(opcode == llvm::Instruction::Add ? number : -number)));
  else
    a_.lea(to, x86::ptr(from, general_register(other.as<x86::Gp>().id(), 64)));
  return true;
}

void Selector::scalar_shift(llvm::BinaryOperator& i) {
  const unsigned own = shape(&i).element_bits, bits = own == 64 ? 64 : 32;
  if (own == 1) return cannot(i);
  const bool is_signed = i.getOpcode() == llvm::Instruction::AShr;
  const auto instruction = i.getOpcode() == llvm::Instruction::Shl ? Inst::kIdShl
                           : is_signed                             ? Inst::kIdSar
                                                                   : Inst::kIdShr;
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(i.getOperand(1));
  const bool is_left = i.getOpcode() == llvm::Instruction::Shl;
  const llvm::Value* value = i.getOperand(0);
  const bool is_read_as_is = !is_made_where_used(value) && (is_left || own >= 32);
  x86::Gp from;
  if (!is_read_as_is) from = is_left ? general(value, bits) : extended(value, bits, is_signed);
  if (!by) {
    const x86::Gp amount = general(i.getOperand(1), 32);
    a_.mov(x86::ecx, amount);
  }
  const x86::Gp to = is_read_as_is ? general_register(places_.define_from(piece(&i), piece(value)), bits)
                                   : define_general(&i, bits);
  if (!is_read_as_is) a_.mov(to, from);
  if (by)
    a_.emit(instruction, to, asmjit::Imm(by->getZExtValue() & 63));
  else
    a_.emit(instruction, to, x86::cl);
}

void Selector::divide(llvm::BinaryOperator& i) {
  const unsigned own = shape(&i).element_bits, bits = own == 64 ? 64 : 32;
  if (own == 1) return cannot(i);
  const bool is_signed = i.getOpcode() == llvm::Instruction::SDiv || i.getOpcode() == llvm::Instruction::SRem;
  const x86::Gp left = extended(i.getOperand(0), bits, is_signed),
                right = extended(i.getOperand(1), bits, is_signed);
  const x86::Gp to = define_general(&i, bits);
  const x86::Gp low = general_register(kScratch.id(), bits);
  a_.mov(low, left);
  divide_scratch(i.getOpcode(), right);
  a_.mov(to, low);
}

void Selector::divide_scratch(unsigned opcode, const x86::Gp& by) {
  const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  const unsigned bits = by.size() * 8;
  const x86::Gp low = general_register(kScratch.id(), bits), high = general_register(kScratch3.id(), bits);
  if (!is_signed)
    a_.xor_(x86::edx, x86::edx);
  else if (bits == 64)
    a_.cqo();
  else
    a_.cdq();
  a_.emit(is_signed ? Inst::kIdIdiv : Inst::kIdDiv, high, low, by);
  if (opcode == llvm::Instruction::URem || opcode == llvm::Instruction::SRem) a_.mov(low, high);
}

CondCode Selector::compare(const llvm::ICmpInst& i) {
  const llvm::Value *left = i.getOperand(0), *right = i.getOperand(1);
  const unsigned own = shape(left).element_bits, bits = own == 64 ? 64 : 32;
  if (const auto* lanes = llvm::dyn_cast<llvm::BitCastInst>(left); lanes && analysis_.is_deferred(*lanes)) {
    const x86::KReg all = mask(lanes->getOperand(0));
    a_.emit(BySize{Inst::kIdKortestb, Inst::kIdKortestw, Inst::kIdKortestd, Inst::kIdKortestq}[own], all,
            all);
    const bool is_equal = i.getPredicate() == llvm::CmpInst::ICMP_EQ;
    if (llvm::cast<llvm::ConstantInt>(right)->isZero()) return is_equal ? CondCode::kE : CondCode::kNE;
    return is_equal ? CondCode::kC : CondCode::kNC;
  }
  if (own >= 32) {
    const x86::Gp first = general(left, bits);
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(right);
    if (number && number->isZero() && i.isEquality())
      a_.test(first, first);
    else
      a_.emit(Inst::kIdCmp, first, general_or_constant(right, bits));
  } else {
    // No temporary registers: a choice by it takes all that are sure to be no homes.
    const x86::Gp first = extend(kScratch.r32(), general(left, 32), own, i.isSigned());
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(right))
      a_.cmp(first,
             i.isSigned() ? number->getSExtValue() : static_cast<std::int64_t>(number->getZExtValue()));
    else
      a_.cmp(first, extend(kScratch2.r32(), general(right, 32), own, i.isSigned()));
  }
  return condition_of(i.getPredicate());
}

CondCode condition_of(llvm::CmpInst::Predicate predicate) {
  switch (predicate) {
    case llvm::CmpInst::ICMP_EQ:
      return CondCode::kE;
    case llvm::CmpInst::ICMP_NE:
      return CondCode::kNE;
    case llvm::CmpInst::ICMP_UGT:
      return CondCode::kA;
    case llvm::CmpInst::ICMP_UGE:
      return CondCode::kAE;
    case llvm::CmpInst::ICMP_ULT:
      return CondCode::kB;
    case llvm::CmpInst::ICMP_ULE:
      return CondCode::kBE;
    case llvm::CmpInst::ICMP_SGT:
      return CondCode::kG;
    case llvm::CmpInst::ICMP_SGE:
      return CondCode::kGE;
    case llvm::CmpInst::ICMP_SLT:
      return CondCode::kL;
    default:
      return CondCode::kLE;
  }
}

CondCode Selector::condition(const llvm::Value* value) {
  if (const auto* i = llvm::dyn_cast<llvm::ICmpInst>(value); i && analysis_.is_deferred(*i))
    return compare(*i);
  const x86::Gp truth = general(value, 32);
  a_.test(truth, truth);
  return CondCode::kNE;
}

void Selector::visitSelectInst(llvm::SelectInst& i) {
  const auto kind = shape_of(i.getType());
  if (!kind) return cannot(i);
  if (kind->kind == Class::general) return scalar_select(i);
  if (kind->kind == Class::mask) return mask_select(i);
  vector_select(i);
}

void Selector::scalar_select(llvm::SelectInst& i) {
  const x86::Gp yes = general(i.getTrueValue(), 64);
  const x86::Gp no = general(i.getFalseValue(), 64);
  const CondCode holds = condition(i.getCondition());
  const x86::Gp to = define_general(&i, 64);
  if (to.id() == yes.id() || to.id() == no.id()) return cannot(i);
  a_.mov(to, no);  // leaves the flags alone
  a_.cmov(holds, to, yes);
}

void Selector::visitGetElementPtrInst(llvm::GetElementPtrInst& i) {
  if (i.getType()->isVectorTy()) return vector_of_addresses(i);
  llvm::MapVector<llvm::Value*, llvm::APInt> scaled;
  llvm::APInt constant(64, 0);
  const auto& layout = code_.module.getDataLayout();
  if (!i.collectOffset(layout, 64, scaled, constant) || !constant.isSignedIntN(32)) return cannot(i);
  const x86::Gp base = general(i.getPointerOperand(), 64);
  std::vector<std::pair<x86::Gp, std::int64_t>> indices;
  for (const auto& [index, scale] : scaled) {
    const unsigned own = shape(index).element_bits;
    x86::Gp reg = extended(index, 64, true);
    if (own == 32) {
      const x86::Gp wide = general_register(places_.temporary(Class::general), 64);
      a_.movsxd(wide, reg.r32());
      reg = wide;
    }
    indices.emplace_back(reg, scale.getSExtValue());
  }
  const x86::Gp to = define_general(&i, 64);
  x86::Mem from = x86::ptr(base, static_cast<std::int32_t>(constant.getSExtValue()));
  for (const auto& [reg, scale] : indices) {
    if (scale == 1 || scale == 2 || scale == 4 || scale == 8) {
      from.setIndex(reg, scale == 1 ? 0 : scale == 2 ? 1 : scale == 4 ? 2 : 3);
    } else {
      if (scale != static_cast<std::int32_t>(scale)) return cannot(i);
      a_.imul(kScratch, reg, static_cast<std::int32_t>(scale));
      from.setIndex(kScratch, 0);
    }
    a_.lea(to, from);
    from = x86::ptr(to);
  }
  if (indices.empty()) a_.lea(to, from);
}

/// One base, and an index for each lane.
void Selector::vector_of_addresses(llvm::GetElementPtrInst& i) {
  const auto& layout = code_.module.getDataLayout();
  if (i.getNumIndices() != 1 || i.getPointerOperand()->getType()->isVectorTy()) return cannot(i);
  const llvm::Value* index = i.getOperand(1);
  if (!index->getType()->isVectorTy()) return cannot(i);
  const Shape from = shape(index), to = shape(&i);
  const std::uint64_t scale = layout.getTypeAllocSize(i.getSourceElementType()).getFixedValue();
  if ((scale & (scale - 1)) != 0 || from.element_bits < 32 || to.lanes % 8 != 0) return cannot(i);
  const x86::Gp base = general(i.getPointerOperand(), 64);
  broadcast(whole(kScratchVector), base, 64);
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    unsigned numbers = kScratchVector2;
    if (from.element_bits == 64) {
      numbers = vector(index, n).id();
    } else if (const unsigned source = vector(index, n / 2).id(); n % 2 == 0) {
      a_.emit(Inst::kIdVpmovsxdq, whole(numbers), half(source));
    } else {
      upper_half(numbers, source);
      a_.emit(Inst::kIdVpmovsxdq, whole(numbers), half(numbers));
    }
    const x86::Vec result = whole(define_vector(&i, n).id());
    a_.emit(Inst::kIdVpsllq, result, whole(numbers), asmjit::Imm(llvm::Log2_64(scale)));
    a_.emit(Inst::kIdVpaddq, result, result, whole(kScratchVector));
  }
}

}  // namespace raddle::jit::baseline
