// From one type to another.
#include <llvm/IR/Constants.h>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

using asmjit::InstId;

namespace {

InstId widening(unsigned from, unsigned to, bool is_signed) {
  if (from == 8 && to == 16) return is_signed ? Inst::kIdVpmovsxbw : Inst::kIdVpmovzxbw;
  if (from == 8 && to == 32) return is_signed ? Inst::kIdVpmovsxbd : Inst::kIdVpmovzxbd;
  if (from == 8 && to == 64) return is_signed ? Inst::kIdVpmovsxbq : Inst::kIdVpmovzxbq;
  if (from == 16 && to == 32) return is_signed ? Inst::kIdVpmovsxwd : Inst::kIdVpmovzxwd;
  if (from == 16 && to == 64) return is_signed ? Inst::kIdVpmovsxwq : Inst::kIdVpmovzxwq;
  return is_signed ? Inst::kIdVpmovsxdq : Inst::kIdVpmovzxdq;
}

InstId narrowing(unsigned from, unsigned to) {
  if (from == 64) return to == 32 ? Inst::kIdVpmovqd : to == 16 ? Inst::kIdVpmovqw : Inst::kIdVpmovqb;
  if (from == 32) return to == 16 ? Inst::kIdVpmovdw : Inst::kIdVpmovdb;
  return Inst::kIdVpmovwb;
}

/// Of vectors: between integers and floats, or floats of two sizes. 0: the host has none.
InstId conversion(const llvm::CastInst& i) {
  const llvm::Type *from = i.getSrcTy()->getScalarType(), *to = i.getDestTy()->getScalarType();
  const unsigned from_bits = from->getPrimitiveSizeInBits(), to_bits = to->getPrimitiveSizeInBits();
  if (from_bits < 32 && !from->isHalfTy()) return 0;
  const bool wide_from = from_bits == 64, wide_to = to_bits == 64;
  switch (i.getOpcode()) {
    case llvm::Instruction::FPExt:
      if (from->isHalfTy()) return to->isFloatTy() ? Inst::kIdVcvtph2ps : 0;
      return Inst::kIdVcvtps2pd;
    case llvm::Instruction::FPTrunc:
      return to->isFloatTy()                       ? Inst::kIdVcvtpd2ps
             : to->isHalfTy() && from->isFloatTy() ? Inst::kIdVcvtps2ph
                                                   : 0;
    case llvm::Instruction::SIToFP:
      if (to_bits < 32) return 0;
      return wide_from ? (wide_to ? Inst::kIdVcvtqq2pd : Inst::kIdVcvtqq2ps)
                       : (wide_to ? Inst::kIdVcvtdq2pd : Inst::kIdVcvtdq2ps);
    case llvm::Instruction::UIToFP:
      if (to_bits < 32) return 0;
      return wide_from ? (wide_to ? Inst::kIdVcvtuqq2pd : Inst::kIdVcvtuqq2ps)
                       : (wide_to ? Inst::kIdVcvtudq2pd : Inst::kIdVcvtudq2ps);
    case llvm::Instruction::FPToSI:
      if (to_bits < 32 || from->isHalfTy()) return 0;
      return wide_from ? (wide_to ? Inst::kIdVcvttpd2qq : Inst::kIdVcvttpd2dq)
                       : (wide_to ? Inst::kIdVcvttps2qq : Inst::kIdVcvttps2dq);
    case llvm::Instruction::FPToUI:
      if (to_bits < 32 || from->isHalfTy()) return 0;
      return wide_from ? (wide_to ? Inst::kIdVcvttpd2uqq : Inst::kIdVcvttpd2udq)
                       : (wide_to ? Inst::kIdVcvttps2uqq : Inst::kIdVcvttps2udq);
    default:
      return 0;
  }
}

}  // namespace

/// Whether a value's register has zeros beyond its type: of all truths, and of what was written by an
/// instruction on 32 bits.
bool Selector::is_zero_beyond(const llvm::Value* value) const {
  if (is_made_where_used(value)) return false;
  if (value->getType()->isIntegerTy(1)) return true;
  const auto* i = llvm::dyn_cast<llvm::Instruction>(value);
  if (!i) return false;
  switch (i->getOpcode()) {
    case llvm::Instruction::Load:
      return true;
    case llvm::Instruction::BitCast:
      return i->getOperand(0)->getType()->isIntOrIntVectorTy(1);
    case llvm::Instruction::Trunc:
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Mul:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      return value->getType()->isIntegerTy(32);
    default:
      return false;
  }
}

