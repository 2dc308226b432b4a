// What phis get at the ends of blocks: to their homes or slots, all at once. What another one is still to get
// from comes last; where that goes round in a circle, one is put aside first.
#include <llvm/IR/Constants.h>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {
namespace {

/// A register or a slot, as a number.
using Spot = std::uint64_t;
constexpr Spot kNowhere = ~Spot{0};
Spot spot_of_register(Class kind, unsigned reg) {
  return (Spot{1} << 40) + static_cast<Spot>(kind) * 32 + reg;
}

unsigned scratch_of(Class kind) {
  return kind == Class::vector ? kScratchVector : kind == Class::mask ? kScratchMask : kScratch.id();
}

}  // namespace

struct Selector::Gift {
  PieceId to;
  PieceId from = kNoPiece;  ///< kNoPiece: `value` is made where it is used
  const llvm::Value* value = nullptr;
  std::int32_t aside = -1;  ///< it lies there in the frame
  Spot gets = kNowhere, reads = kNowhere;
};

std::vector<Selector::Gift> Selector::gifts(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  std::vector<Gift> all;
  for (const llvm::PHINode& phi : to.phis()) {
    const llvm::Value* value = phi.getIncomingValueForBlock(&from);
    const bool is_made = shape(&phi).kind == Class::general && is_made_where_used(value);
    for (unsigned n = 0; n < analysis_.pieces_of(&phi); ++n) {
      Gift gift{.to = piece(&phi, n), .from = is_made ? kNoPiece : piece(value, n), .value = value};
      const Piece& getting = analysis_.pieces[gift.to];
      gift.gets = getting.home >= 0 ? spot_of_register(getting.kind, static_cast<unsigned>(getting.home))
                                    : places_.owner_of_slot(gift.to);
      if (!is_made) {
        const Piece& given = analysis_.pieces[gift.from];
        const PieceId slot = places_.owner_of_slot(gift.from);
        // A slot that is read into a register, too, is the phi's own all the same.
        if (gift.from == gift.to || (given.is_stored && slot == gift.gets)) continue;
        if (given.place >= 0)
          gift.reads = spot_of_register(given.kind, static_cast<unsigned>(given.place));
        else if (!given.is_constant())
          gift.reads = slot;
        if (gift.reads == gift.gets) continue;
        if (given.origin == Origin::undefined) continue;
      }
      all.push_back(gift);
    }
  }
  return all;
}

bool Selector::gives(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  return !to.phis().empty() && !gifts(from, to).empty();
}

void Selector::put_aside(Gift& gift) {
  gift.aside = places_.allocate(form_.bytes, form_.bytes);
  const x86::Mem at = x86::ptr(x86::rsp, gift.aside);
  gift.reads = kNowhere;
  if (gift.from == kNoPiece) {
    load_general(kScratch, gift.value);
    return void(a_.mov(at, kScratch));
  }
  const Piece& piece = analysis_.pieces[gift.from];
  const bool has = piece.place >= 0;
  const auto place = static_cast<unsigned>(piece.place);
  const unsigned scratch = scratch_of(piece.kind);
  if (!has) places_.load(scratch, gift.from);
  places_.store_register(at, piece, has ? place : scratch);
}

void Selector::give(const Gift& gift) {
  const Piece& to = analysis_.pieces[gift.to];
  const bool has_home = to.home >= 0;
  unsigned reg = has_home ? static_cast<unsigned>(to.home) : scratch_of(to.kind);
  if (gift.aside >= 0) {
    places_.load_register(reg, to, x86::ptr(x86::rsp, gift.aside));
  } else if (gift.from == kNoPiece) {
    load_general(x86::gpq(reg), gift.value);
  } else if (const Piece& from = analysis_.pieces[gift.from]; from.place < 0) {
    places_.load(reg, gift.from);
  } else if (has_home) {
    places_.move_register(to.kind, reg, static_cast<unsigned>(from.place));
  } else {
    reg = static_cast<unsigned>(from.place);
  }
  if (!has_home) places_.store_register(places_.define_in_memory(gift.to), to, reg);
}

void Selector::give_to_phis(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  std::vector<Gift> all = gifts(from, to);
  for (Gift& gift : all)
    if (gift.from == kNoPiece && llvm::isa<llvm::Instruction>(gift.value) &&
        !llvm::isa<llvm::AllocaInst>(gift.value))
      put_aside(gift);  // it may read any of the others
  llvm::DenseMap<Spot, unsigned> readers;
  llvm::DenseMap<Spot, unsigned> getters;
  for (unsigned n = 0; n < all.size(); ++n) {
    if (all[n].reads != kNowhere) ++readers[all[n].reads];
    getters[all[n].gets] = n;
  }
  std::vector<unsigned> ready;
  std::vector<bool> is_given(all.size(), false);
  for (unsigned n = 0; n < all.size(); ++n)
    if (readers.lookup(all[n].gets) == 0) ready.push_back(n);
  auto has_read = [&](Spot spot) {
    if (spot == kNowhere || --readers[spot] != 0) return;
    if (const auto found = getters.find(spot); found != getters.end()) ready.push_back(found->second);
  };
  for (unsigned next = 0; next < all.size();) {
    if (!ready.empty()) {
      const unsigned n = ready.back();
      ready.pop_back();
      give(all[n]);
      is_given[n] = true;
      has_read(all[n].reads);
    } else if (is_given[next] || all[next].aside >= 0 || all[next].reads == kNowhere) {
      ++next;
    } else {
      const Spot spot = all[next].reads;
      put_aside(all[next]);
      has_read(spot);
    }
  }
}

}  // namespace raddle::jit::baseline
