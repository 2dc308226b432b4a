// Loads and stores: of scalars, of vectors whole or under a mask, of lanes at addresses of their own, and
// atomics. x86 keeps loads in order and stores in order, so only what must not pass a store that is still to
// come needs more than a move.
#include <llvm/IR/Constants.h>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {

using asmjit::InstId;

namespace {

/// Under a mask.
constexpr BySize kMove{Inst::kIdVmovdqu8, Inst::kIdVmovdqu16, Inst::kIdVmovdqu32, Inst::kIdVmovdqu64};

bool is_whole(unsigned bytes) {
  return bytes == 4 || bytes == 8 || bytes == 16 || bytes == 32 || bytes == 64;
}

}  // namespace

bool may_be_zero(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  return constant && (llvm::isa<llvm::UndefValue>(constant) || constant->isNullValue());
}

void Selector::load_piece(const x86::Vec& to, const x86::Mem& from, unsigned bytes) {
  if (bytes == 4)
    a_.vmovss(to.xmm(), from);
  else if (bytes == 8)
    a_.vmovsd(to.xmm(), from);
  else if (is_whole(bytes))
    a_.emit(Inst::kIdVmovups, to, from);
  else
    load_bytes(to, from, bytes);
}

void Selector::load_bytes(const x86::Vec& to, const x86::Mem& from, unsigned bytes) {
  a_.k(first_lanes(bytes, kScratchMask)).z().vmovdqu8(to.zmm(), from);
}

void Selector::store_piece(const x86::Mem& to, const x86::Vec& from, unsigned bytes) {
  if (bytes == 4)
    a_.vmovss(to, from.xmm());
  else if (bytes == 8)
    a_.vmovsd(to, from.xmm());
  else if (is_whole(bytes))
    a_.emit(Inst::kIdVmovups, to, from);
  else
    store_bytes(to, from, bytes);
}

void Selector::store_bytes(const x86::Mem& to, const x86::Vec& from, unsigned bytes) {
  a_.k(first_lanes(bytes, kScratchMask)).vmovdqu8(to, from.zmm());
}

void Selector::visitLoadInst(llvm::LoadInst& i) {
  const auto all = shape_of(i.getType());
  if (!all) return cannot(i);
  x86::Mem from = address(i.getPointerOperand());
  if (all->kind == Class::general) {
    const x86::Gp to = define_general(&i, all->bytes == 8 ? 64 : 32);
    from.setSize(all->bytes);
    if (all->bytes >= 4) return void(a_.mov(to, from));
    a_.movzx(to, from);
    if (all->element_bits == 1) a_.and_(to, 1);
    return;
  }
  if (all->is_mask) {
    if (all->lanes > 8 && all->lanes != 16 && all->lanes != 32 && all->lanes != 64) return cannot(i);
    return load_mask(i, from);
  }
  load_vector(i, from);
}

void Selector::load_vector(const llvm::Instruction& i, x86::Mem from) {
  const Shape all = shape(&i);
  if (all.bytes == 2) {
    from.setSize(2);
    a_.movzx(x86::eax, from);
    return void(a_.vmovd(define_vector(&i).xmm(), x86::eax));
  }
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    load_piece(define_vector(&i, n), from, all.bytes_of(n));
    from.addOffset(form_.bytes);
  }
}

void Selector::load_mask(llvm::LoadInst& i, const x86::Mem& from) {
  const unsigned lanes = shape(&i).lanes;
  const x86::KReg to = define_mask(&i);
  if (lanes <= 8) {
    a_.kmovb(to, from);
    if (lanes < 8) trim(to, lanes);
  } else {
    lanes == 16 ? a_.kmovw(to, from) : lanes == 32 ? a_.kmovd(to, from) : a_.kmovq(to, from);
  }
}

