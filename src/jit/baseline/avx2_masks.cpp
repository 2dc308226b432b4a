// Masks that are vectors: where they come from, as bits and lanes of other sizes, and choices by them.
#include <llvm/IR/Constants.h>

#include "jit/baseline/avx2.h"

namespace raddle::jit::baseline {

using asmjit::InstId;
using llvm::CmpInst;

void Avx2Selector::load_bits(const x86::Gp& to, const llvm::Value* value) {
  const Shape all = shape(value);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Gp bits = n == 0 ? to.r32() : kScratch2.r32();
    const unsigned lanes = all.lanes_of(n);
    a_.vmovmskps(bits, vector(value, n));
    if (lanes != 4 && lanes != 8) a_.and_(bits, (1u << lanes) - 1);
    if (n == 0) continue;
    a_.shl(kScratch2, all.lanes_before(n));
    a_.or_(to.r64(), kScratch2);
  }
}

/// Each lane has a bit of its own in a constant.
void Avx2Selector::define_from_bits(const llvm::Value* value) {
  const Shape all = shape(value);
  const x86::Ymm bits = x86::ymm(kScratchVector);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    if (n % 4 == 0) {
      if (n != 0) a_.shr(kScratch, 32);
      broadcast(bits, kScratch.r32(), 32);
    }
    std::string lanes(32, '\0');
    for (unsigned lane = 0; lane < 8; ++lane) lanes[lane * 4 + n % 4] = static_cast<char>(1u << lane);
    const x86::Vec to = define_vector(value, n);
    a_.emit(Inst::kIdVpand, to, vector_register(kScratchVector, all.bytes_of(n)), constant(lanes));
    a_.emit(Inst::kIdVpcmpeqd, to, to, constant(lanes));
  }
}

// ---- comparisons ----

void Avx2Selector::compare_vectors(llvm::CmpInst& i) {
  define_words(i, shape(i.getOperand(0)), [&](unsigned n, unsigned to) {
    compare_piece(i, n, to);
    return to;
  });
}

void Avx2Selector::compare_scalar_floats(llvm::FCmpInst& i) {
  const x86::Vec left = vector(i.getOperand(0)), right = vector(i.getOperand(1));
  a_.emit(i.getOperand(0)->getType()->isDoubleTy() ? Inst::kIdVcmpsd : Inst::kIdVcmpss,
          x86::xmm(kScratchVector), left, right, asmjit::Imm(float_predicate(i.getPredicate())));
  const x86::Gp to = define_general(&i, 32);
  a_.vmovd(to, x86::xmm(kScratchVector));
  a_.and_(to, 1);
}

/// The host knows equal and greater, of numbers with signs.
void Avx2Selector::compare_piece(llvm::CmpInst& i, unsigned n, unsigned reg) {
  const llvm::Value *left = i.getOperand(0), *right = i.getOperand(1);
  const Shape all = shape(left);
  const unsigned bits = all.element_bits;
  const x86::Vec to = vector_register(reg, all.bytes_of(n));
  const auto other = [&](const llvm::Value* value) { return vector_or_memory(value, n, bits); };
  if (i.isFPPredicate()) {
    const x86::Vec first = vector(left, n);
    a_.emit(bits == 64 ? Inst::kIdVcmppd : Inst::kIdVcmpps, to, first, other(right),
            asmjit::Imm(float_predicate(i.getPredicate())));
    return;
  }
  if (i.isUnsigned()) return compare_unsigned(i, n, to);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(right);
  if (i.getPredicate() == CmpInst::ICMP_SLT && bits == 32 && constant && constant->isNullValue())
    return void(a_.emit(Inst::kIdVpsrad, to, vector(left, n), asmjit::Imm(31)));
  constexpr BySize kEqual{Inst::kIdVpcmpeqb, Inst::kIdVpcmpeqw, Inst::kIdVpcmpeqd, Inst::kIdVpcmpeqq};
  constexpr BySize kGreater{Inst::kIdVpcmpgtb, Inst::kIdVpcmpgtw, Inst::kIdVpcmpgtd, Inst::kIdVpcmpgtq};
  const auto predicate = i.getPredicate();
  if (predicate == CmpInst::ICMP_SLT || predicate == CmpInst::ICMP_SGE) std::swap(left, right);
  const x86::Vec first = vector(left, n);
  a_.emit(i.isEquality() ? kEqual[bits] : kGreater[bits], to, first, other(right));
  if (predicate == CmpInst::ICMP_NE || predicate == CmpInst::ICMP_SGE || predicate == CmpInst::ICMP_SLE)
    a_.emit(Inst::kIdVpxor, to, to, repeated(~std::uint64_t{0}));
}