void Selector::visitCastInst(llvm::CastInst& i) {
  const auto from = shape_of(i.getSrcTy()), to = shape_of(i.getDestTy());
  if (!from || !to) return cannot(i);
  bool is_known = false;
  if (from->is_mask)
    is_known = cast_from_mask(i);
  else if (to->is_mask)
    is_known = cast_to_mask(i);
  else if (from->kind == Class::general && to->kind == Class::general)
    is_known = scalar_cast(i);
  else if (from->kind == Class::vector && to->kind == Class::vector)
    is_known = vector_cast(i);
  else
    is_known = between_kinds(i);
  if (!is_known) cannot(i);
}

bool Selector::scalar_cast(llvm::CastInst& i) {
  const unsigned from = shape(i.getOperand(0)).element_bits, to = shape(&i).element_bits;
  const llvm::Value* value = i.getOperand(0);
  switch (i.getOpcode()) {
    case llvm::Instruction::Trunc: {
      const x86::Gp reg = general(value, 32);
      const x86::Gp result = define_general(&i, 64);
      a_.mov(result.r32(), reg);
      if (to == 1) a_.and_(result.r32(), 1);
      return true;
    }
    case llvm::Instruction::ZExt: {
      if (is_zero_beyond(value)) {
        places_.define_from(piece(&i), piece(value));
        return true;
      }
      const x86::Gp reg = extended(value, 32, false);
      a_.mov(define_general(&i, 32), reg.r32());
      return true;
    }
    case llvm::Instruction::SExt: {
      if (from == 32) {
        const x86::Gp reg = general(value, 32);
        a_.movsxd(define_general(&i, 64), reg);
      } else {
        const x86::Gp reg = extended(value, 64, true);
        a_.mov(define_general(&i, 64), reg.r64());
      }
      return true;
    }
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr: {
      load_general(define_general(&i, 64), value);
      return true;
    }
    default:
      return false;
  }
}

void Selector::high_product(llvm::CastInst& i) {
  const auto* shift = llvm::cast<llvm::BinaryOperator>(i.getOperand(0));
  const auto* product = llvm::cast<llvm::BinaryOperator>(shift->getOperand(0));
  const llvm::Value* words = llvm::cast<llvm::ZExtInst>(product->getOperand(0))->getOperand(0);
  constexpr unsigned kLanes = 16;
  std::array<std::uint32_t, kLanes> upper;  // the second word of each product, even and odd lanes in turn
  for (unsigned lane = 0; lane < kLanes; ++lane) upper[lane] = (lane | 1) + lane % 2 * kLanes;
  const llvm::StringRef order(reinterpret_cast<const char*>(upper.data()), sizeof upper);
  const x86::Zmm even = x86::zmm(kScratchVector), odd = x86::zmm(kScratchVector2);
  for (unsigned n = 0; n < shape(&i).count; ++n) {
    places_.begin_piece();
    const x86::Zmm from = vector(words, n).zmm();
    const asmjit::Operand factor = vector_or_memory(product->getOperand(1), 0, 64);
    a_.vpshufd(odd, from, 0xf5);
    a_.emit(Inst::kIdVpmuludq, even, from, factor);
    a_.emit(Inst::kIdVpmuludq, odd, odd, factor);
    const x86::Zmm to = define_vector(&i, n).zmm();
    a_.vmovups(to, code_.constant_at(code_.constant(order)));
    a_.vpermi2d(to, even, odd);
  }
}