void Selector::store_mask(const x86::Mem& to, const llvm::Value* value) {
  const unsigned lanes = shape(value).lanes;
  const x86::KReg from = mask(value);
  lanes <= 8    ? a_.kmovb(to, from)
  : lanes == 16 ? a_.kmovw(to, from)
  : lanes == 32 ? a_.kmovd(to, from)
                : a_.kmovq(to, from);
}

void Selector::visitStoreInst(llvm::StoreInst& i) {
  const llvm::Value* value = i.getValueOperand();
  if (llvm::isa<llvm::UndefValue>(value) && !i.isVolatile()) return;
  if (const auto* array = llvm::dyn_cast<llvm::ArrayType>(value->getType())) {  // zeros
    const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    if (!constant || !constant->isNullValue()) return cannot(i);
    const auto bytes =
        code_.module.getDataLayout().getTypeStoreSize(const_cast<llvm::ArrayType*>(array)).getFixedValue();
    if (bytes % 4 != 0 || bytes > 4096) return cannot(i);
    code_.clear(kScratchVector);
    x86::Mem to = address(i.getPointerOperand());
    for (std::uint64_t at = 0; at < bytes;) {
      const unsigned step = bytes - at >= form_.bytes ? form_.bytes : bytes - at >= 16 ? 16 : 4;
      store_piece(to, vector_register(kScratchVector, step), step);
      to.addOffset(step);
      at += step;
    }
    return;
  }
  const auto all = shape_of(value->getType());
  if (!all) return cannot(i);
  x86::Mem to = address(i.getPointerOperand());
  if (all->kind == Class::general) {
    to.setSize(all->bytes);
    const auto* update = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (update && analysis_.is_deferred(*update)) return update_memory(to, *update);
    if (i.isAtomic() && i.getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent) {
      load_general(kScratch, value);
      a_.xchg(to, all->bytes == 8   ? x86::Gp(x86::rax)
                  : all->bytes == 4 ? x86::Gp(x86::eax)
                  : all->bytes == 2 ? x86::Gp(x86::ax)
                                    : x86::Gp(x86::al));
      return;
    }
    const asmjit::Operand from = general_or_constant(value, all->bytes == 8 ? 64 : 32);
    if (from.isImm()) {
      std::int64_t number = from.as<asmjit::Imm>().value();
      if (all->element_bits == 1) number &= 1;
      if (all->bytes == 1) number = static_cast<std::int8_t>(number);
      if (all->bytes == 2) number = static_cast<std::int16_t>(number);
      return void(a_.mov(to, asmjit::Imm(number)));
    }
    const x86::Gp reg = from.as<x86::Gp>();
    all->bytes == 8   ? a_.mov(to, reg.r64())
    : all->bytes == 4 ? a_.mov(to, reg.r32())
    : all->bytes == 2 ? a_.mov(to, reg.r16())
                      : a_.mov(to, reg.r8());
    return;
  }
  if (all->is_mask) {
    if (all->lanes > 8 && all->lanes != 16 && all->lanes != 32 && all->lanes != 64) return cannot(i);
    return store_mask(to, value);
  }
  store_vector(to, value, i.hasMetadata(llvm::LLVMContext::MD_nontemporal) && i.getAlign() >= form_.bytes);
}

void Selector::update_memory(x86::Mem at, const llvm::BinaryOperator& update) {
  const unsigned opcode = update.getOpcode();
  const InstId instruction = opcode == llvm::Instruction::Add   ? Inst::kIdAdd
                             : opcode == llvm::Instruction::Sub ? Inst::kIdSub
                             : opcode == llvm::Instruction::And ? Inst::kIdAnd
                             : opcode == llvm::Instruction::Or  ? Inst::kIdOr
                                                                : Inst::kIdXor;
  a_.emit(instruction, at, general_or_constant(update.getOperand(1), at.size() * 8));
}

