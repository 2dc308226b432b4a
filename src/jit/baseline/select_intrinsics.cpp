// LLVM's intrinsics: functions that are an instruction or a few of the host.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

using asmjit::InstId;
using llvm::Intrinsic::ID;

void Selector::visitIntrinsicInst(llvm::IntrinsicInst& i) {
  switch (i.getIntrinsicID()) {
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
      return;
    case llvm::Intrinsic::prefetch: {
      constexpr InstId kByLocality[] = {Inst::kIdPrefetchnta, Inst::kIdPrefetcht2, Inst::kIdPrefetcht1,
                                        Inst::kIdPrefetcht0};
      const auto locality = llvm::cast<llvm::ConstantInt>(i.getArgOperand(2))->getZExtValue();
      a_.emit(kByLocality[locality], address(i.getArgOperand(0)));
      return;
    }
    case llvm::Intrinsic::masked_load:
      return masked_load(i);
    case llvm::Intrinsic::masked_store:
      return masked_store(i);
    case llvm::Intrinsic::masked_gather:
      return gather(i);
    case llvm::Intrinsic::masked_scatter:
      return scatter(i);
    case llvm::Intrinsic::memset:
      return fill(i);
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memmove:
      return copy(i);
    case llvm::Intrinsic::fma:
      return fused(i);
    case llvm::Intrinsic::frameaddress:
      a_.mov(define_general(&i, 64), x86::rbp);
      return;
    case llvm::Intrinsic::vector_reduce_add:
    case llvm::Intrinsic::vector_reduce_or:
    case llvm::Intrinsic::vector_reduce_and:
    case llvm::Intrinsic::vector_reduce_xor:
    case llvm::Intrinsic::vector_reduce_umax:
    case llvm::Intrinsic::vector_reduce_umin:
    case llvm::Intrinsic::vector_reduce_smax:
    case llvm::Intrinsic::vector_reduce_smin:
      if (!reduce(i)) cannot(i);
      return;
    case llvm::Intrinsic::vector_insert:
      if (!insert_part(i)) cannot(i);
      return;
    case llvm::Intrinsic::vector_extract:
      if (!extract_part(i)) cannot(i);
      return;
    case llvm::Intrinsic::x86_avx512_vpdpbusd_512:
      if (!dot(i, Inst::kIdVpdpbusd)) cannot(i);
      return;
    case llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512:
      if (!dot(i, Inst::kIdVdpbf16ps)) cannot(i);
      return;
    default:
      break;
  }
  const auto kind = shape_of(i.getType());
  if (!kind || !(kind->kind == Class::general ? scalar_intrinsic(i) : vector_intrinsic(i))) cannot(i);
}

/// Into the register of what is added, or of the factor whose home is the result's, too.
void Selector::fused(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  if (all.element_bits < 32) return cannot(i);
  const bool is_double = all.element_bits == 64, is_vector = i.getType()->isVectorTy();
  const InstId add_to = is_vector ? (is_double ? Inst::kIdVfmadd231pd : Inst::kIdVfmadd231ps)
                                  : (is_double ? Inst::kIdVfmadd231sd : Inst::kIdVfmadd231ss);
  const InstId multiply = is_vector ? (is_double ? Inst::kIdVfmadd213pd : Inst::kIdVfmadd213ps)
                                    : (is_double ? Inst::kIdVfmadd213sd : Inst::kIdVfmadd213ss);
  auto second = [&](const llvm::Value* value, unsigned n) {
    return is_vector ? vector_or_memory(value, n, all.element_bits) : asmjit::Operand(vector(value, n));
  };
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const llvm::Value *left = i.getArgOperand(0), *right = i.getArgOperand(1), *sum = i.getArgOperand(2);
    if (is_at_home_of(i, right, n)) std::swap(left, right);
    const bool has_home = analysis_.pieces[piece(&i, n)].home >= 0;
    auto is_free = [&](const llvm::Value* value) {
      return !has_home && places_.is_last_use(piece(value, n)) && places_.is_in_register(piece(value, n));
    };
    if (!is_free(left) && is_free(right)) std::swap(left, right);
    if (is_at_home_of(i, left, n) ? !is_at_home_of(i, sum, n) : is_free(left) && !is_free(sum)) {
      const x86::Vec other = vector(right, n);
      const asmjit::Operand added = second(sum, n);
      const unsigned to = places_.define_from(piece(&i, n), piece(left, n));
      a_.emit(multiply, vector_register(to, all.bytes_of(n)), other, added);
      continue;
    }
    const x86::Vec first = vector(left, n);
    const asmjit::Operand other = second(right, n);
    const unsigned to = places_.define_from(piece(&i, n), piece(sum, n));
    a_.emit(add_to, vector_register(to, all.bytes_of(n)), first, other);
  }
}

