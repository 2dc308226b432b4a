// Operations on vectors lane by lane, on masks bit by bit; scalar floats are the lowest lanes of vectors.
#include <llvm/IR/Constants.h>

#include "jit/baseline/patterns.h"
#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

using asmjit::InstId;

namespace {

InstId of_integers(unsigned opcode, unsigned bits) {
  switch (opcode) {
    case llvm::Instruction::Add:
      return BySize{Inst::kIdVpaddb, Inst::kIdVpaddw, Inst::kIdVpaddd, Inst::kIdVpaddq}[bits];
    case llvm::Instruction::Sub:
      return BySize{Inst::kIdVpsubb, Inst::kIdVpsubw, Inst::kIdVpsubd, Inst::kIdVpsubq}[bits];
    case llvm::Instruction::Mul:
      return BySize{0, Inst::kIdVpmullw, Inst::kIdVpmulld, Inst::kIdVpmullq}[bits];
    case llvm::Instruction::Shl:
      return BySize{0, Inst::kIdVpsllvw, Inst::kIdVpsllvd, Inst::kIdVpsllvq}[bits];
    case llvm::Instruction::LShr:
      return BySize{0, Inst::kIdVpsrlvw, Inst::kIdVpsrlvd, Inst::kIdVpsrlvq}[bits];
    case llvm::Instruction::AShr:
      return BySize{0, Inst::kIdVpsravw, Inst::kIdVpsravd, Inst::kIdVpsravq}[bits];
    default:
      return 0;
  }
}

InstId of_floats(unsigned opcode, bool is_double, bool is_vector) {
  auto choose = [&](InstId ps, InstId pd, InstId ss, InstId sd) {
    return is_vector ? (is_double ? pd : ps) : (is_double ? sd : ss);
  };
  switch (opcode) {
    case llvm::Instruction::FAdd:
      return choose(Inst::kIdVaddps, Inst::kIdVaddpd, Inst::kIdVaddss, Inst::kIdVaddsd);
    case llvm::Instruction::FSub:
      return choose(Inst::kIdVsubps, Inst::kIdVsubpd, Inst::kIdVsubss, Inst::kIdVsubsd);
    case llvm::Instruction::FMul:
      return choose(Inst::kIdVmulps, Inst::kIdVmulpd, Inst::kIdVmulss, Inst::kIdVmulsd);
    case llvm::Instruction::FDiv:
      return choose(Inst::kIdVdivps, Inst::kIdVdivpd, Inst::kIdVdivss, Inst::kIdVdivsd);
    default:
      return 0;
  }
}

/// How vpcmpd and vpcmpud tell.
unsigned integer_predicate(llvm::CmpInst::Predicate predicate) {
  switch (predicate) {
    case llvm::CmpInst::ICMP_EQ:
      return 0;
    case llvm::CmpInst::ICMP_ULT:
    case llvm::CmpInst::ICMP_SLT:
      return 1;
    case llvm::CmpInst::ICMP_ULE:
    case llvm::CmpInst::ICMP_SLE:
      return 2;
    case llvm::CmpInst::ICMP_NE:
      return 4;
    case llvm::CmpInst::ICMP_UGE:
    case llvm::CmpInst::ICMP_SGE:
      return 5;
    default:
      return 6;
  }
}

}  // namespace

unsigned float_predicate(llvm::CmpInst::Predicate predicate) {
  switch (predicate) {
    case llvm::CmpInst::FCMP_OEQ:
      return 0x00;
    case llvm::CmpInst::FCMP_OLT:
      return 0x11;
    case llvm::CmpInst::FCMP_OLE:
      return 0x12;
    case llvm::CmpInst::FCMP_UNO:
      return 0x03;
    case llvm::CmpInst::FCMP_UNE:
      return 0x04;
    case llvm::CmpInst::FCMP_UGE:
      return 0x15;
    case llvm::CmpInst::FCMP_UGT:
      return 0x16;
    case llvm::CmpInst::FCMP_ORD:
      return 0x07;
    case llvm::CmpInst::FCMP_UEQ:
      return 0x08;
    case llvm::CmpInst::FCMP_ULT:
      return 0x19;
    case llvm::CmpInst::FCMP_ULE:
      return 0x1a;
    case llvm::CmpInst::FCMP_ONE:
      return 0x0c;
    case llvm::CmpInst::FCMP_OGE:
      return 0x1d;
    case llvm::CmpInst::FCMP_OGT:
      return 0x1e;
    case llvm::CmpInst::FCMP_TRUE:
      return 0x0f;
    default:
      return 0x0b;
  }
}

