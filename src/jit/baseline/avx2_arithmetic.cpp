// Arithmetic that AVX2 has no instruction for: of 64 bits above all, and of numbers without signs.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "jit/baseline/avx2.h"
#include "jit/baseline/patterns.h"

namespace raddle::jit::baseline {

using asmjit::Imm;
using asmjit::InstId;

bool Avx2Selector::is_written_by_several(llvm::BinaryOperator& i) {
  const unsigned bits = shape(&i).element_bits;
  if (!i.getType()->isVectorTy() || !i.getType()->getScalarType()->isIntegerTy()) return false;
  if (i.getOpcode() == llvm::Instruction::Mul && bits == 64) return multiply(i);
  if (!i.isShift() || bits < 16) return false;
  if (i.getOpcode() == llvm::Instruction::AShr && bits == 64) {
    shift_signs(i);
    return true;
  }
  if (bits != 16 || same_in_all_lanes(i.getOperand(1))) return false;
  lane_by_lane(i, 2, [&](unsigned) {
    if (i.getOpcode() == llvm::Instruction::AShr) a_.movsx(x86::eax, x86::ax);
    a_.emit(i.getOpcode() == llvm::Instruction::Shl    ? Inst::kIdShl
            : i.getOpcode() == llvm::Instruction::LShr ? Inst::kIdShr
                                                       : Inst::kIdSar,
            x86::eax, x86::cl);
  });
  return true;
}

/// Of 64 bits: a shift, one product of 32 bits, or three of them.
bool Avx2Selector::multiply(llvm::BinaryOperator& i) {
  const llvm::Value *left = i.getOperand(0), *right = i.getOperand(1);
  const Shape all = shape(&i);
  const auto* number = same_in_all_lanes(right);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const unsigned bytes = all.bytes_of(n);
    const x86::Vec first = vector(left, n);
    if (number && number->getValue().isPowerOf2()) {
      a_.emit(Inst::kIdVpsllq, define_vector(&i, n), first, Imm(number->getValue().logBase2()));
      continue;
    }
    const x86::Vec second = vector(right, n), to = define_vector(&i, n);
    const bool is_unsigned = fits_32_bits(left, false) && fits_32_bits(right, false);
    if (is_unsigned || (fits_32_bits(left, true) && fits_32_bits(right, true))) {
      a_.emit(is_unsigned ? Inst::kIdVpmuludq : Inst::kIdVpmuldq, to, first, second);
      continue;
    }
    const x86::Vec cross = vector_register(kScratchVector, bytes),
                   other = vector_register(kScratchVector2, bytes);
    a_.emit(Inst::kIdVpsrlq, cross, first, Imm(32));
    a_.emit(Inst::kIdVpmuludq, cross, cross, second);
    a_.emit(Inst::kIdVpsrlq, other, second, Imm(32));
    a_.emit(Inst::kIdVpmuludq, other, other, first);
    a_.emit(Inst::kIdVpaddq, cross, cross, other);
    a_.emit(Inst::kIdVpsllq, cross, cross, Imm(32));
    a_.emit(Inst::kIdVpmuludq, to, first, second);
    a_.emit(Inst::kIdVpaddq, to, to, cross);
  }
  return true;
}

/// As if there were no sign, whose copies then take the places left.
void Avx2Selector::shift_signs(llvm::BinaryOperator& i) {
  const Shape all = shape(&i);
  const auto* by = same_in_all_lanes(i.getOperand(1));
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const unsigned bytes = all.bytes_of(n);
    const x86::Vec from = vector(i.getOperand(0), n), sign = vector_register(kScratchVector, bytes);
    if (by) {
      const auto amount = static_cast<std::uint32_t>(by->getZExtValue());
      const x86::Vec to = define_vector(&i, n);
      code_.clear(kScratchVector);
      a_.emit(Inst::kIdVpcmpgtq, sign, sign, from);
      a_.emit(Inst::kIdVpsllq, sign, sign, Imm(64 - amount));
      a_.emit(Inst::kIdVpsrlq, to, from, Imm(amount));
      a_.emit(Inst::kIdVpor, to, to, sign);
    } else {
      const x86::Vec amount = vector(i.getOperand(1), n), to = define_vector(&i, n);
      a_.emit(Inst::kIdVmovups, sign, repeated(std::uint64_t{1} << 63));
      a_.emit(Inst::kIdVpsrlvq, sign, sign, amount);
      a_.emit(Inst::kIdVpsrlvq, to, from, amount);
      a_.emit(Inst::kIdVpxor, to, to, sign);
      a_.emit(Inst::kIdVpsubq, to, to, sign);
    }
  }
}