/// Sums of products of narrow lanes.
bool Selector::dot(llvm::IntrinsicInst& i, std::uint32_t instruction) {
  const unsigned left = vector(i.getArgOperand(1)).id(), right = vector(i.getArgOperand(2)).id();
  const unsigned to = places_.define_from(piece(&i), piece(i.getArgOperand(0)));
  a_.emit(instruction, x86::zmm(to), x86::zmm(left), x86::zmm(right));
  return true;
}

/// An instruction of one operand, or two if the intrinsic has.
void Selector::each_piece(llvm::IntrinsicInst& i, std::uint32_t instruction, int immediate) {
  const Shape all = shape(&i);
  const bool has_two = i.arg_size() > 1 && shape_of(i.getArgOperand(1)->getType()) &&
                       shape(i.getArgOperand(1)).kind == Class::vector;
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec first = vector(i.getArgOperand(0), n);
    const x86::Vec second = has_two ? vector(i.getArgOperand(1), n) : x86::Vec();
    const x86::Vec to = define_vector(&i, n);
    if (has_two)
      a_.emit(instruction, to, first, second);
    else if (immediate >= 0)
      a_.emit(instruction, to, first, asmjit::Imm(immediate));
    else
      a_.emit(instruction, to, first);
  }
}

bool Selector::vector_intrinsic(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  if (all.kind != Class::vector || all.is_mask) return false;
  if (intrinsic_by_several(i)) return true;
  const unsigned bits = all.element_bits;
  const bool is_vector = i.getType()->isVectorTy(), is_wide = bits == 64;
  const llvm::Type* element = i.getType()->getScalarType();
  const bool is_float = element->isFloatTy() || element->isDoubleTy();
  auto round = [&](int how) {
    if (!is_float) return false;
    const bool is_narrow = !form_.mask_registers;  // vrndscale is of AVX-512
    const InstId of_floats = is_narrow ? Inst::kIdVroundps : Inst::kIdVrndscaleps,
                 of_doubles = is_narrow ? Inst::kIdVroundpd : Inst::kIdVrndscalepd,
                 of_float = is_narrow ? Inst::kIdVroundss : Inst::kIdVrndscaless,
                 of_double = is_narrow ? Inst::kIdVroundsd : Inst::kIdVrndscalesd;
    if (!is_vector) {
      const x86::Vec from = vector(i.getArgOperand(0));
      const x86::Vec to = define_vector(&i);
      a_.emit(is_wide ? of_double : of_float, to, from, from, asmjit::Imm(how));
      return true;
    }
    each_piece(i, is_wide ? of_doubles : of_floats, how);
    return true;
  };
  auto by_size = [&](InstId of_8, InstId of_16, InstId of_32, InstId of_64) {
    each_piece(i, BySize{of_8, of_16, of_32, of_64}[bits]);
    return true;
  };
  switch (i.getIntrinsicID()) {
    case llvm::Intrinsic::sqrt:
      if (!is_float) return false;
      if (!is_vector) {
        const x86::Vec from = vector(i.getArgOperand(0));
        a_.emit(is_wide ? Inst::kIdVsqrtsd : Inst::kIdVsqrtss, define_vector(&i), from, from);
        return true;
      }
      each_piece(i, is_wide ? Inst::kIdVsqrtpd : Inst::kIdVsqrtps);
      return true;
    case llvm::Intrinsic::fabs:
      if (!is_float) return false;
      with_bits(i, llvm::Instruction::And, is_wide ? 0x7fffffffffffffffu : 0x7fffffff7fffffffu);
      return true;
    case llvm::Intrinsic::copysign:
      if (!is_float) return false;
      repeat(kScratchVector, is_wide ? 0x8000000000000000u : 0x8000000080000000u);
      for (unsigned n = 0; n < all.count; ++n) {  // bits of the second where the constant has ones
        const unsigned sign = vector(i.getArgOperand(1), n).id();
        const unsigned to = places_.define_from(piece(&i, n), piece(i.getArgOperand(0), n));
        const x86::Vec other = whole(kScratchVector2);
        a_.emit(logic(llvm::Instruction::Xor), other, whole(to), whole(sign));
        a_.emit(logic(llvm::Instruction::And), other, other, whole(kScratchVector));
        a_.emit(logic(llvm::Instruction::Xor), whole(to), whole(to), other);
      }
      return true;
    case llvm::Intrinsic::rint:
      return round(4);
    case llvm::Intrinsic::nearbyint:
      return round(12);
    case llvm::Intrinsic::roundeven:
      return round(8);
    case llvm::Intrinsic::floor:
      return round(9);
    case llvm::Intrinsic::ceil:
      return round(10);
    case llvm::Intrinsic::trunc:
      return round(11);
    case llvm::Intrinsic::umin:
      return by_size(Inst::kIdVpminub, Inst::kIdVpminuw, Inst::kIdVpminud, Inst::kIdVpminuq);
    case llvm::Intrinsic::umax:
      return by_size(Inst::kIdVpmaxub, Inst::kIdVpmaxuw, Inst::kIdVpmaxud, Inst::kIdVpmaxuq);
    case llvm::Intrinsic::smin:
      return by_size(Inst::kIdVpminsb, Inst::kIdVpminsw, Inst::kIdVpminsd, Inst::kIdVpminsq);
    case llvm::Intrinsic::smax:
      return by_size(Inst::kIdVpmaxsb, Inst::kIdVpmaxsw, Inst::kIdVpmaxsd, Inst::kIdVpmaxsq);
    case llvm::Intrinsic::ctpop:
      if (bits < 32 || !form_.population_counts) return false;
      return by_size(0, 0, Inst::kIdVpopcntd, Inst::kIdVpopcntq);
    case llvm::Intrinsic::ctlz:
      if (bits < 32 || !form_.mask_registers) return false;
      return by_size(0, 0, Inst::kIdVplzcntd, Inst::kIdVplzcntq);
    case llvm::Intrinsic::x86_avx512_rsqrt14_ps_512:
    case llvm::Intrinsic::x86_avx512_rcp14_ps_512: {
      const auto* all_lanes = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(2));
      if (!all_lanes || !all_lanes->isMinusOne()) return false;
      const x86::Vec from = vector(i.getArgOperand(0));
      a_.emit(i.getIntrinsicID() == llvm::Intrinsic::x86_avx512_rcp14_ps_512 ? Inst::kIdVrcp14ps
                                                                             : Inst::kIdVrsqrt14ps,
              define_vector(&i), from);
      return true;
    }
    case llvm::Intrinsic::x86_avx512_mask_scalef_ps_512: {
      const auto* all_lanes = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(3));
      if (!all_lanes || !all_lanes->isMinusOne()) return false;
      const x86::Vec from = vector(i.getArgOperand(0)), exponents = vector(i.getArgOperand(1));
      a_.emit(Inst::kIdVscalefps, define_vector(&i), from, exponents);
      return true;
    }
    case llvm::Intrinsic::cttz:
      if (bits != 32) return false;
      count_trailing(i);
      return true;
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
      return rotate(i);
    case llvm::Intrinsic::x86_avx512_pmaddw_d_512: {
      const x86::Vec left = vector(i.getArgOperand(0)), right = vector(i.getArgOperand(1));
      a_.vpmaddwd(define_vector(&i).zmm(), left.zmm(), right.zmm());
      return true;
    }
    case llvm::Intrinsic::x86_avx512_permvar_di_512: {
      const x86::Vec from = vector(i.getArgOperand(0)), index = vector(i.getArgOperand(1));
      a_.emit(Inst::kIdVpermq, define_vector(&i).zmm(), index.zmm(), from.zmm());
      return true;
    }
    case llvm::Intrinsic::bitreverse:
      if (bits < 32) return false;
      lane_by_lane(i, 1, [&](unsigned) {
        const x86::Gp value = general_register(kScratch.id(), bits),
                      odd = general_register(kScratch2.id(), bits);
        static constexpr std::uint64_t kOdd[] = {0x5555555555555555u, 0x3333333333333333u,
                                                 0x0f0f0f0f0f0f0f0fu};
        for (unsigned step = 0; step < 3; ++step) {
          a_.mov(kScratch3, kOdd[step]);
          a_.mov(odd, value);
          a_.shr(odd, 1u << step);
          a_.and_(odd, general_register(kScratch3.id(), bits));
          a_.and_(value, general_register(kScratch3.id(), bits));
          a_.shl(value, 1u << step);
          a_.or_(value, odd);
        }
        a_.bswap(value);
      });
      return true;
    case llvm::Intrinsic::uadd_sat:
    case llvm::Intrinsic::usub_sat:
    case llvm::Intrinsic::sadd_sat:
    case llvm::Intrinsic::ssub_sat:
      if (bits > 16) return saturate(i);
      switch (i.getIntrinsicID()) {
        case llvm::Intrinsic::uadd_sat:
          return by_size(Inst::kIdVpaddusb, Inst::kIdVpaddusw, 0, 0);
        case llvm::Intrinsic::usub_sat:
          return by_size(Inst::kIdVpsubusb, Inst::kIdVpsubusw, 0, 0);
        case llvm::Intrinsic::sadd_sat:
          return by_size(Inst::kIdVpaddsb, Inst::kIdVpaddsw, 0, 0);
        default:
          return by_size(Inst::kIdVpsubsb, Inst::kIdVpsubsw, 0, 0);
      }
    default:
      return false;
  }
}