bool Selector::vector_cast(llvm::CastInst& i) {
  const unsigned from = shape(i.getOperand(0)).element_bits, to = shape(&i).element_bits;
  const bool is_vector = i.getType()->isVectorTy();
  const auto* shift = llvm::dyn_cast<llvm::BinaryOperator>(i.getOperand(0));
  if (form_.mask_registers && shift && analysis_.is_deferred(*shift)) {
    high_product(i);
    return true;
  }
  if (is_vector && casts_by_several(i)) return true;
  InstId instruction = 0;
  if (i.getOpcode() == llvm::Instruction::ZExt || i.getOpcode() == llvm::Instruction::SExt)
    instruction = widening(from, to, i.getOpcode() == llvm::Instruction::SExt);
  else if (i.getOpcode() == llvm::Instruction::Trunc)
    instruction = narrowing(from, to);
  else
    instruction = conversion(i);
  if (instruction == 0) return is_vector && (from < 32 ? convert_narrow(i) : narrow_floats(i));
  if (!is_vector) return cast_scalar_float(i, instruction);
  if (from < to) return widen(i, instruction);
  if (from > to) return narrow(i, instruction);
  for (unsigned n = 0; n < shape(&i).count; ++n) {
    places_.begin_piece();
    const x86::Vec reg = vector(i.getOperand(0), n);
    a_.emit(instruction, define_vector(&i, n), reg);
  }
  return true;
}

/// A scalar's other lanes do not matter, but may raise no exception that anybody sees.
bool Selector::cast_scalar_float(llvm::CastInst& i, std::uint32_t instruction) {
  const x86::Xmm from = vector(i.getOperand(0)).xmm();
  switch (instruction) {
    case Inst::kIdVcvtpd2ps:
      a_.vcvtsd2ss(define_vector(&i).xmm(), from, from);
      return true;
    case Inst::kIdVcvtps2pd:
      a_.vcvtss2sd(define_vector(&i).xmm(), from, from);
      return true;
    case Inst::kIdVcvtps2ph:
      a_.vcvtps2ph(define_vector(&i).xmm(), from, asmjit::Imm(4));  // as the control register says
      return true;
    case Inst::kIdVcvtph2ps:
      a_.vcvtph2ps(define_vector(&i).xmm(), from);
      return true;
    default:
      return false;
  }
}

/// Each piece of the result comes from a part of one of the operand's.
bool Selector::widen(llvm::CastInst& i, std::uint32_t instruction) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  if (to.count > 1 && to.bytes % 16 != 0) return false;
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    const unsigned bytes = to.lanes_of(n) * from.element_bits / 8,
                   before = to.lanes_before(n) * from.element_bits / 8;
    const PieceId source = piece(i.getOperand(0), before / form_.bytes);
    if (before % form_.bytes == 0) {
      const unsigned reg = places_.in_register(source);
      a_.emit(instruction, define_vector(&i, n), vector_register(reg, bytes));
      continue;
    }
    if (bytes == form_.bytes / 2) {
      upper_half(kScratchVector, places_.in_register(source));
      a_.emit(instruction, define_vector(&i, n), half(kScratchVector));
      continue;
    }
    x86::Mem at = places_.in_memory(source, static_cast<std::int32_t>(before % form_.bytes));
    at.setSize(bytes);
    a_.emit(instruction, define_vector(&i, n), at);
  }
  return true;
}

/// The parts of a piece of the result are put together from the operand's pieces.
bool Selector::narrow(llvm::CastInst& i, std::uint32_t instruction) {
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  if (from.count > 1 && from.bytes % form_.bytes != 0) return false;
  const auto write = [&](const x86::Vec& result, const x86::Vec& reg) {
    if (instruction == Inst::kIdVcvtps2ph)
      a_.emit(instruction, result, reg, asmjit::Imm(4));  // as the control register says
    else
      a_.emit(instruction, result, reg);
  };
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    const unsigned each =
        std::min(form_.bytes, from.bytes) * to.element_bits / from.element_bits;  // bytes of a part
    const unsigned parts = std::max(1u, to.bytes_of(n) / each), first = form_.bytes * n / std::max(1u, each);
    if (parts == 1) {
      const x86::Vec reg = vector(i.getOperand(0), first);
      const x86::Vec result = vector_register(define_vector(&i, n).id(), each);
      write(result, reg);
      continue;
    }
    if (each < 16 && parts != 2) return false;
    const unsigned together = kScratchVector;
    for (unsigned part = 0; part < parts; ++part) {
      const x86::Vec reg = vector(i.getOperand(0), first + part);
      const unsigned to_reg = part == 0 ? together : kScratchVector2;
      write(vector_register(to_reg, each), reg);
      if (part == 0) continue;
      if (each == form_.bytes / 2)
        join_halves(together, together, kScratchVector2);
      else if (each == 8)
        a_.vpunpcklqdq(x86::xmm(together), x86::xmm(together), x86::xmm(kScratchVector2));
      else
        a_.vinserti32x4(x86::zmm(together), x86::zmm(together), x86::xmm(kScratchVector2), part);
    }
    a_.emit(Inst::kIdVmovaps, whole(define_vector(&i, n).id()), whole(together));
  }
  return true;
}