void Selector::vector_binary(llvm::BinaryOperator& i) {
  const Shape all = shape(&i);
  const llvm::Type* element = i.getType()->getScalarType();
  if (is_written_by_several(i)) return;
  if (i.isShift()) return vector_shift(i);
  const bool is_bitwise = i.isBitwiseLogicOp();
  const bool is_float = element->isFloatTy() || element->isDoubleTy();
  if (!is_float && !element->isIntegerTy()) return cannot(i);
  InstId instruction = is_float ? of_floats(i.getOpcode(), element->isDoubleTy(), i.getType()->isVectorTy())
                       : is_bitwise ? logic(i.getOpcode(), all.element_bits)
                                    : of_integers(i.getOpcode(), all.element_bits);
  if (instruction == 0) {
    if (is_float) return cannot(i);
    const unsigned opcode = i.getOpcode();
    const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
    return lane_by_lane(i, 2, [&](unsigned bits) {
      const x86::Gp low = general_register(kScratch.id(), bits == 64 ? 64 : 32);
      const x86::Gp right = general_register(kScratch2.id(), bits == 64 ? 64 : 32);
      if (opcode == llvm::Instruction::Mul) return void(a_.imul(low, right));
      if (bits < 32)
        for (const x86::Gp& reg : {low, right}) {
          const x86::Gp narrow = bits == 8 ? x86::Gp(reg.r8()) : x86::Gp(reg.r16());
          is_signed ? a_.movsx(reg, narrow) : a_.movzx(reg, narrow);
        }
      divide_scratch(opcode, right);
    });
  }
  const llvm::Value *left = i.getOperand(0), *right = i.getOperand(1);
  if (llvm::isa<llvm::Constant>(left) && i.isCommutative()) std::swap(left, right);
  if (i.getOpcode() == llvm::Instruction::Mul && all.element_bits == 64) {  // a third of the steps
    if (fits_32_bits(left, false) && fits_32_bits(right, false))
      instruction = Inst::kIdVpmuludq;
    else if (fits_32_bits(left, true) && fits_32_bits(right, true))
      instruction = Inst::kIdVpmuldq;
  }
  if (const auto by = form_.mask_registers ? power_and_one(i) : std::nullopt) {  // as addresses are
    for (unsigned n = 0; n < all.count; ++n) {
      places_.begin_piece();
      const x86::Vec first = vector(left, n), power = vector_register(kScratchVector, all.bytes_of(n));
      a_.emit(Inst::kIdVpsllq, power, first, asmjit::Imm(*by));
      a_.emit(Inst::kIdVpaddq, define_vector(&i, n), first, power);
    }
    return;
  }
  const bool broadcasts = i.getType()->isVectorTy() && (all.element_bits >= 32 || is_bitwise);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec first = vector(left, n);
    const asmjit::Operand second =
        i.getType()->isVectorTy()
            ? vector_or_memory(right, n, is_bitwise && all.element_bits < 32 ? 32 : all.element_bits,
                               broadcasts)
            : asmjit::Operand(vector(right, n));
    a_.emit(instruction, define_vector(&i, n), first, second);
  }
}

void Selector::vector_shift(llvm::BinaryOperator& i) {
  const Shape all = shape(&i);
  const unsigned bits = all.element_bits;
  const auto* by = same_in_all_lanes(i.getOperand(1));
  const unsigned opcode = i.getOpcode();
  if (bits == 8)
    return lane_by_lane(i, 2, [&](unsigned) {
      if (opcode == llvm::Instruction::LShr) a_.movzx(x86::eax, x86::al);
      if (opcode == llvm::Instruction::AShr) a_.movsx(x86::eax, x86::al);
      a_.emit(opcode == llvm::Instruction::Shl    ? Inst::kIdShl
              : opcode == llvm::Instruction::LShr ? Inst::kIdShr
                                                  : Inst::kIdSar,
              x86::eax, x86::cl);
    });
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec first = vector(i.getOperand(0), n);
    if (by) {
      const InstId instruction = opcode == llvm::Instruction::Shl
                                     ? BySize{0, Inst::kIdVpsllw, Inst::kIdVpslld, Inst::kIdVpsllq}[bits]
                                 : opcode == llvm::Instruction::LShr
                                     ? BySize{0, Inst::kIdVpsrlw, Inst::kIdVpsrld, Inst::kIdVpsrlq}[bits]
                                     : BySize{0, Inst::kIdVpsraw, Inst::kIdVpsrad, Inst::kIdVpsraq}[bits];
      a_.emit(instruction, define_vector(&i, n), first, asmjit::Imm(by->getZExtValue()));
    } else {
      const asmjit::Operand second = vector_or_memory(i.getOperand(1), n, bits, bits >= 32);
      a_.emit(of_integers(opcode, bits), define_vector(&i, n), first, second);
    }
  }
}