/// Sums and differences of 32 bits that stay where they would leave the type.
bool Selector::saturate(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  if (all.element_bits != 32) return false;
  const ID id = i.getIntrinsicID();
  const bool is_sum = id == llvm::Intrinsic::uadd_sat || id == llvm::Intrinsic::sadd_sat;
  const bool is_signed = id == llvm::Intrinsic::sadd_sat || id == llvm::Intrinsic::ssub_sat;
  const x86::KReg beyond = x86::k(kScratchMask);
  if (is_signed) repeat(kScratchVector3, 0x7fffffff7fffffffu);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Zmm left = vector(i.getArgOperand(0), n).zmm(), right = vector(i.getArgOperand(1), n).zmm();
    const x86::Zmm to = define_vector(&i, n).zmm(), sign = x86::zmm(kScratchVector),
                   other = x86::zmm(kScratchVector2);
    is_sum ? a_.vpaddd(to, left, right) : a_.vpsubd(to, left, right);
    if (!is_signed && is_sum) {
      a_.vpcmpud(beyond, to, left, 1);
      a_.k(beyond).vpternlogd(to, to, to, 0xff);
    } else if (!is_signed) {
      a_.vpcmpud(beyond, left, right, 1);
      a_.k(beyond).vpxord(to, to, to);
    } else {  // the result's sign is neither operand's (of a difference: the left's, where they differ)
      a_.vpxord(sign, left, to);
      a_.vpxord(other, is_sum ? right : left, is_sum ? to : right);
      a_.vpandd(sign, sign, other);
      a_.vpmovd2m(beyond, sign);
      a_.vpsrad(other, left, 31);
      a_.vpxord(other, other, x86::zmm(kScratchVector3));
      a_.k(beyond).vmovdqa32(to, other);
    }
  }
  return true;
}