/// Floats to bytes and halves, by way of integers of 32 bits: what does not fit has no value.
bool Selector::narrow_floats(llvm::CastInst& i) {
  if (i.getOpcode() != llvm::Instruction::FPToSI && i.getOpcode() != llvm::Instruction::FPToUI) return false;
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  if (from.element_bits != 32 || from.bytes > 64 || to.element_bits > 16) return false;
  places_.begin_piece();
  for (unsigned n = 0; n < from.count; ++n) {
    const x86::Vec reg = vector(i.getOperand(0), n);
    a_.emit(Inst::kIdVcvttps2dq, vector_register(n == 0 ? kScratchVector : kScratchVector3, from.bytes_of(n)),
            reg);
  }
  const unsigned result = define_vector(&i).id();
  narrow_words(result, from.bytes, to.element_bits, i.getOpcode() == llvm::Instruction::FPToSI);
  return true;
}

void Selector::narrow_words(unsigned to, unsigned bytes, unsigned bits, bool) {
  a_.emit(narrowing(32, bits), vector_register(to, bytes * bits / 32),
          vector_register(kScratchVector, bytes));
}

/// Bytes and halves to floats, by way of integers of 32 bits.
bool Selector::convert_narrow(llvm::CastInst& i) {
  const bool is_signed = i.getOpcode() == llvm::Instruction::SIToFP;
  if (!is_signed && i.getOpcode() != llvm::Instruction::UIToFP) return false;
  const Shape from = shape(i.getOperand(0)), to = shape(&i);
  if (from.count != 1 || to.element_bits < 32 || to.bytes % 32 != 0) return false;
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    const unsigned lanes = to.lanes_of(n), bytes = lanes * from.element_bits / 8;
    const x86::Vec wide = vector_register(kScratchVector, lanes * 4);
    asmjit::Operand source = vector(i.getOperand(0)).xmm();
    if (n != 0) {
      x86::Mem at = places_.in_memory(piece(i.getOperand(0)), static_cast<std::int32_t>(n * bytes));
      at.setSize(bytes);
      source = at;
    }
    a_.emit(widening(from.element_bits, 32, is_signed), wide, source);
    a_.emit(to.element_bits == 32 ? Inst::kIdVcvtdq2ps : Inst::kIdVcvtdq2pd, define_vector(&i, n), wide);
  }
  return true;
}

bool Selector::cast_from_mask(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  if (i.getOpcode() == llvm::Instruction::BitCast) {
    if (shape(&i).kind != Class::general) return false;
    load_bits(define_general(&i, 64), value);
    return true;
  }
  if (i.getOpcode() == llvm::Instruction::Trunc) return false;
  const Shape to = shape(&i);
  if (to.kind != Class::vector || !i.getType()->getScalarType()->isIntegerTy()) return false;
  const bool is_signed = i.getOpcode() == llvm::Instruction::SExt;
  if (!is_signed && i.getOpcode() != llvm::Instruction::ZExt) return false;
  return spread_mask(i);
}

bool Selector::spread_mask(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  const Shape to = shape(&i);
  const bool is_signed = i.getOpcode() == llvm::Instruction::SExt;
  const unsigned bits = to.element_bits;
  constexpr BySize kSpread{Inst::kIdVpmovm2b, Inst::kIdVpmovm2w, Inst::kIdVpmovm2d, Inst::kIdVpmovm2q};
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    const x86::KReg lanes = lanes_of_piece(value, to, n);
    const x86::Vec result = define_vector(&i, n);
    a_.emit(kSpread[bits], result, lanes);
    if (is_signed) continue;
    if (bits == 8) {  // less minus one
      a_.emit(Inst::kIdVpxord, vector_register(kScratchVector, 64), vector_register(kScratchVector, 64),
              vector_register(kScratchVector, 64));
      a_.emit(Inst::kIdVpsubb, result, vector_register(kScratchVector, to.bytes_of(n)), result);
    } else {
      constexpr BySize kRight{0, Inst::kIdVpsrlw, Inst::kIdVpsrld, Inst::kIdVpsrlq};
      a_.emit(kRight[bits], result, result, asmjit::Imm(bits - 1));
    }
  }
  return true;
}