/// Not greater is equal to the lesser one of both; of 64 bits there is none, but signs can change sides.
void Avx2Selector::compare_unsigned(llvm::CmpInst& i, unsigned n, const x86::Vec& to) {
  const llvm::Value *left = i.getOperand(0), *right = i.getOperand(1);
  const unsigned bits = shape(left).element_bits;
  const auto predicate = i.getPredicate();
  const bool is_reversed = predicate == CmpInst::ICMP_ULT || predicate == CmpInst::ICMP_UGE;
  const bool includes_equal = predicate == CmpInst::ICMP_ULE || predicate == CmpInst::ICMP_UGE;
  const x86::Vec first = vector(left, n), second = vector(right, n);
  if (bits == 64) {
    const x86::Vec other = vector_register(kScratchVector2, shape(left).bytes_of(n));
    a_.emit(Inst::kIdVpxor, to, is_reversed ? second : first, repeated(std::uint64_t{1} << 63));
    a_.emit(Inst::kIdVpxor, other, is_reversed ? first : second, repeated(std::uint64_t{1} << 63));
    a_.emit(Inst::kIdVpcmpgtq, to, to, other);
    if (includes_equal) a_.emit(Inst::kIdVpxor, to, to, repeated(~std::uint64_t{0}));
    return;
  }
  constexpr BySize kLeast{Inst::kIdVpminub, Inst::kIdVpminuw, Inst::kIdVpminud, 0};
  constexpr BySize kGreatest{Inst::kIdVpmaxub, Inst::kIdVpmaxuw, Inst::kIdVpmaxud, 0};
  constexpr BySize kEqual{Inst::kIdVpcmpeqb, Inst::kIdVpcmpeqw, Inst::kIdVpcmpeqd, 0};
  a_.emit(is_reversed ? kGreatest[bits] : kLeast[bits], to, first, second);
  a_.emit(kEqual[bits], to, to, first);
  if (!includes_equal) a_.emit(Inst::kIdVpxor, to, to, repeated(~std::uint64_t{0}));
}

// ---- lanes of other sizes ----

void Avx2Selector::define_words(const llvm::Instruction& i, const Shape& from,
                                llvm::function_ref<unsigned(unsigned, unsigned)> piece_of) {
  const Shape to = shape(&i);
  if (from.element_bits == 32) {
    for (unsigned n = 0; n < to.count; ++n) {
      places_.begin_piece();
      const unsigned result = define_vector(&i, n).id(), made = piece_of(n, result);
      if (made != result) a_.emit(Inst::kIdVmovaps, whole(result), whole(made));
    }
    return;
  }
  if (from.element_bits == 64) {
    for (unsigned n = 0; n < to.count; ++n) {
      places_.begin_piece();
      const unsigned low = piece_of(2 * n, kScratchVector);
      const unsigned high = 2 * n + 1 < from.count ? piece_of(2 * n + 1, kScratchVector3) : low;
      halve(define_vector(&i, n).id(), low, high, from.bytes_of(2 * n), 64, Lanes::truths);
    }
    return;
  }
  const bool by_halves = from.element_bits == 16;
  const unsigned parts = by_halves ? 2 : 4;
  for (unsigned n = 0; n < from.count; ++n) {
    places_.begin_piece();
    const unsigned made = piece_of(n, kScratchVector);
    for (unsigned part = 0; part < parts && parts * n + part < to.count; ++part) {
      unsigned source = made;
      if (by_halves ? part == 1 : part >= 2)
        a_.vextracti128(x86::xmm(source = kScratchVector2), x86::ymm(made), 1);
      if (!by_halves && part % 2 == 1) {
        a_.vpsrldq(x86::xmm(kScratchVector2), x86::xmm(source), 8);
        source = kScratchVector2;
      }
      a_.emit(by_halves ? Inst::kIdVpmovsxwd : Inst::kIdVpmovsxbd, define_vector(&i, parts * n + part),
              x86::xmm(source));
    }
  }
}