/// The upper or lower half of two values side by side that are shifted together.
bool Selector::rotate(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  const unsigned bits = all.element_bits;
  if (bits != 32 && bits != 64) return false;
  const bool is_left = i.getIntrinsicID() == llvm::Intrinsic::fshl, is_wide = bits == 64;
  const x86::Vec limit = whole(kScratchVector3);
  repeat(kScratchVector3, is_wide ? 0x3fu : 0x0000001f0000001fu);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec high = whole(vector(i.getArgOperand(0), n).id()),
                   low = whole(vector(i.getArgOperand(1), n).id()),
                   by = whole(vector(i.getArgOperand(2), n).id()), to = whole(define_vector(&i, n).id());
    const x86::Vec amount = whole(kScratchVector), rest = whole(kScratchVector2);
    a_.emit(logic(llvm::Instruction::And), amount, by, limit);
    a_.emit(logic(llvm::Instruction::Xor), rest, amount,
            limit);  // one less than what is left, so that the other shift is one and that
    const InstId left = is_wide ? Inst::kIdVpsllvq : Inst::kIdVpsllvd,
                 right = is_wide ? Inst::kIdVpsrlvq : Inst::kIdVpsrlvd;
    if (is_left) {
      a_.emit(is_wide ? Inst::kIdVpsrlq : Inst::kIdVpsrld, to, low, asmjit::Imm(1));
      a_.emit(right, to, to, rest);
      a_.emit(left, amount, high, amount);
    } else {
      a_.emit(is_wide ? Inst::kIdVpsllq : Inst::kIdVpslld, to, high, asmjit::Imm(1));
      a_.emit(left, to, to, rest);
      a_.emit(right, amount, low, amount);
    }
    a_.emit(logic(llvm::Instruction::Or), to, to, amount);
  }
  return true;
}