void Selector::lane_by_lane(llvm::Instruction& i, unsigned operands,
                            llvm::function_ref<void(unsigned)> write) {
  const Shape all = shape(&i);
  const unsigned bytes = all.element_bits / 8;
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    x86::Mem from[2];
    for (unsigned k = 0; k < operands; ++k) from[k] = places_.in_memory(piece(i.getOperand(k), n));
    const x86::Mem to = places_.define_in_memory(piece(&i, n));
    for (unsigned lane = 0; lane < all.lanes_of(n); ++lane) {
      const auto at = [&](x86::Mem memory) {
        memory.addOffset(lane * bytes);
        memory.setSize(bytes);
        return memory;
      };
      for (unsigned k = 0; k < operands; ++k) {
        const x86::Gp reg = k == 0 ? kScratch : kScratch2;
        if (bytes >= 4)
          a_.mov(general_register(reg.id(), bytes * 8), at(from[k]));
        else
          a_.movzx(reg.r32(), at(from[k]));
      }
      write(all.element_bits);
      if (bytes == 1)
        a_.mov(at(to), x86::al);
      else if (bytes == 2)
        a_.mov(at(to), x86::ax);
      else
        a_.mov(at(to), general_register(kScratch.id(), bytes * 8));
    }
  }
}

void Selector::visitUnaryOperator(llvm::UnaryOperator& i) {
  const auto all = shape_of(i.getType());
  if (!all || i.getOpcode() != llvm::Instruction::FNeg || all->element_bits < 32) return cannot(i);
  const bool is_double = all->element_bits == 64;
  with_bits(i, llvm::Instruction::Xor, is_double ? 0x8000000000000000u : 0x8000000080000000u);
}

void Selector::with_bits(const llvm::Instruction& i, unsigned opcode, std::uint64_t bits) {
  const Shape all = shape(&i);
  asmjit::Operand other;
  if (form_.mask_registers) {
    x86::Mem at = code_.constant_at(code_.constant({reinterpret_cast<const char*>(&bits), sizeof bits}));
    at.setBroadcast(x86::Mem::Broadcast::k1To8);
    other = at;
  } else {
    repeat(kScratchVector, bits);
  }
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec from = whole(vector(i.getOperand(0), n).id()), to = whole(define_vector(&i, n).id());
    a_.emit(logic(opcode, 64), to, from, form_.mask_registers ? other : whole(kScratchVector));
  }
}

void Selector::visitFCmpInst(llvm::FCmpInst& i) {
  const llvm::Type* element = i.getOperand(0)->getType()->getScalarType();
  if (!element->isFloatTy() && !element->isDoubleTy()) return cannot(i);
  i.getType()->isVectorTy() ? compare_vectors(i) : compare_scalar_floats(i);
}

void Selector::compare_scalar_floats(llvm::FCmpInst& i) {
  const x86::Vec left = vector(i.getOperand(0)), right = vector(i.getOperand(1));
  a_.emit(i.getOperand(0)->getType()->isDoubleTy() ? Inst::kIdVcmpsd : Inst::kIdVcmpss, x86::k(kScratchMask),
          left, right, asmjit::Imm(float_predicate(i.getPredicate())));
  a_.kmovd(define_general(&i, 32), x86::k(kScratchMask));
}

void Selector::visitICmpInst(llvm::ICmpInst& i) {
  const auto all = shape_of(i.getOperand(0)->getType());
  if (!all) return cannot(i);
  if (all->kind == Class::general) {
    const x86::CondCode holds = compare(i);
    const x86::Gp to = define_general(&i, 32);
    a_.set(holds, kScratch.r8());  // leaves the flags alone, as define_general does
    a_.movzx(to, kScratch.r8());
    return;
  }
  if (all->kind == Class::mask) {
    if (!i.isEquality()) return cannot(i);
    const x86::KReg left = mask(i.getOperand(0)), right = mask(i.getOperand(1));
    places_.write_over(Class::mask);
    const x86::KReg to = define_mask(&i);
    i.getPredicate() == llvm::CmpInst::ICMP_NE ? a_.kxorq(to, left, right) : a_.kxnorq(to, left, right);
    if (i.getPredicate() == llvm::CmpInst::ICMP_EQ) trim(to, all->lanes);
    return;
  }
  compare_vectors(i);
}