// ---- casts ----

bool Avx2Selector::casts_by_several(llvm::CastInst& i) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  const bool is_from_float = i.getSrcTy()->isFPOrFPVectorTy();
  switch (i.getOpcode()) {
    case llvm::Instruction::Trunc:
      narrow_integers(i);
      return true;
    case llvm::Instruction::UIToFP:
      if (from.element_bits == 32 && to.element_bits >= 32 && from.lanes % 4 == 0) {
        to.element_bits == 32 ? floats_of_unsigned(i) : doubles_of_unsigned(i);
        return true;
      }
      [[fallthrough]];
    case llvm::Instruction::SIToFP:
      if (from.element_bits != 64 || to.element_bits < 32) return false;
      break;
    case llvm::Instruction::FPToUI:
      if (from.element_bits < 32 || to.element_bits < 32) return false;
      break;
    case llvm::Instruction::FPToSI:
      if (!is_from_float || from.element_bits < 32 || to.element_bits != 64) return false;
      break;
    default:
      return false;
  }
  convert_lanes(i);
  return true;
}

void Avx2Selector::narrow_integers(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  const auto* shift = llvm::dyn_cast<llvm::Instruction>(value);
  const bool is_upper = shift && analysis_.is_deferred(*shift);
  if (is_upper) value = shift->getOperand(0);
  const Shape from = shape(value), to = shape(&i);
  const unsigned pieces = from.element_bits / to.element_bits;
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    narrowed(define_vector(&i, n).id(), value, n * pieces, std::min(pieces, from.count - n * pieces),
             to.element_bits, is_upper ? Lanes::upper_halves : Lanes::integers);
  }
}

void Avx2Selector::narrow_words(unsigned to, unsigned bytes, unsigned bits, bool is_signed) {
  const x86::Xmm result = x86::xmm(to), low = x86::xmm(kScratchVector);
  const x86::Xmm high = bytes > 16 ? x86::xmm(kScratchVector2) : low;
  const InstId pack = is_signed ? Inst::kIdVpackssdw : Inst::kIdVpackusdw;
  if (bytes > 32) {
    a_.emit(pack, result.ymm(), low.ymm(), x86::ymm(kScratchVector3));
    a_.vpermq(result.ymm(), result.ymm(), 0xd8);
    if (bits == 8) a_.vextracti128(high, result.ymm(), 1);
  } else {
    if (bytes > 16) a_.vextracti128(high, low.ymm(), 1);
    a_.emit(pack, result, low, high);
  }
  if (bits == 8)
    a_.emit(is_signed ? Inst::kIdVpacksswb : Inst::kIdVpackuswb, result, result, bytes > 32 ? high : result);
}

/// Both halves as fractions of numbers that have room for them; their sum rounds once.
void Avx2Selector::floats_of_unsigned(llvm::CastInst& i) {
  const Shape all = shape(&i);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Vec from = vector(i.getOperand(0), n), to = define_vector(&i, n);
    const x86::Vec low = vector_register(kScratchVector, all.bytes_of(n));
    a_.emit(Inst::kIdVpblendw, low, from, repeated(0x4b0000004b000000u), Imm(0xaa));
    a_.emit(Inst::kIdVpsrld, to, from, Imm(16));
    a_.emit(Inst::kIdVpblendw, to, to, repeated(0x5300000053000000u), Imm(0xaa));
    a_.emit(Inst::kIdVsubps, to, to, repeated(0x5300008053000080u));
    a_.emit(Inst::kIdVaddps, to, to, low);
  }
}

/// Without their highest bits they have signs; 2^31 more is what they were.
void Avx2Selector::doubles_of_unsigned(llvm::CastInst& i) {
  for (unsigned n = 0; n < shape(&i).count; ++n) {
    places_.begin_piece();
    const unsigned source = vector(i.getOperand(0), n / 2).id();
    const x86::Xmm part = x86::xmm(kScratchVector);
    if (n % 2 == 1) a_.vextracti128(part, x86::ymm(source), 1);
    a_.vpxor(part, n % 2 == 1 ? part : x86::xmm(source), repeated(0x8000000080000000u));
    const x86::Vec to = define_vector(&i, n);
    a_.vcvtdq2pd(to.ymm(), part);
    a_.vaddpd(to.ymm(), to.ymm(), repeated(0x41e0000000000000u));
  }
}