void Selector::store_vector(x86::Mem to, const llvm::Value* value, bool past_caches) {
  const Shape all = shape(value);
  if (all.bytes == 2) {
    a_.vmovd(x86::eax, vector(value).xmm());
    to.setSize(2);
    return void(a_.mov(to, x86::ax));
  }
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    if (past_caches && all.bytes_of(n) >= 16 && is_whole(all.bytes_of(n)))
      a_.emit(Inst::kIdVmovntps, to, vector(value, n));
    else if (analysis_.pieces[piece(value, n)].origin != Origin::undefined)
      store_piece(to, vector(value, n), all.bytes_of(n));
    to.addOffset(form_.bytes);
  }
}

void Selector::masked_load(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  const InstId move = kMove[all.element_bits];
  const bool zeroes = may_be_zero(i.getArgOperand(3));
  const x86::Mem from = address(i.getArgOperand(0));
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::KReg lanes = lanes_of_piece(i.getArgOperand(2), all, n);
    x86::Mem at = from;
    at.addOffset(std::int64_t{form_.bytes} * n);
    const unsigned width = std::max(16u, width_of(all.bytes_of(n)));
    if (zeroes) {
      const x86::Vec to = vector_register(define_vector(&i, n).id(), width);  // may store what was there
      a_.k(lanes).z().emit(move, to, at);
    } else {
      const unsigned to = places_.define_from(piece(&i, n), piece(i.getArgOperand(3), n));
      a_.k(lanes).emit(move, vector_register(to, width), at);
    }
  }
}

void Selector::masked_store(llvm::IntrinsicInst& i) {
  const Shape all = shape(i.getArgOperand(0));
  const InstId move = kMove[all.element_bits];
  const x86::Mem to = address(i.getArgOperand(1));
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::KReg lanes = lanes_of_piece(i.getArgOperand(3), all, n);
    x86::Mem at = to;
    at.addOffset(std::int64_t{form_.bytes} * n);
    const x86::Vec from = vector(i.getArgOperand(0), n);
    a_.k(lanes).emit(move, at, vector_register(from.id(), std::max(16u, width_of(all.bytes_of(n)))));
  }
}

/// Eight lanes at a time, as many as addresses fit a register.
void Selector::gather(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  const llvm::Type* element = i.getType()->getScalarType();
  if (all.lanes % 8 != 0 || all.element_bits < 32 || element->isPointerTy()) return cannot(i);
  const bool is_wide = all.element_bits == 64;
  if (!is_wide && all.lanes == 16) return gather_twice(i);
  if (!is_wide && all.lanes != 8) return cannot(i);
  const bool zeroes = may_be_zero(i.getArgOperand(3));
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::KReg lanes = lanes_of_piece(i.getArgOperand(2), all, n, kScratchMask2),
                    left = x86::k(kScratchMask);
    const x86::Zmm at = vector(i.getArgOperand(0), n).zmm();
    a_.kmovq(left, lanes);
    x86::Vec to;
    if (zeroes) {
      to = define_vector(&i, n);
      a_.vpxord(to.xmm(), to.xmm(), to.xmm());
    } else {
      to = vector_register(places_.define_from(piece(&i, n), piece(i.getArgOperand(3), n)), all.bytes_of(n));
    }
    const x86::Mem from = x86::ptr(std::uint64_t{0}, at, 0);
    if (is_wide)
      a_.k(left).vpgatherqq(to.zmm(), from);
    else
      a_.k(left).vpgatherqd(to.ymm(), from);
  }
}

/// Sixteen lanes of 32 bits, in two halves of eight.
void Selector::gather_twice(llvm::IntrinsicInst& i) {
  const x86::KReg left = x86::k(kScratchMask);
  const unsigned halves[] = {kScratchVector, kScratchVector2};
  for (unsigned half = 0; half < 2; ++half) {
    const x86::KReg lanes = mask(i.getArgOperand(2));
    const x86::Zmm at = vector(i.getArgOperand(0), half).zmm();
    a_.kshiftrq(left, lanes, 8 * half);
    const x86::Ymm to = x86::ymm(halves[half]);
    const x86::Zmm other = vector(i.getArgOperand(3)).zmm();
    a_.vextracti64x4(to, other, half);
    a_.k(left).vpgatherqd(to, x86::ptr(std::uint64_t{0}, at, 0));
  }
  a_.vinserti64x4(define_vector(&i).zmm(), x86::zmm(kScratchVector), x86::ymm(kScratchVector2), 1);
}