bool Selector::cast_to_mask(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  const Shape from = shape(value);
  if (i.getOpcode() == llvm::Instruction::BitCast && from.kind == Class::general) {
    load_general(kScratch, value);
    define_from_bits(&i);
    return true;
  }
  return i.getOpcode() == llvm::Instruction::Trunc && from.kind == Class::vector && gather_mask(i);
}

bool Selector::gather_mask(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  const Shape from = shape(value);
  const unsigned bits = from.element_bits;
  constexpr BySize kLeft{Inst::kIdVpsllw, Inst::kIdVpsllw, Inst::kIdVpslld,
                         Inst::kIdVpsllq};  // bytes as words
  constexpr BySize kSigns{Inst::kIdVpmovb2m, Inst::kIdVpmovw2m, Inst::kIdVpmovd2m, Inst::kIdVpmovq2m};
  for (unsigned n = 0; n < from.count; ++n) {
    places_.begin_piece();
    const x86::Vec reg = vector(value, n), shifted = vector_register(kScratchVector, from.bytes_of(n));
    a_.emit(kLeft[bits], shifted, reg, asmjit::Imm(bits - 1));
    const x86::KReg made = begin_lanes(i, n);
    a_.emit(kSigns[bits], made, shifted);
    join_lanes(i, from, n, made);
  }
  return true;
}

/// A scalar in a general register and one in a vector register.
bool Selector::between_kinds(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  const Shape from = shape(value), to = shape(&i);
  if (i.getOpcode() == llvm::Instruction::BitCast) {
    if (from.bytes > 8 || from.bytes < 2) return false;
    if (from.kind == Class::general) {
      const x86::Gp reg = general(value, from.bytes == 8 ? 64 : 32);
      const x86::Vec result = define_vector(&i);
      from.bytes == 8 ? a_.vmovq(result.xmm(), reg) : a_.vmovd(result.xmm(), reg);
    } else {
      const x86::Vec reg = vector(value);
      from.bytes == 8 ? a_.vmovq(define_general(&i, 64), reg.xmm())
                      : a_.vmovd(define_general(&i, 32), reg.xmm());
    }
    return true;
  }
  const bool wide_int = (from.kind == Class::general ? from : to).element_bits == 64;
  const bool is_double = (from.kind == Class::general ? to : from).element_bits == 64;
  if ((from.kind == Class::general ? to : from).element_bits < 32) return false;
  if (from.element_bits == 1 || to.element_bits < 32) return false;
  switch (i.getOpcode()) {
    case llvm::Instruction::SIToFP: {
      const x86::Gp reg = extended(value, wide_int ? 64 : 32, true);
      const x86::Xmm result = define_vector(&i).xmm();
      code_.clear(result.id());
      a_.emit(is_double ? Inst::kIdVcvtsi2sd : Inst::kIdVcvtsi2ss, result, result, reg);
      return true;
    }
    case llvm::Instruction::FPToSI: {
      const x86::Vec reg = vector(value);
      a_.emit(is_double ? Inst::kIdVcvttsd2si : Inst::kIdVcvttss2si, define_general(&i, wide_int ? 64 : 32),
              reg.xmm());
      return true;
    }
    case llvm::Instruction::UIToFP:
    case llvm::Instruction::FPToUI:
      convert_unsigned(i);
      return true;
    default:
      return false;
  }
}

void Selector::convert_unsigned(llvm::CastInst& i) {
  const llvm::Value* value = i.getOperand(0);
  if (i.getOpcode() == llvm::Instruction::UIToFP) {
    const x86::Gp reg = extended(value, shape(value).element_bits == 64 ? 64 : 32, false);
    const x86::Xmm result = define_vector(&i).xmm();
    code_.clear(result.id());
    a_.emit(i.getType()->isDoubleTy() ? Inst::kIdVcvtusi2sd : Inst::kIdVcvtusi2ss, result, result, reg);
    return;
  }
  const x86::Vec reg = vector(value);
  a_.emit(value->getType()->isDoubleTy() ? Inst::kIdVcvttsd2usi : Inst::kIdVcvttss2usi,
          define_general(&i, shape(&i).element_bits), reg.xmm());
}

}  // namespace raddle::jit::baseline