/// One after the other in memory, as scalars.
void Avx2Selector::convert_lanes(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  const Shape from = shape(value), to = shape(&i);
  const bool is_signed =
      i.getOpcode() == llvm::Instruction::SIToFP || i.getOpcode() == llvm::Instruction::FPToSI;
  const bool from_integer = i.getSrcTy()->isIntOrIntVectorTy();
  const auto at = [](x86::Mem memory, unsigned lane, const Shape& all) {
    memory.addOffset(std::int64_t{lane % all.lanes_in_piece()} * all.element_bits / 8);
    memory.setSize(all.element_bits / 8);
    return memory;
  };
  const x86::Xmm number = x86::xmm(kScratchVector);
  const x86::Gp integer = x86::rax;
  for (unsigned lane = 0; lane < to.lanes; ++lane) {
    const x86::Mem source = at(places_.in_memory(piece(value, lane / from.lanes_in_piece())), lane, from),
                   result = at(places_.define_in_memory(piece(&i, lane / to.lanes_in_piece())), lane, to);
    const bool is_double = (from_integer ? to : from).element_bits == 64;
    if (from_integer) {
      a_.mov(integer, source);
      code_.clear(number.id());
      if (is_signed)
        a_.emit(is_double ? Inst::kIdVcvtsi2sd : Inst::kIdVcvtsi2ss, number, number, integer);
      else
        from_unsigned(number, integer, is_double);
      is_double ? a_.vmovsd(result, number) : a_.vmovss(result, number);
    } else {
      is_double ? a_.vmovsd(number, source) : a_.vmovss(number, source);
      if (is_signed || to.element_bits == 32)
        a_.emit(is_double ? Inst::kIdVcvttsd2si : Inst::kIdVcvttss2si, integer, number);
      else
        to_unsigned(integer, number, is_double);
      a_.mov(result, general_register(integer.id(), to.element_bits));
    }
  }
}

void Avx2Selector::convert_unsigned(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  if (i.getOpcode() == llvm::Instruction::UIToFP) {
    const unsigned bits = shape(value).element_bits;
    const x86::Gp reg = extended(value, 32, false);
    bits == 64 ? a_.mov(kScratch, reg.r64()) : a_.mov(kScratch.r32(), reg.r32());
    const x86::Xmm to = define_vector(&i).xmm();
    code_.clear(to.id());
    const bool is_double = i.getType()->isDoubleTy();
    if (bits == 64)
      from_unsigned(to, kScratch, is_double);
    else
      a_.emit(is_double ? Inst::kIdVcvtsi2sd : Inst::kIdVcvtsi2ss, to, to, kScratch);
    return;
  }
  const x86::Xmm from = vector(value).xmm();
  const bool is_double = value->getType()->isDoubleTy();
  const x86::Gp to = define_general(&i, 64);
  if (shape(&i).element_bits == 64)
    to_unsigned(to, from, is_double);
  else
    a_.emit(is_double ? Inst::kIdVcvttsd2si : Inst::kIdVcvttss2si, to, from);
}

/// Twice its half, in which the lowest bit stays to be rounded.
void Avx2Selector::from_unsigned(const x86::Xmm& to, const x86::Gp& from, bool is_double) {
  const InstId convert = is_double ? Inst::kIdVcvtsi2sd : Inst::kIdVcvtsi2ss;
  const asmjit::Label has_sign = a_.newLabel(), done = a_.newLabel();
  a_.test(from, from);
  a_.js(has_sign);
  a_.emit(convert, to, to, from);
  a_.jmp(done);
  a_.bind(has_sign);
  a_.mov(kScratch2, from);
  a_.shr(from, 1);
  a_.and_(kScratch2.r32(), 1);
  a_.or_(from, kScratch2);
  a_.emit(convert, to, to, from);
  a_.emit(is_double ? Inst::kIdVaddsd : Inst::kIdVaddss, to, to, to);
  a_.bind(done);
}

/// From 2^63 on, what is beyond, with the highest bit.
void Avx2Selector::to_unsigned(const x86::Gp& to, const x86::Xmm& from, bool is_double) {
  const InstId convert = is_double ? Inst::kIdVcvttsd2si : Inst::kIdVcvttss2si;
  const x86::Xmm rest = x86::xmm(kScratchVector2);
  const x86::Mem limit = repeated(is_double ? 0x43e0000000000000u : 0x5f0000005f000000u);
  const asmjit::Label is_large = a_.newLabel(), done = a_.newLabel();
  is_double ? a_.vcomisd(from, limit) : a_.vcomiss(from, limit);
  a_.jae(is_large);
  a_.emit(convert, to, from);
  a_.jmp(done);
  a_.bind(is_large);
  a_.emit(is_double ? Inst::kIdVsubsd : Inst::kIdVsubss, rest, from, limit);
  a_.emit(convert, to, rest);
  a_.btc(to, 63);
  a_.bind(done);
}