void Selector::scatter(llvm::IntrinsicInst& i) {
  const Shape all = shape(i.getArgOperand(0));
  if (all.lanes % 8 != 0 || all.element_bits < 32) return cannot(i);
  const bool is_wide = all.element_bits == 64;
  if (!is_wide && all.lanes != 8) return cannot(i);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::KReg lanes = lanes_of_piece(i.getArgOperand(3), all, n, kScratchMask2),
                    left = x86::k(kScratchMask);
    const x86::Zmm at = vector(i.getArgOperand(1), n).zmm();
    const x86::Vec from = vector(i.getArgOperand(0), n);
    a_.kmovq(left, lanes);
    const x86::Mem to = x86::ptr(std::uint64_t{0}, at, 0);
    if (is_wide)
      a_.k(left).vpscatterqq(to, from.zmm());
    else
      a_.k(left).vpscatterqd(to, from.ymm());
  }
}

void Selector::fill(llvm::IntrinsicInst& i) {
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(2));
  const auto* byte = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(1));
  constexpr std::uint64_t kInline = 1024;
  if (!count || !byte || count->getZExtValue() > kInline)
    return call(i, nullptr, "memset", {i.getArgOperand(0), i.getArgOperand(1), i.getArgOperand(2)});
  repeat(kScratchVector, byte->getZExtValue() * 0x0101010101010101u);
  const x86::Mem to = address(i.getArgOperand(0));
  for (std::uint64_t at = 0; at < count->getZExtValue(); at += form_.bytes) {
    x86::Mem here = to;
    here.addOffset(static_cast<std::int64_t>(at));
    const auto bytes =
        static_cast<unsigned>(std::min<std::uint64_t>(form_.bytes, count->getZExtValue() - at));
    store_piece(here, vector_register(kScratchVector, bytes), bytes);
  }
}

void Selector::copy(llvm::IntrinsicInst& i) {
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(2));
  constexpr std::uint64_t kInline = 512;
  if (!count || count->getZExtValue() > kInline || i.getIntrinsicID() == llvm::Intrinsic::memmove)
    return call(i, nullptr, i.getIntrinsicID() == llvm::Intrinsic::memmove ? "memmove" : "memcpy",
                {i.getArgOperand(0), i.getArgOperand(1), i.getArgOperand(2)});
  const x86::Mem to = address(i.getArgOperand(0)), from = address(i.getArgOperand(1));
  for (std::uint64_t at = 0; at < count->getZExtValue(); at += form_.bytes) {
    x86::Mem here = to, there = from;
    here.addOffset(static_cast<std::int64_t>(at));
    there.addOffset(static_cast<std::int64_t>(at));
    const auto bytes =
        static_cast<unsigned>(std::min<std::uint64_t>(form_.bytes, count->getZExtValue() - at));
    load_piece(vector_register(kScratchVector, bytes), there, bytes);
    store_piece(here, vector_register(kScratchVector, bytes), bytes);
  }
}

void Selector::visitFenceInst(llvm::FenceInst& i) {
  if (i.getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent &&
      i.getSyncScopeID() != llvm::SyncScope::SingleThread)
    a_.mfence();
}

