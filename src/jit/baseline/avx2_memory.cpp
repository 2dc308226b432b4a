// Accesses under masks that are vectors: the host has them for lanes of 32 and 64 bits, and loads at
// addresses of their own; all others are made lane by lane.
#include <llvm/IR/Constants.h>

#include "jit/baseline/avx2.h"

namespace raddle::jit::baseline {

using asmjit::InstId;

namespace {

x86::Mem further(x86::Mem memory, std::int64_t distance, unsigned bytes) {
  memory.addOffset(distance);
  memory.setSize(bytes);
  return memory;
}

/// Accesses of all lanes need no mask, which makes them slow.
bool is_all(const llvm::Value* lanes) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(lanes);
  return constant && constant->isAllOnesValue();
}

/// Of the first lanes of a register.
std::string ones_in(unsigned bytes) { return std::string(bytes, '\xff') + std::string(32 - bytes, '\0'); }

}  // namespace

// ---- what is no power of two ----

void Avx2Selector::load_bytes(const x86::Vec& to, const x86::Mem& from, unsigned bytes) {
  if (bytes % 4 == 0) {
    const x86::Vec lanes = vector_register(kScratchVector2, bytes);
    a_.emit(Inst::kIdVmovups, lanes, constant(ones_in(bytes)));
    a_.emit(Inst::kIdVpmaskmovd, vector_register(to.id(), bytes), lanes, from);
    return;
  }
  const x86::Mem area = x86::ptr(x86::rsp, places_.allocate(form_.bytes, form_.bytes));
  copy_bytes(area, from, bytes);
  a_.emit(Inst::kIdVmovups, whole(to.id()), area);
}

void Avx2Selector::store_bytes(const x86::Mem& to, const x86::Vec& from, unsigned bytes) {
  if (bytes % 4 == 0) {
    const x86::Vec lanes = vector_register(kScratchVector2, bytes);
    a_.emit(Inst::kIdVmovups, lanes, constant(ones_in(bytes)));
    a_.emit(Inst::kIdVpmaskmovd, to, lanes, vector_register(from.id(), bytes));
    return;
  }
  const x86::Mem area = x86::ptr(x86::rsp, places_.allocate(form_.bytes, form_.bytes));
  a_.emit(Inst::kIdVmovups, area, whole(from.id()));
  copy_bytes(to, area, bytes);
}

void Avx2Selector::copy_bytes(x86::Mem to, x86::Mem from, unsigned bytes) {
  for (unsigned at = 0; at < bytes;) {
    const unsigned step = llvm::bit_floor(std::min(8u, bytes - at));
    const x86::Gp reg = step == 8   ? x86::Gp(x86::rax)
                        : step == 4 ? x86::Gp(x86::eax)
                        : step == 2 ? x86::Gp(x86::ax)
                                    : x86::Gp(x86::al);
    a_.mov(reg, further(from, at, step));
    a_.mov(further(to, at, step), reg);
    at += step;
  }
}

// ---- masks in memory: bits ----

void Avx2Selector::load_mask(llvm::LoadInst& i, const x86::Mem& from) {
  const unsigned bytes = (shape(&i).lanes + 7) / 8;
  if (bytes <= 2)
    a_.movzx(kScratch.r32(), further(from, 0, bytes));
  else
    a_.mov(general_register(kScratch.id(), bytes * 8), further(from, 0, bytes));
  define_from_bits(&i);
}

void Avx2Selector::store_mask(const x86::Mem& to, const llvm::Value* value) {
  const unsigned bytes = (shape(value).lanes + 7) / 8;
  load_bits(kScratch, value);
  const x86::Mem at = further(to, 0, bytes);
  bytes == 1   ? a_.mov(at, x86::al)
  : bytes == 2 ? a_.mov(at, x86::ax)
               : a_.mov(at, general_register(kScratch.id(), bytes * 8));
}

// ---- under a mask ----

unsigned Avx2Selector::accessed(const llvm::Value* mask_value, const Shape& all, unsigned n, unsigned to) {
  const unsigned lanes = truths(mask_value, all, n, to), bytes = all.bytes_of(n);
  if (bytes == 16 || bytes == 32) return lanes;
  a_.vpand(x86::ymm(to), x86::ymm(lanes), constant(ones_in(bytes)));
  return to;
}

void Avx2Selector::for_lanes_of_bits(const x86::Gp& bits, unsigned first, unsigned count,
                                     llvm::function_ref<void(unsigned)> write) {
  for (unsigned lane = 0; lane < count; ++lane) {
    const asmjit::Label next = a_.newLabel();
    a_.bt(bits, first + lane);
    a_.jnc(next);
    write(lane);
    a_.bind(next);
  }
}

void Avx2Selector::masked_load(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  const unsigned bytes = all.element_bits / 8;
  const x86::Mem from = address(i.getArgOperand(0));
  const llvm::Value *lanes = i.getArgOperand(2), *other = i.getArgOperand(3);
  if (is_all(lanes)) return load_vector(i, from);
  if (bytes < 4) load_bits(kScratch3, lanes);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Mem at = further(from, std::int64_t{form_.bytes} * n, 0);
    const unsigned width = std::max(16u, all.bytes_of(n));
    if (bytes < 4) {
      const x86::Vec old = vector(other, n);
      const x86::Mem to = places_.define_in_memory(piece(&i, n));
      store_piece(to, old, all.bytes_of(n));
      for_lanes_of_bits(kScratch3, all.lanes_before(n), all.lanes_of(n), [&](unsigned lane) {
        copy_bytes(further(to, lane * bytes, bytes), further(at, lane * bytes, bytes), bytes);
      });
      continue;
    }
    const x86::Vec chosen = vector_register(accessed(lanes, all, n, kScratchVector), width);
    const x86::Vec old = may_be_zero(other) ? x86::Vec() : vector_register(vector(other, n).id(), width);
    const x86::Vec to = vector_register(define_vector(&i, n).id(), width);
    a_.emit(bytes == 8 ? Inst::kIdVpmaskmovq : Inst::kIdVpmaskmovd, to, chosen, at);
    if (!may_be_zero(other)) a_.emit(Inst::kIdVblendvps, to, old, to, chosen);
  }
}