/// 31 less the leading zeros of the lowest bit alone, and 32 where there is none.
void Selector::count_trailing(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  repeat(kScratchVector3, 0x0000001f0000001fu);
  a_.mov(x86::eax, 32);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Zmm from = vector(i.getArgOperand(0), n).zmm();
    const x86::Zmm to = define_vector(&i, n).zmm(), lowest = x86::zmm(kScratchVector);
    a_.vpxord(lowest, lowest, lowest);
    a_.vpsubd(lowest, lowest, from);
    a_.vpandd(lowest, lowest, from);
    a_.vplzcntd(lowest, lowest);
    a_.vpsubd(to, x86::zmm(kScratchVector3), lowest);
    a_.vptestnmd(x86::k(kScratchMask), from, from);
    a_.k(x86::k(kScratchMask)).vpbroadcastd(to, x86::eax);
  }
}

/// Two scalars side by side, shifted together: what comes out of the one is of the other.
bool Selector::shift_two(llvm::IntrinsicInst& i, unsigned bits) {
  if (shape(&i).element_bits < 32) return false;
  const bool is_left = i.getIntrinsicID() == llvm::Intrinsic::fshl;
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(2));
  const x86::Gp from = general(i.getArgOperand(is_left ? 0 : 1), bits),
                filling = general(i.getArgOperand(is_left ? 1 : 0), bits);
  if (!by) a_.mov(x86::ecx, general(i.getArgOperand(2), 32));
  const x86::Gp to = define_general(&i, bits);
  const asmjit::Operand amount =
      by ? asmjit::Operand(asmjit::Imm(by->getZExtValue() % bits)) : asmjit::Operand(x86::cl);
  if (i.getArgOperand(0) == i.getArgOperand(1)) {  // which processors of AMD do in one operation, not six
    a_.mov(to, from);
    a_.emit(is_left ? Inst::kIdRol : Inst::kIdRor, to, amount);
    return true;
  }
  if (to.id() == filling.id()) return false;
  a_.mov(to, from);
  a_.emit(is_left ? Inst::kIdShld : Inst::kIdShrd, to, filling, amount);
  return true;
}

bool Selector::scalar_intrinsic(llvm::IntrinsicInst& i) {
  const unsigned own = shape(&i).element_bits, bits = own == 64 ? 64 : 32;
  if (i.arg_size() == 0) return false;
  const llvm::Value* value = i.getArgOperand(0);
  if (const auto* least = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&i)) {
    const x86::Gp left = extended(value, bits, least->isSigned()),
                  right = extended(i.getArgOperand(1), bits, least->isSigned());
    const x86::Gp to = define_general(&i, bits);
    a_.mov(to, right);
    a_.cmp(left, right);
    a_.cmov(condition_of(least->getPredicate()), to, left);
    return true;
  }
  switch (i.getIntrinsicID()) {
    case llvm::Intrinsic::usub_sat: {
      const x86::Gp left = extended(value, bits, false), right = extended(i.getArgOperand(1), bits, false);
      const x86::Gp to = define_general(&i, bits);
      a_.xor_(x86::eax, x86::eax);
      a_.mov(to, left);
      a_.sub(to, right);
      a_.cmov(x86::CondCode::kB, to, general_register(kScratch.id(), bits));
      return true;
    }
    case llvm::Intrinsic::ctpop: {
      const x86::Gp from = extended(value, bits, false);
      a_.popcnt(define_general(&i, bits), from);
      return true;
    }
    case llvm::Intrinsic::cttz: {
      if (own == 1) return false;
      x86::Gp from = general(value, bits);
      if (own < 32) {
        a_.mov(x86::eax, from.r32());
        a_.or_(x86::eax, static_cast<std::int32_t>(1u << own));
        from = x86::eax;
      }
      a_.tzcnt(define_general(&i, bits), from);
      return true;
    }
    case llvm::Intrinsic::ctlz: {
      if (own == 1) return false;
      const x86::Gp from = extended(value, bits, false);
      const x86::Gp to = define_general(&i, bits);
      a_.lzcnt(to, from);
      if (own < 32) a_.sub(to, 32 - own);
      return true;
    }
    case llvm::Intrinsic::bswap: {
      if (own < 32) return false;
      const x86::Gp from = general(value, bits);
      const x86::Gp to = define_general(&i, bits);
      a_.mov(to, from);
      a_.bswap(to);
      return true;
    }
    case llvm::Intrinsic::abs: {
      if (own < 32) return false;
      const x86::Gp from = general(value, bits);
      const x86::Gp to = define_general(&i, bits);
      a_.mov(to, from);
      a_.neg(to);
      a_.cmov(x86::CondCode::kS, to, from);
      return true;
    }
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
      return shift_two(i, bits);
    default:
      return false;
  }
}

}  // namespace raddle::jit::baseline