bool Selector::write_update(llvm::AtomicRMWInst::BinOp operation, const x86::Gp& value, unsigned bits) {
  const x86::Gp old = general_register(kScratch.id(), bits), fresh = general_register(kScratch2.id(), bits);
  auto keep_if = [&](x86::CondCode holds) {
    a_.mov(fresh, value);
    a_.cmp(old, value);
    a_.cmov(holds, fresh, old);
    return true;
  };
  auto combine = [&](InstId instruction) {
    a_.mov(fresh, value);
    a_.emit(instruction, fresh, old);
    return true;
  };
  switch (operation) {
    case llvm::AtomicRMWInst::And:
      return combine(Inst::kIdAnd);
    case llvm::AtomicRMWInst::Or:
      return combine(Inst::kIdOr);
    case llvm::AtomicRMWInst::Xor:
      return combine(Inst::kIdXor);
    case llvm::AtomicRMWInst::Max:
      return keep_if(x86::CondCode::kG);
    case llvm::AtomicRMWInst::Min:
      return keep_if(x86::CondCode::kL);
    case llvm::AtomicRMWInst::UMax:
      return keep_if(x86::CondCode::kA);
    case llvm::AtomicRMWInst::UMin:
      return keep_if(x86::CondCode::kB);
    case llvm::AtomicRMWInst::UIncWrap:  // zero at the limit and beyond
      a_.lea(kScratch2, x86::ptr(kScratch, 1));
      a_.xor_(x86::edx, x86::edx);
      a_.cmp(old, value);
      a_.cmov(x86::CondCode::kAE, fresh, general_register(kScratch3.id(), bits));
      return true;
    case llvm::AtomicRMWInst::UDecWrap:  // the limit at zero and beyond the limit
      a_.mov(fresh, old);
      a_.sub(fresh, 1);
      a_.cmov(x86::CondCode::kB, fresh, value);
      a_.cmp(old, value);
      a_.cmov(x86::CondCode::kA, fresh, value);
      return true;
    default:
      return false;
  }
}

void Selector::visitAtomicRMWInst(llvm::AtomicRMWInst& i) {
  const auto all = shape_of(i.getType());
  if (!all || all->kind != Class::general || all->bytes < 4) return cannot(i);
  const unsigned bits = all->element_bits;
  const x86::Gp old = general_register(kScratch.id(), bits), fresh = general_register(kScratch2.id(), bits);
  const x86::Gp value = general(i.getValOperand(), bits);
  x86::Mem at = address(i.getPointerOperand());
  at.setSize(all->bytes);
  const auto operation = i.getOperation();
  if (operation == llvm::AtomicRMWInst::Xchg) {
    a_.mov(old, value);
    a_.xchg(at, old);
  } else if (operation == llvm::AtomicRMWInst::Add || operation == llvm::AtomicRMWInst::Sub) {
    a_.mov(old, value);
    if (operation == llvm::AtomicRMWInst::Sub) a_.neg(old);
    a_.lock().xadd(at, old);
  } else {
    a_.mov(old, at);
    const asmjit::Label again = a_.newLabel();
    a_.bind(again);
    if (!write_update(operation, value, bits)) return cannot(i);
    a_.lock().cmpxchg(at, fresh, old);
    a_.jne(again);
  }
  if (!i.use_empty()) a_.mov(define_general(&i, bits), old);
}

/// Its result is two pieces: what was there, and whether it was what was expected.
void Selector::visitAtomicCmpXchgInst(llvm::AtomicCmpXchgInst& i) {
  const auto all = shape_of(i.getCompareOperand()->getType());
  if (!all || all->kind != Class::general || all->bytes < 4) return cannot(i);
  const unsigned bits = all->element_bits;
  const x86::Gp fresh = general(i.getNewValOperand(), bits);
  const x86::Gp expected = general(i.getCompareOperand(), bits);
  x86::Mem at = address(i.getPointerOperand());
  at.setSize(all->bytes);
  const x86::Gp old = general_register(kScratch.id(), bits);
  a_.mov(old, expected);
  a_.lock().cmpxchg(at, fresh, old);
  a_.sete(x86::cl);
  if (i.use_empty()) return;
  a_.mov(general_register(places_.define(piece(&i, 0)), bits), old);
  a_.movzx(general_register(places_.define(piece(&i, 1)), 32), x86::cl);
}

}  // namespace raddle::jit::baseline