unsigned Avx2Selector::truths(const llvm::Value* value, const Shape& all, unsigned n, unsigned to) {
  const unsigned bits = all.element_bits;
  if (bits == 32) return vector(value, n).id();
  if (bits == 64) {
    const unsigned source = vector(value, n / 2).id();
    if (n % 2 == 1) a_.vextracti128(x86::xmm(to), x86::ymm(source), 1);
    a_.vpmovsxdq(x86::ymm(to), x86::xmm(n % 2 == 1 ? to : source));
    return to;
  }
  const unsigned pieces = 32 / bits, first = n * pieces;
  return narrowed(to, value, first, std::min(pieces, shape(value).count - first), bits, Lanes::truths);
}

bool Avx2Selector::spread_mask(llvm::CastInst& i) {
  const Shape to = shape(&i);
  const unsigned bits = to.element_bits;
  for (unsigned n = 0; n < to.count; ++n) {
    places_.begin_piece();
    const x86::Vec result = define_vector(&i, n);
    const unsigned made = truths(i.getOperand(0), to, n, result.id());
    const x86::Vec from = vector_register(made, to.bytes_of(n));
    if (i.getOpcode() == llvm::Instruction::SExt) {
      if (made != result.id()) a_.emit(Inst::kIdVmovaps, result, from);
    } else if (bits == 64) {
      a_.emit(Inst::kIdVpsrlq, result, from, asmjit::Imm(63));
    } else {  // one is minus one without its sign
      a_.emit(BySize{Inst::kIdVpabsb, Inst::kIdVpabsw, Inst::kIdVpabsd, 0}[bits], result, from);
    }
  }
  return true;
}

bool Avx2Selector::gather_mask(llvm::CastInst& i) {
  define_words(i, shape(i.getOperand(0)),
               [&](unsigned n, unsigned) { return vector(i.getOperand(0), n).id(); });
  for (unsigned n = 0; n < shape(&i).count; ++n) {
    places_.begin_piece();
    const x86::Vec to = vector(&i, n);
    a_.emit(Inst::kIdVpslld, to, to, asmjit::Imm(31));
    a_.emit(Inst::kIdVpsrad, to, to, asmjit::Imm(31));
    places_.changed(piece(&i, n));
  }
  return true;
}

void Avx2Selector::vector_select(llvm::SelectInst& i) {
  const Shape all = shape(&i);
  const bool by_lane = i.getCondition()->getType()->isVectorTy();
  if (!by_lane) broadcast(whole(kScratchVector3), extended(i.getCondition(), 32, true), 32);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const unsigned choice = by_lane ? truths(i.getCondition(), all, n, kScratchVector) : kScratchVector3;
    const unsigned bytes = all.bytes_of(n);
    const x86::Vec no = vector(i.getFalseValue(), n);
    const asmjit::Operand yes = vector_or_memory(i.getTrueValue(), n, all.element_bits);
    a_.emit(all.element_bits < 32 ? Inst::kIdVpblendvb : Inst::kIdVblendvps, define_vector(&i, n), no, yes,
            vector_register(choice, bytes));
  }
}

}  // namespace raddle::jit::baseline