void Selector::compare_vectors(llvm::CmpInst& i) {
  const Shape all = shape(i.getOperand(0));
  const unsigned element_bits = all.element_bits;
  constexpr BySize kSigned{Inst::kIdVpcmpb, Inst::kIdVpcmpw, Inst::kIdVpcmpd, Inst::kIdVpcmpq};
  constexpr BySize kUnsigned{Inst::kIdVpcmpub, Inst::kIdVpcmpuw, Inst::kIdVpcmpud, Inst::kIdVpcmpuq};
  InstId instruction = i.isSigned() ? kSigned[element_bits] : kUnsigned[element_bits];
  if (i.isFPPredicate()) instruction = element_bits == 64 ? Inst::kIdVcmppd : Inst::kIdVcmpps;
  const unsigned predicate =
      i.isFPPredicate() ? float_predicate(i.getPredicate()) : integer_predicate(i.getPredicate());
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec left = vector(i.getOperand(0), n);
    const asmjit::Operand right = vector_or_memory(i.getOperand(1), n, element_bits, element_bits >= 32);
    const x86::KReg made = begin_lanes(i, n);
    a_.emit(instruction, made, left, right, asmjit::Imm(predicate));
    join_lanes(i, all, n, made);
  }
}

x86::KReg Selector::begin_lanes(const llvm::Instruction& i, unsigned n) {
  return n == 0 ? define_mask(&i) : x86::k(kScratchMask);
}

void Selector::join_lanes(const llvm::Instruction& i, const Shape& from, unsigned n, const x86::KReg& made) {
  const unsigned bytes = from.bytes_of(n);
  if (bytes != 16 && bytes != 32 && bytes != 64) trim(made, from.lanes_of(n));  // no whole register's
  if (n == 0) return;
  const x86::KReg all = mask(&i);
  a_.kshiftlq(made, made, from.lanes_before(n));
  a_.korq(all, all, made);
}

void Selector::mask_binary(llvm::BinaryOperator& i) {
  const unsigned lanes = shape(&i).lanes;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(i.getOperand(1));
  if (i.getOpcode() == llvm::Instruction::Xor && constant && constant->isAllOnesValue()) {
    const x86::KReg from = mask(i.getOperand(0)), to = define_mask(&i);
    if (lanes == 16) return void(a_.knotw(to, from));
    if (lanes == 8) return void(a_.knotb(to, from));
    a_.knotq(to, from);
    return trim(to, lanes);
  }
  const x86::KReg left = mask(i.getOperand(0)), right = mask(i.getOperand(1));
  places_.write_over(Class::mask);
  const x86::KReg to = define_mask(&i);
  switch (i.getOpcode()) {
    case llvm::Instruction::And:
      return void(a_.kandq(to, left, right));
    case llvm::Instruction::Or:
      return void(a_.korq(to, left, right));
    case llvm::Instruction::Xor:
      return void(a_.kxorq(to, left, right));
    default:
      return cannot(i);
  }
}

void Selector::mask_select(llvm::SelectInst& i) {
  x86::KReg choice = x86::k(kScratchMask);
  if (i.getCondition()->getType()->isVectorTy()) {
    choice = mask(i.getCondition());
  } else {
    in_all_lanes(choice, i.getCondition());
  }
  const x86::KReg chosen = x86::k(kScratchMask), other = x86::k(kScratchMask2);
  a_.kandnq(other, choice, mask(i.getFalseValue()));
  places_.write_over(Class::mask);
  if (choice != chosen) choice = mask(i.getCondition());
  a_.kandq(chosen, choice, mask(i.getTrueValue()));
  places_.write_over(Class::mask);
  a_.korq(define_mask(&i), chosen, other);
}

void Selector::vector_select(llvm::SelectInst& i) {
  const Shape all = shape(&i);
  const bool by_lane = i.getCondition()->getType()->isVectorTy();
  if (!by_lane) {
    in_all_lanes(x86::k(kScratchMask2), i.getCondition());
  }
  const BySize blend{Inst::kIdVpblendmb, Inst::kIdVpblendmw, Inst::kIdVpblendmd, Inst::kIdVpblendmq};
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::KReg choice = by_lane ? lanes_of_piece(i.getCondition(), all, n) : x86::k(kScratchMask2);
    const x86::Vec no = vector(i.getFalseValue(), n);
    const asmjit::Operand yes =
        vector_or_memory(i.getTrueValue(), n, all.element_bits, all.element_bits >= 32);
    const x86::Vec to = define_vector(&i, n);
    a_.k(choice).emit(blend[all.element_bits], to, no, yes);
  }
}

}  // namespace raddle::jit::baseline
