#include "jit/baseline/places.h"

#include <algorithm>

namespace raddle::jit::baseline {
namespace {

constexpr unsigned kGeneralRegisters[] = {8, 9,  10, 11, 7, 6,  // the first arguments' last
                                          3, 12, 13, 14, 15};   // these the function has to keep
// Beyond the first five: no instruction's mask, and those that are scratch for most instructions.
constexpr unsigned kMaskRegisters[] = {2, 3, 4, 5, 6, 0, kScratchMask, kScratchMask2};
constexpr std::array<unsigned, 29> kVectorRegisters = [] {
  std::array<unsigned, 29> all{};
  for (unsigned n = 0; n < all.size(); ++n) all[n] = n + 3;
  return all;
}();

}  // namespace

std::uint32_t kept_by(llvm::CallingConv::ID convention) {
  constexpr std::uint32_t kKept = 1u << 3 | 0xf << 12;
  constexpr std::uint32_t kAlsoMost = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 7u << 8;
  return convention == llvm::CallingConv::PreserveMost ? kKept | kAlsoMost : kKept;
}

llvm::ArrayRef<unsigned> registers_of(Class kind, const Form& form) {
  if (kind == Class::general) return kGeneralRegisters;
  if (kind == Class::mask) return kMaskRegisters;
  return llvm::ArrayRef<unsigned>(kVectorRegisters).take_front(form.registers - kVectorRegisters.front());
}

std::int32_t Places::allocate(unsigned bytes, unsigned align) {
  frame_ = (frame_ + align - 1) / align * align;
  const auto at = static_cast<std::int32_t>(frame_);
  frame_ += bytes;
  return at;
}

std::int32_t Places::slot(PieceId id) {
  Piece& piece = pieces_[owner_of_slot(id)];
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

void Places::begin_instruction(bool wants_scratch_masks) {
  pinned_ = {};
  has_scratch_masks_ = wants_scratch_masks;
  if (!wants_scratch_masks) return;
  evict(Class::mask, kScratchMask);
  evict(Class::mask, kScratchMask2);
}

void Places::pin(Class kind, unsigned reg) {
  pinned(kind) |= 1u << reg;
  file(kind).used[reg] = ++clock_;
  file(kind).written |= 1u << reg;
}

unsigned Places::take(Class kind) {
  File& all = file(kind);
  unsigned best = kRegisters;
  const std::uint32_t held = pinned(kind) | reserved_[static_cast<unsigned>(kind)] |
                             (kind == Class::mask && has_scratch_masks_ ? kScratchMasks : 0);
  for (unsigned reg : registers_of(kind)) {
    if (held >> reg & 1) continue;
    if (all.owner[reg] == kNoPiece) {
      best = reg;
      break;
    }
    const auto ahead = [&](unsigned r) { return std::pair(next_use(all.owner[r]), ~all.used[r]); };
    if (best == kRegisters || ahead(reg) > ahead(best)) best = reg;
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
  if (const PieceId before = file(piece.kind).owner[reg]; before != kNoPiece) leave(before);
  file(piece.kind).owner[reg] = id;
  file(piece.kind).written |= 1u << reg;
  piece.place = static_cast<std::int8_t>(reg);
}

void Places::store(PieceId id) {
  store_register(x86::ptr(x86::rsp, slot(id)), pieces_[id], static_cast<unsigned>(pieces_[id].place));
  pieces_[id].is_stored = true;
}

void Places::store_register(const x86::Mem& to, const Piece& like, unsigned reg) {
  const unsigned width = width_of(like.bytes);
  if (like.kind == Class::general)
    a_.mov(to, x86::gpq(reg));
  else if (like.kind == Class::mask)
    a_.kmovq(to, x86::k(reg));
  else if (width == 4)
    a_.vmovss(to, x86::xmm(reg));
  else if (width == 8)
    a_.vmovsd(to, x86::xmm(reg));
  else
    a_.emit(Inst::kIdVmovups, to, vector_register(reg, width));
}

void Places::load_register(unsigned reg, const Piece& like, const x86::Mem& from) {
  const unsigned width = width_of(like.bytes);
  if (like.kind == Class::general)
    a_.mov(x86::gpq(reg), from);
  else if (like.kind == Class::mask)
    a_.kmovq(x86::k(reg), from);
  else if (width == 4)
    a_.vmovss(x86::xmm(reg), from);
  else if (width == 8)
    a_.vmovsd(x86::xmm(reg), from);
  else
    a_.emit(Inst::kIdVmovups, vector_register(reg, width), from);
}

void Places::move_register(Class kind, unsigned to, unsigned from) {
  if (kind == Class::general)
    a_.mov(x86::gpq(to), x86::gpq(from));
  else if (kind == Class::mask)
    a_.kmovq(x86::k(to), x86::k(from));
  else
    a_.emit(Inst::kIdVmovaps, vector_register(to, form_.bytes), vector_register(from, form_.bytes));
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
      if (piece.home >= 0 && !piece.is_stored && code_.error.message.empty())
        code_.error.message = "a value is not at home";
      break;
  }
  load_register(
      reg, piece,
      piece.origin == Origin::pool ? code_.constant_at(piece.constant) : x86::ptr(x86::rsp, slot(id)));
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
  const Class kind = pieces_[id].kind;
  const bool has_home = pieces_[id].home >= 0;
  const unsigned reg = has_home ? static_cast<unsigned>(pieces_[id].home) : take(kind);
  if (has_home) pin(kind, reg);
  own(id, reg);
  pieces_[id].is_stored = false;  // blocks that come earlier in the code may have loaded it already
  return reg;
}

bool Places::takes_over(PieceId id, PieceId from) const {
  const Piece& before = pieces_[from];
  if (pieces_[id].home >= 0) return before.place == pieces_[id].home;  // which is read no more
  return !before.is_constant() && is_last_use(from) && before.place >= 0;
}

unsigned Places::define_from(PieceId id, PieceId from) {
  const Class kind = pieces_[id].kind;
  if (takes_over(id, from)) {
    if (pieces_[id].home >= 0) return define(id);
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
  else
    move_register(kind, reg, source);
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
    if (piece.home >= 0) piece.is_stored = false;  // blocks that this one does not lead to may ask, too
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
  Piece& piece = pieces_[id];
  if (piece.home >= 0) {
    if (piece.place >= 0) return;
    load(static_cast<unsigned>(piece.home), id);
    own(id, static_cast<unsigned>(piece.home));
    piece.is_stored = false;
    return;
  }
  if (piece.place < 0) return;
  if (piece.is_global && !piece.is_stored && !piece.is_constant()) store(id);
  if (piece.uses == 0 && !piece.is_global) leave(id);
}

void Places::release(PieceId id) {
  Piece& piece = pieces_[id];
  next_[id] = uses_[next_[id]].next;
  if (piece.uses > 0) --piece.uses;
  if (piece.uses > 0 || piece.is_global) return;
  leave(id);
  if (piece.slot < 0) return;
  const bool is_wide = piece.kind == Class::vector && piece.bytes > 8;
  free_slots_[is_wide ? 1 : 0].push_back(piece.slot);
  piece.slot = -1;
}

void Places::before_call(std::uint32_t kept) {
  for (const Class kind : {Class::general, Class::vector, Class::mask})
    for (const unsigned reg : registers_of(kind)) {
      const PieceId id = file(kind).owner[reg];
      if (id == kNoPiece || (kind == Class::general && (kept >> reg & 1))) continue;
      if (pieces_[id].home < 0) {
        evict(kind, reg);
      } else {
        store(id);
        leave(id);
        called_.push_back(id);
      }
    }
}

void Places::after_call() {
  for (const PieceId id : called_) made(id);
  called_.clear();
}

Places::Contents Places::contents() const {
  Contents all;
  for (const Class kind : {Class::general, Class::vector, Class::mask})
    for (unsigned reg = 0; reg < kRegisters; ++reg)
      if (const PieceId id = files_[static_cast<unsigned>(kind)].owner[reg];
          id != kNoPiece && pieces_[id].home < 0 && (pieces_[id].is_constant() || pieces_[id].is_global))
        all.push_back({kind, {reg, id}});
  return all;
}

void Places::read_ahead(const std::vector<std::vector<PieceId>>& sources) {
  uses_.clear();
  next_.resize(pieces_.size(), kNoUse);
  for (std::uint32_t at = static_cast<std::uint32_t>(sources.size()); at-- > 0;)
    for (const PieceId id : sources[at]) {
      uses_.push_back({at, next_[id]});
      next_[id] = static_cast<std::uint32_t>(uses_.size() - 1);
    }
}

void Places::begin_block(const Contents& contents, llvm::ArrayRef<PieceId> entering,
                         const std::array<std::uint32_t, 3>& reserved) {
  for (const Class kind : {Class::general, Class::vector, Class::mask})
    for (const unsigned reg : registers_of(kind))
      if (const PieceId id = file(kind).owner[reg]; id != kNoPiece) leave(id);
  reserved_ = reserved;
  for (const auto& [kind, held] : contents)
    if (!(reserved_[static_cast<unsigned>(kind)] >> held.first & 1)) own(held.second, held.first);
  for (const PieceId id : entering) own(id, static_cast<unsigned>(pieces_[id].home));
}

}  // namespace raddle::jit::baseline
