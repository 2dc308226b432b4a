#include "jit/baseline/places.h"

#include <algorithm>

namespace raddle::jit::baseline {
namespace {

constexpr unsigned kGeneralRegisters[] = {3, 12, 13, 14, 15, 6,
                                          7, 8,  9,  10, 11};  // the callee keeps the first five
constexpr unsigned kMaskRegisters[] = {2, 3, 4, 5, 6};
constexpr std::array<unsigned, 29> kVectorRegisters = [] {
  std::array<unsigned, 29> all{};
  for (unsigned n = 0; n < all.size(); ++n) all[n] = n + 3;
  return all;
}();

bool callee_keeps(Class kind, unsigned reg) {
  return kind == Class::general && (reg == 3 || (reg >= 12 && reg <= 15));
}

}  // namespace

llvm::ArrayRef<unsigned> Places::registers_of(Class kind) const {
  if (kind == Class::general) return kGeneralRegisters;
  if (kind == Class::mask) return kMaskRegisters;
  return llvm::ArrayRef<unsigned>(kVectorRegisters).take_front(form_.registers - kVectorRegisters.front());
}

std::int32_t Places::allocate(unsigned bytes, unsigned align) {
  frame_ = (frame_ + align - 1) / align * align;
  const auto at = static_cast<std::int32_t>(frame_);
  frame_ += bytes;
  return at;
}

std::int32_t Places::slot(PieceId id) {
  Piece& piece = pieces_[id];
  if (piece.slot >= 0) return piece.slot;
  const bool is_wide = piece.kind == Class::vector && piece.bytes > 8;
  auto& free = free_slots_[is_wide ? 1 : 0];
  if (!free.empty() && !piece.is_global) {
    piece.slot = free.back();
    free.pop_back();
  } else {
    piece.slot = is_wide ? allocate(form_.bytes, form_.bytes) : allocate(8, 8);
  }
  return piece.slot;
}

void Places::pin(Class kind, unsigned reg) {
  pinned(kind) |= 1u << reg;
  file(kind).used[reg] = ++clock_;
}

unsigned Places::take(Class kind) {
  File& all = file(kind);
  unsigned best = kRegisters;
  for (unsigned reg : registers_of(kind)) {
    if (pinned(kind) >> reg & 1) continue;
    if (all.owner[reg] == kNoPiece) {
      best = reg;
      break;
    }
    if (best == kRegisters || all.used[reg] < all.used[best]) best = reg;
  }
  if (best == kRegisters) {
    code_.error.message = "an instruction wants more registers than there are";
    return registers_of(kind).front();
  }
  evict(kind, best);
  pin(kind, best);
  return best;
}

void Places::evict(Class kind, unsigned reg) {
  const PieceId id = file(kind).owner[reg];
  if (id == kNoPiece) return;
  const Piece& piece = pieces_[id];
  if (!piece.is_constant() && !piece.is_stored && (piece.uses > 0 || piece.is_global)) store(id);
  leave(id);
}

void Places::leave(PieceId id) {
  Piece& piece = pieces_[id];
  if (piece.place < 0) return;
  file(piece.kind).owner[static_cast<unsigned>(piece.place)] = kNoPiece;
  piece.place = -1;
}

void Places::own(PieceId id, unsigned reg) {
  Piece& piece = pieces_[id];
  file(piece.kind).owner[reg] = id;
  piece.place = static_cast<std::int8_t>(reg);
}

void Places::store(PieceId id) {
  Piece& piece = pieces_[id];
  const auto reg = static_cast<unsigned>(piece.place);
  const x86::Mem at = x86::ptr(x86::rsp, slot(id));
  if (piece.kind == Class::general)
    a_.mov(at, x86::gpq(reg));
  else if (piece.kind == Class::mask)
    a_.kmovq(at, x86::k(reg));
  else if (const unsigned width = width_of(piece.bytes); width == 4)
    a_.vmovss(at, x86::xmm(reg));
  else if (width == 8)
    a_.vmovsd(at, x86::xmm(reg));
  else
    a_.emit(Inst::kIdVmovups, at, vector_register(reg, width));
  piece.is_stored = true;
}

void Places::load(unsigned reg, PieceId id) {
  const Piece& piece = pieces_[id];
  const unsigned width = width_of(piece.bytes);
  const x86::Vec vector = vector_register(reg, width);
  switch (piece.origin) {
    case Origin::undefined:
      return;
    case Origin::zero:
      if (piece.kind == Class::general)
        a_.xor_(x86::gpd(reg), x86::gpd(reg));
      else if (piece.kind == Class::mask)
        a_.kxorq(x86::k(reg), x86::k(reg), x86::k(reg));
      else
        code_.clear(reg);
      return;
    case Origin::ones:
      if (form_.mask_registers)
        a_.vpternlogd(x86::zmm(reg), x86::zmm(reg), x86::zmm(reg), 0xff);
      else
        a_.vpcmpeqd(x86::ymm(reg), x86::ymm(reg), x86::ymm(reg));
      return;
    case Origin::bits:
      if (piece.kind == Class::general) {
        a_.mov(x86::gpq(reg), piece.constant);
      } else {
        a_.mov(kScratch, piece.constant);
        a_.kmovq(x86::k(reg), kScratch);
      }
      return;
    case Origin::repeated:
      a_.emit(Inst::kIdVpbroadcastq, vector, code_.constant_at(piece.constant));
      return;
    default:
      break;
  }
  const x86::Mem at =
      piece.origin == Origin::pool ? code_.constant_at(piece.constant) : x86::ptr(x86::rsp, slot(id));
  if (piece.kind == Class::general)
    a_.mov(x86::gpq(reg), at);
  else if (piece.kind == Class::mask)
    a_.kmovq(x86::k(reg), at);
  else if (width == 4)
    a_.vmovss(x86::xmm(reg), at);
  else if (width == 8)
    a_.vmovsd(x86::xmm(reg), at);
  else
    a_.emit(Inst::kIdVmovups, vector, at);
}

unsigned Places::in_register(PieceId id) {
  Piece& piece = pieces_[id];
  if (piece.place < 0) {
    const unsigned reg = take(piece.kind);
    load(reg, id);
    own(id, reg);
    piece.is_stored = !piece.is_constant();
  }
  const auto reg = static_cast<unsigned>(piece.place);
  pin(piece.kind, reg);
  return reg;
}

unsigned Places::define(PieceId id) {
  const unsigned reg = take(pieces_[id].kind);
  own(id, reg);
  pieces_[id].is_stored = false;  // blocks that come earlier in the code may have loaded it already
  return reg;
}

unsigned Places::define_from(PieceId id, PieceId from) {
  const Class kind = pieces_[id].kind;
  if (!pieces_[from].is_constant() && is_last_use(from) && pieces_[from].place >= 0) {
    const auto reg = static_cast<unsigned>(pieces_[from].place);
    leave(from);
    own(id, reg);
    pieces_[id].is_stored = false;
    pin(kind, reg);
    return reg;
  }
  const bool had = pieces_[from].place >= 0;
  const unsigned source = had ? in_register(from) : 0;
  const unsigned reg = define(id);
  if (!had)
    load(reg, from);
  else if (kind == Class::general)
    a_.mov(x86::gpq(reg), x86::gpq(source));
  else if (kind == Class::mask)
    a_.kmovq(x86::k(reg), x86::k(source));
  else
    a_.emit(Inst::kIdVmovaps, vector_register(reg, form_.bytes), vector_register(source, form_.bytes));
  return reg;
}

x86::Mem Places::define_in_memory(PieceId id) {
  pieces_[id].is_stored = true;
  return x86::ptr(x86::rsp, slot(id));
}

unsigned Places::temporary(Class kind) { return take(kind); }

x86::Mem Places::in_memory(PieceId id, std::int32_t offset) {
  Piece& piece = pieces_[id];
  if (piece.origin == Origin::pool) return code_.constant_at(piece.constant, offset);
  if (piece.is_constant()) {  // by way of a slot: seldom
    in_register(id);
    if (piece.kind == Class::vector) piece.bytes = static_cast<std::uint8_t>(form_.bytes);
    store(id);
    piece.is_stored = false;
  } else if (!piece.is_stored && piece.place >= 0) {  // what another block has made is stored already
    store(id);
  }
  return x86::ptr(x86::rsp, slot(id) + offset);
}

asmjit::Operand Places::operand(PieceId id, unsigned element_bits, unsigned bytes, bool broadcasts) {
  const Piece& piece = pieces_[id];
  if (piece.place < 0 && broadcasts && form_.mask_registers && (element_bits == 32 || element_bits == 64) &&
      piece.origin == Origin::repeated && bytes >= 16) {
    x86::Mem at = code_.constant_at(piece.constant);
    const unsigned count = width_of(bytes) * 8 / element_bits;
    at.setBroadcast(count == 16  ? x86::Mem::Broadcast::k1To16
                    : count == 8 ? x86::Mem::Broadcast::k1To8
                    : count == 4 ? x86::Mem::Broadcast::k1To4
                                 : x86::Mem::Broadcast::k1To2);
    // 32-bit elements repeat only the first half.
    if (element_bits == 64 || code_.halves_are_equal(piece.constant)) return at;
  }
  const bool is_wide = bytes >= 16 && width_of(piece.bytes) >= width_of(bytes);
  if (piece.place < 0 && is_wide && piece.origin == Origin::pool && piece.uses <= 1)
    return code_.constant_at(piece.constant);
  if (piece.place < 0 && is_wide && !piece.is_constant() && piece.uses <= 1)
    return x86::ptr(x86::rsp, slot(id));
  return vector_register(in_register(id), width_of(bytes));
}

void Places::made(PieceId id) {
  const Piece& piece = pieces_[id];
  if (piece.place < 0) return;
  if (piece.is_global && !piece.is_stored && !piece.is_constant()) store(id);
  if (piece.uses == 0 && !piece.is_global) leave(id);
}

void Places::release(PieceId id) {
  Piece& piece = pieces_[id];
  if (piece.uses > 0) --piece.uses;
  if (piece.uses > 0 || piece.is_global) return;
  leave(id);
  if (piece.slot < 0) return;
  const bool is_wide = piece.kind == Class::vector && piece.bytes > 8;
  free_slots_[is_wide ? 1 : 0].push_back(piece.slot);
  piece.slot = -1;
}

void Places::before_call() {
  for (const Class kind : {Class::general, Class::vector, Class::mask})
    for (const unsigned reg : registers_of(kind)) {
      const PieceId id = file(kind).owner[reg];
      if (id == kNoPiece) continue;
      if (!callee_keeps(kind, reg)) evict(kind, reg);
    }
}

Places::Contents Places::contents() const {
  Contents all;
  for (const Class kind : {Class::general, Class::vector, Class::mask})
    for (unsigned reg = 0; reg < kRegisters; ++reg)
      if (const PieceId id = files_[static_cast<unsigned>(kind)].owner[reg];
          id != kNoPiece && (pieces_[id].is_constant() || pieces_[id].is_global))
        all.push_back({kind, {reg, id}});
  return all;
}

void Places::begin_block(const Contents& contents) {
  for (const Class kind : {Class::general, Class::vector, Class::mask})
    for (const unsigned reg : registers_of(kind))
      if (const PieceId id = file(kind).owner[reg]; id != kNoPiece) leave(id);
  for (const auto& [kind, held] : contents) own(held.second, held.first);
}

}  // namespace raddle::jit::baseline