// ---- intrinsics ----

bool Avx2Selector::intrinsic_by_several(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  const llvm::Intrinsic::ID id = i.getIntrinsicID();
  if (id == llvm::Intrinsic::x86_avx2_pmadd_wd || id == llvm::Intrinsic::x86_avx_max_ps_256) {
    for (unsigned n = 0; n < all.count; ++n) {
      places_.begin_piece();
      const x86::Vec left = vector(i.getArgOperand(0), n), right = vector(i.getArgOperand(1), n);
      a_.emit(id == llvm::Intrinsic::x86_avx2_pmadd_wd ? Inst::kIdVpmaddwd : Inst::kIdVmaxps,
              define_vector(&i, n), left, right);
    }
    return true;
  }
  if (!i.getType()->isVectorTy() || !i.getType()->getScalarType()->isIntegerTy() || all.element_bits < 32)
    return false;
  if (id == llvm::Intrinsic::ctpop && all.element_bits == 32) {
    count_ones(i);
    return true;
  }
  const bool is_least = llvm::isa<llvm::MinMaxIntrinsic>(i);
  if (is_least && all.element_bits == 32) return false;  // the host has it
  unsigned operands = 2;
  switch (id) {
    case llvm::Intrinsic::uadd_sat:
    case llvm::Intrinsic::usub_sat:
    case llvm::Intrinsic::sadd_sat:
    case llvm::Intrinsic::ssub_sat:
      break;
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
      operands = 1;
      break;
    default:
      if (!is_least) return false;
  }
  lane_by_lane(i, operands, [&](unsigned bits) { write_lane(id, bits); });
  return true;
}

void Avx2Selector::write_lane(llvm::Intrinsic::ID id, unsigned bits) {
  const x86::Gp left = general_register(kScratch.id(), bits), right = general_register(kScratch2.id(), bits),
                limit = general_register(kScratch3.id(), bits);
  switch (id) {
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
      a_.cmp(right, left);
      return void(a_.cmov(condition_of(llvm::MinMaxIntrinsic::getPredicate(id)), left, right));
    case llvm::Intrinsic::ctpop:
      return void(a_.popcnt(left, left));
    case llvm::Intrinsic::ctlz:
      return void(a_.lzcnt(left, left));
    case llvm::Intrinsic::cttz:
      return void(a_.tzcnt(left, left));
    case llvm::Intrinsic::uadd_sat:
      a_.mov(limit, -1);
      a_.add(left, right);
      return void(a_.cmov(x86::CondCode::kB, left, limit));
    case llvm::Intrinsic::usub_sat:
      a_.mov(limit, 0);
      a_.sub(left, right);
      return void(a_.cmov(x86::CondCode::kB, left, limit));
    default: {  // the largest or, where the first has a sign, the smallest
      a_.mov(limit, left);
      a_.sar(limit, bits - 1);
      a_.not_(limit);
      a_.btc(limit, bits - 1);
      a_.emit(id == llvm::Intrinsic::sadd_sat ? Inst::kIdAdd : Inst::kIdSub, left, right);
      a_.cmov(x86::CondCode::kO, left, limit);
    }
  }
}

/// A table of the ones in four bits; the sums of bytes.
void Avx2Selector::count_ones(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  const std::string table("\0\1\1\2\1\2\2\3\1\2\2\3\2\3\3\4", 16);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const unsigned bytes = all.bytes_of(n);
    const x86::Vec from = vector(i.getArgOperand(0), n), to = define_vector(&i, n);
    const x86::Vec counts = vector_register(kScratchVector, bytes),
                   high = vector_register(kScratchVector2, bytes);
    a_.emit(Inst::kIdVmovups, counts, constant(table + table));
    a_.emit(Inst::kIdVpsrld, high, from, Imm(4));
    a_.emit(Inst::kIdVpand, high, high, repeated(0x0f0f0f0f0f0f0f0fu));
    a_.emit(Inst::kIdVpshufb, high, counts, high);
    a_.emit(Inst::kIdVpand, to, from, repeated(0x0f0f0f0f0f0f0f0fu));
    a_.emit(Inst::kIdVpshufb, to, counts, to);
    a_.emit(Inst::kIdVpaddb, to, to, high);
    a_.emit(Inst::kIdVpmaddubsw, to, to, repeated(0x0101010101010101u));
    a_.emit(Inst::kIdVpmaddwd, to, to, repeated(0x0001000100010001u));
  }
}

}  // namespace raddle::jit::baseline