void Avx2Selector::masked_store(llvm::IntrinsicInst& i) {
  const llvm::Value *value = i.getArgOperand(0), *lanes = i.getArgOperand(3);
  const Shape all = shape(value);
  const unsigned bytes = all.element_bits / 8;
  const x86::Mem to = address(i.getArgOperand(1));
  if (is_all(lanes)) return store_vector(to, value);
  if (bytes < 4) load_bits(kScratch3, lanes);
  for (unsigned n = 0; n < all.count; ++n) {
    places_.begin_piece();
    const x86::Mem at = further(to, std::int64_t{form_.bytes} * n, 0);
    if (bytes < 4) {
      const x86::Mem from = places_.in_memory(piece(value, n));
      for_lanes_of_bits(kScratch3, all.lanes_before(n), all.lanes_of(n), [&](unsigned lane) {
        copy_bytes(further(at, lane * bytes, bytes), further(from, lane * bytes, bytes), bytes);
      });
      continue;
    }
    const unsigned width = std::max(16u, all.bytes_of(n));
    const x86::Vec chosen = vector_register(accessed(lanes, all, n, kScratchVector), width);
    a_.emit(bytes == 8 ? Inst::kIdVpmaskmovq : Inst::kIdVpmaskmovd, at, chosen,
            vector_register(vector(value, n).id(), width));
  }
}

// ---- at addresses of their own: four lanes at a time, as many as addresses fit a register ----

void Avx2Selector::gather(llvm::IntrinsicInst& i) {
  const Shape all = shape(&i);
  if (all.lanes % 4 != 0 || all.element_bits < 32 || i.getType()->getScalarType()->isPointerTy())
    return cannot(i);
  for (unsigned n = 0; n < all.count; ++n) all.element_bits == 32 ? gather_words(i, n) : gather_doubles(i, n);
}

/// Each half of a piece has a register of addresses. What was loaded is cleared in the mask.
void Avx2Selector::gather_words(llvm::IntrinsicInst& i, unsigned n) {
  const llvm::Value* other = i.getArgOperand(3);
  const unsigned halves = shape(&i).bytes_of(n) / 16;
  const x86::Xmm left = x86::xmm(kScratchVector),
                 made[] = {x86::xmm(kScratchVector2), x86::xmm(kScratchVector3)};
  for (unsigned half = 0; half < halves; ++half) {
    const unsigned lanes = vector(i.getArgOperand(2), n).id(),
                   at = vector(i.getArgOperand(0), 2 * n + half).id();
    const auto take = [&](const x86::Xmm& to, unsigned from) {
      half == 0 ? a_.vmovaps(to, x86::xmm(from)) : a_.vextracti128(to, x86::ymm(from), 1);
    };
    take(left, lanes);
    if (may_be_zero(other))
      code_.clear(made[half].id());
    else
      take(made[half], vector(other, n).id());
    a_.vpgatherqd(made[half], x86::ptr(std::uint64_t{0}, x86::ymm(at), 0), left);
  }
  const unsigned to = define_vector(&i, n).id();
  if (halves == 2)
    join_halves(to, kScratchVector2, kScratchVector3);
  else
    a_.vmovaps(x86::xmm(to), made[0]);
}

void Avx2Selector::gather_doubles(llvm::IntrinsicInst& i, unsigned n) {
  const llvm::Value* other = i.getArgOperand(3);
  const unsigned at = vector(i.getArgOperand(0), n).id();
  const unsigned left = truths(i.getArgOperand(2), shape(&i), n, kScratchVector);
  const unsigned old = may_be_zero(other) ? 0 : vector(other, n).id(), to = define_vector(&i, n).id();
  if (may_be_zero(other))
    code_.clear(to);
  else
    a_.vmovaps(x86::ymm(to), x86::ymm(old));
  a_.vpgatherqq(x86::ymm(to), x86::ptr(std::uint64_t{0}, x86::ymm(at), 0), x86::ymm(left));
}

void Avx2Selector::scatter(llvm::IntrinsicInst& i) {
  const llvm::Value *value = i.getArgOperand(0), *addresses = i.getArgOperand(1);
  const Shape all = shape(value);
  if (all.lanes % 4 != 0 || all.element_bits < 32) return cannot(i);
  const unsigned bytes = all.element_bits / 8, in_piece = all.lanes_in_piece();
  load_bits(kScratch, i.getArgOperand(3));
  for (unsigned lane = 0; lane < all.lanes; lane += 4) {
    const x86::Mem from = places_.in_memory(piece(value, lane / in_piece)),
                   at = places_.in_memory(piece(addresses, lane / 4));
    for_lanes_of_bits(kScratch, lane, 4, [&](unsigned n) {
      const x86::Gp moved = general_register(kScratch3.id(), bytes * 8);
      a_.mov(kScratch2, further(at, n * 8, 8));
      a_.mov(moved, further(from, (lane % in_piece + n) * bytes, bytes));
      a_.mov(x86::ptr(kScratch2, 0, bytes), moved);
    });
  }
}

}  // namespace raddle::jit::baseline
