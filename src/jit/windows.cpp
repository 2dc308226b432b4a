// Memory around lanes at constant distances, of MemoryAccess: a window is one vector access for a part,
// permuted; where the lanes of a part lie too far apart for one, runs of neighbours are an access each.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "isa/op.h"
#include "jit/memory_access.h"
#include "jit/prefetch.h"
#include "jit/transposes.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Operand;

namespace {

constexpr unsigned kRunBytes = 16;
constexpr unsigned kLineBytes = 64;   ///< of the host's caches
constexpr unsigned kNarrowRow = 256;  ///< bytes

/// @param parts  of a warp, each of which loads as much
DeviceRow device_row(const llvm::Instruction& load, unsigned parts) {
  const std::uint64_t part = load.getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  return parts * part > kNarrowRow ? DeviceRow::wide : DeviceRow::narrow;
}

}  // namespace

/// Of a lane, from the part's own base, scalar(address, p).
std::int64_t MemoryAccess::offset_in_part(const Access& a, unsigned p, unsigned lane) const {
  const Shape& shape = a.address.shape;
  if (shape.per_part) return shape.offset(lane);
  return shape.offset(p * code_.lanes() + lane) - shape.offset(p * code_.lanes());
}

MemoryAccess::Window MemoryAccess::window_of(const Access& a, unsigned p) const {
  Window w;
  if (!a.address.shape.affine) return w;
  auto offset = [&](unsigned l) { return offset_in_part(a, p, l); };
  std::int64_t least = 0, most = 0;
  for (unsigned l = 0; l < code_.lanes(); ++l) {
    least = std::min(least, offset(l));
    most = std::max(most, offset(l));
    if (offset(l) % a.bytes != 0) return w;
  }
  int first = 0, last = 0;  // of a lane's elements
  for (unsigned e = 0; e < a.count; ++e)
    first = std::min(first, a.place(e)), last = std::max(last, a.place(e));
  least += std::int64_t{first} * a.bytes;
  const std::int64_t elements = (most - least) / a.bytes + last + 1;
  if (elements > 4 * std::int64_t{code_.lanes()}) return w;
  w.first = least;
  w.size = static_cast<unsigned>(elements);
  std::vector<bool> taken(w.size);
  for (unsigned l = 0; l < code_.lanes(); ++l) {
    w.place.push_back(static_cast<unsigned>((offset(l) - least) / a.bytes));
    for (unsigned e = 0; e < a.count; ++e) {
      w.distinct = w.distinct && !taken[w.index(a, l, e)];
      taken[w.index(a, l, e)] = true;
    }
  }
  return w;
}

bool MemoryAccess::has_windows(const Access& a, bool for_store) const {
  for (unsigned p = 0; p < code_.parts(); ++p) {
    Window w = window_of(a, p);
    if (w.size == 0 || (for_store && !w.distinct)) return false;
  }
  return true;
}

/// Lanes side by side lie side by side, 16 bytes of them at a time.
bool MemoryAccess::has_runs(const Access& a) const {
  if (!a.address.shape.affine || a.count != 1 || a.bytes < 4 || a.bytes > 8) return false;
  const unsigned run = kRunBytes / a.bytes;
  for (unsigned p = 0; p < code_.parts(); ++p)
    for (unsigned l = 0; l < code_.lanes(); ++l)
      if (offset_in_part(a, p, l) != offset_in_part(a, p, l - l % run) + l % run * a.bytes) return false;
  return true;
}

/// Elements of the window that an active lane reads or writes.
llvm::Value* MemoryAccess::window_mask(const Access& a, const Window& w, unsigned p) {
  return window_mask(a, w, a.mask[p]);
}

/// @param lanes  all bits of a lane are set where it is active, else none
llvm::Value* MemoryAccess::window_mask(const Access& a, const Window& w, llvm::Value* lanes) {
  std::vector<std::vector<int>> claims;  // [round][element]: a lane that uses it, or none
  for (unsigned l = 0; l < code_.lanes(); ++l)
    for (unsigned e = 0; e < a.count; ++e) {
      std::size_t round = 0;
      const unsigned index = w.index(a, l, e);
      while (round < claims.size() && claims[round][index] != static_cast<int>(code_.lanes())) ++round;
      if (round == claims.size())
        claims.emplace_back(w.size, static_cast<int>(code_.lanes()));  // lanes(): an element of `none`
      claims[round][index] = static_cast<int>(l);
    }
  auto* none = llvm::Constant::getNullValue(lanes->getType());
  llvm::Value* mask = nullptr;
  for (const auto& claim : claims) {
    auto* m = ir_.CreateShuffleVector(lanes, none, claim);
    mask = mask ? ir_.CreateOr(mask, m) : m;
  }
  return mask;
}

/// Marks a load or scatter that reaches device memory, unless the turn before has prefetched for it.
llvm::Instruction* MemoryAccess::may_prefetch(llvm::Instruction* access) {
  const Mod space = cursor_.opcode().get(ModKind::space);
  if (fetched_ahead_ == cursor_.instruction || (space != Mod::global && space != Mod::none)) return access;
  const bool is_scatter = access->getType()->isVoidTy();
  mark_device_load(*access, is_scatter    ? DeviceRow::narrow
                            : is_stream() ? DeviceRow::stream
                                          : device_row(*access, code_.parts()));
  return access;
}

/// The loops over warps and blocks are around the instruction, and the kernel has no others.
bool MemoryAccess::is_stream() const {
  return module_.kernel.kind() == exec::BlockKind::loops && cursor_.function.is_entry &&
         cursor_.plan.order.loops.empty();
}

/// How far an address moves from one turn to the next, as i64, in a loop around a barrier: null if that is
/// not known. To LLVM it is no loop, as regions leave the function there.
llvm::Value* MemoryAccess::step_of_turn(const Operand& address) {
  const Mod space = cursor_.opcode().get(ModKind::space);
  if (address.base != Operand::Base::reg || (space != Mod::global && space != Mod::none)) return nullptr;
  const auto step = cursor_.plan.turns.step(cursor_.block, address.index);
  if (!step || step->terms.empty()) return nullptr;
  llvm::Value* sum = ir_.getInt64(0);
  for (const TurnStep::Term& term : step->terms) {
    llvm::Value* product = ir_.getInt64(static_cast<std::uint64_t>(term.times));
    for (const Operand* factor : term.factors) {
      if (!cursor_.plan.operand_shape(*factor).uniform()) return nullptr;
      auto* value = values_.scalar_of_uniform(registers_.read(*factor)).v;
      product = ir_.CreateMul(product, ir_.CreateSExtOrTrunc(value, ir_.getInt64Ty()));
    }
    sum = ir_.CreateAdd(sum, product);
  }
  return sum;
}

void MemoryAccess::prefetch(llvm::Value* address) {
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {code_.pointer(address), ir_.getInt32(0), ir_.getInt32(2), ir_.getInt32(1)});
}

/// What a load will read in the next turn is prefetched here, far ahead of its use, for all warps come first.
void MemoryAccess::prefetch_next_turn(const Access& a, const Operand& address) {
  if (module_.kernel.kind() != exec::BlockKind::regions) return;
  auto* distance = step_of_turn(address);
  if (distance == nullptr) return;
  fetched_ahead_ = cursor_.instruction;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    Window w = window_of(a, p);
    auto* first = ir_.CreateAdd(ir_.CreateAdd(values_.scalar(a.address, p).v, distance),
                                ir_.getInt64(static_cast<std::uint64_t>(w.first)));
    for (unsigned byte = 0; byte < w.size * a.bytes; byte += 64)
      prefetch(ir_.CreateAdd(first, ir_.getInt64(byte)));
  }
}

llvm::Value* MemoryAccess::base_of(const Access& a, const Window& w, unsigned p) {
  llvm::Value* base = values_.scalar(a.address, p).v;
  return w.first ? ir_.CreateAdd(base, ir_.getInt64(static_cast<std::uint64_t>(w.first))) : base;
}

/// One place for the whole part: scalar loads, from nowhere if no lane is active.
std::vector<llvm::Value*> MemoryAccess::load_one_place(const Access& a, llvm::Value* base, unsigned p) {
  auto* element = ir_.getIntNTy(a.bytes * 8);
  auto* bits = ir_.CreateBitCast(a.mask[p], ir_.getIntNTy(code_.lanes()));
  auto* nowhere = code_.entry_alloca(llvm::ArrayType::get(ir_.getInt64Ty(), 8), "nowhere", 64);
  llvm::Value* at = ir_.CreateSelect(ir_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())),
                                     code_.pointer(base), nowhere);
  std::vector<llvm::Value*> elements;
  for (unsigned e = 0; e < a.count; ++e)
    elements.push_back(code_.splat(may_prefetch(
        ir_.CreateAlignedLoad(element, ir_.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes)))));
  return elements;
}

MemoryAccess::Parts MemoryAccess::load_windows(const Access& a) {
  Parts result(a.count);
  auto* element = ir_.getIntNTy(a.bytes * 8);
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Window w = padded(window_of(a, p));
    llvm::Value* base = base_of(a, w, p);
    if (w.size == a.count && a.places.empty()) {
      auto one = load_one_place(a, base, p);
      for (unsigned e = 0; e < a.count; ++e) result[e].push_back(one[e]);
      continue;
    }
    auto* wide = llvm::FixedVectorType::get(element, w.size);
    auto* mask = window_mask(a, w, p);
    llvm::Value* v = code_.for_lanes(whole_part(w, a, p), [&] {
      return may_prefetch(ir_.CreateMaskedLoad(wide, code_.pointer(base), llvm::Align(a.bytes), mask,
                                               llvm::Constant::getNullValue(wide)));
    });
    if (are_quads(a, w)) {
      const auto words = words_of_quads(ir_, v);
      for (unsigned e = 0; e < a.count; ++e) result[e].push_back(words[e]);
      continue;
    }
    for (unsigned e = 0; e < a.count; ++e) {
      std::vector<int> index;
      for (unsigned l = 0; l < code_.lanes(); ++l) index.push_back(static_cast<int>(w.index(a, l, e)));
      result[e].push_back(ir_.CreateShuffleVector(v, index));
    }
  }
  return result;
}

/// The same by all lanes.
MemoryAccess::Access MemoryAccess::by_all(Access a) {
  a.mask = masks_.all_lanes(true);
  return a;
}

/// Not by all lanes, as far as is known, on a host without mask registers.
bool MemoryAccess::made_by_some(const Access& a) const {
  return !code_.has_mask_registers() &&
         std::ranges::any_of(a.mask, [](llvm::Value* part) { return !llvm::isa<llvm::Constant>(part); });
}

/// Whether an access has a way of its own for when all lanes make it (i1); null: it needs none.
llvm::Value* MemoryAccess::made_by_all(const Access& a) {
  if (code_.has_mask_registers()) return nullptr;
  llvm::Value* every = masks_.every(a.mask);
  return llvm::isa<llvm::Constant>(every) ? nullptr : every;
}

MemoryAccess::Parts MemoryAccess::load_by_mask(const Access& a,
                                               const std::function<Parts(const Access&)>& load) {
  llvm::Value* every = made_by_all(a);
  if (every == nullptr) return load(a);
  return load_either(a, [&](const auto& keep) {
    code_.if_else(every, [&] { keep(load(by_all(a))); }, [&] { keep(load(a)); });
  });
}

void MemoryAccess::store_by_mask(const Access& a, const std::function<void(const Access&)>& store) {
  llvm::Value* every = made_by_all(a);
  if (every == nullptr) return store(a);
  code_.if_else(every, [&] { store(by_all(a)); }, [&] { store(a); });
}

MemoryAccess::Parts MemoryAccess::load_near(const Access& a) {
  return load_by_mask(a, [this](const Access& some) {
    if (has_wide_lanes(some) && !has_windows(some, false)) return load_wide_lanes(some);
    return has_windows(some, false) ? load_windows(some) : load_runs(some);
  });
}

void MemoryAccess::store_near(const Access& a, const Parts& values) {
  if (!has_windows(a, true)) return has_rows(a) ? store_near_rows(a, values) : store_wide_lanes(a, values);
  const auto store = [&] { store_by_mask(a, [&](const Access& some) { store_some(some, values); }); };
  if (!may_go_past_caches(a)) return store();
  code_.if_else(goes_past_caches(a), [&] { store_windows(by_all(a), values, Way::past_caches); }, store);
}

/// Hosts without mask registers take dozens of instructions for a vector stored under a mask (AMD's), or a
/// branch for each lane (SSE). In shared memory, where nobody looks, all of a window may be written.
void MemoryAccess::store_some(const Access& a, const Parts& values) {
  const auto by_mask = [&] { store_windows(a, values, Way::through_caches); };
  if (!may_write_the_rest(a)) return by_mask();
  code_.if_else(lies_in_shared_memory(a), [&] { store_windows(a, values, Way::with_the_rest); }, by_mask);
}

bool MemoryAccess::may_write_the_rest(const Access& a) const {
  const bool is_shared = ptx::space_of(cursor_.opcode().get(ModKind::space)) == ptx::Space::shared;
  return made_by_some(a) && is_shared && !a.address.shape.per_part && module_.kernel.owns_shared_memory();
}

/// Whether the windows of all parts do (i1).
llvm::Value* MemoryAccess::lies_in_shared_memory(const Access& a) {
  const Shape& shape = a.address.shape;
  std::int64_t least = 0, most = 0;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Window w = in_whole_vectors(window_of(a, p));
    const std::int64_t first = shape.offset(p * code_.lanes()) - shape.offset(0) + w.first;
    least = p == 0 ? first : std::min(least, first);
    most = std::max(p == 0 ? first : most, first + std::int64_t{w.size} * a.bytes);
  }
  auto* start =
      ir_.CreateAdd(values_.scalar(a.address, 0).v, ir_.getInt64(static_cast<std::uint64_t>(least)));
  auto* bytes = ir_.CreateZExt(addresses_.shared_bytes(), ir_.getInt64Ty());
  auto* starts = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, bytes,
                                           ir_.getInt64(static_cast<std::uint64_t>(most - least - 1)));
  return ir_.CreateICmpULT(ir_.CreateSub(start, addresses_.shared_base()), starts);
}

/// Whether a store may write whole lines that nobody looks at before the worker orders them, and that the
/// thread has not read.
bool MemoryAccess::may_go_past_caches(const Access& a) const {
  const Mod space = cursor_.opcode().get(ModKind::space);
  if (module_.kernel.bytes_past_caches() == 0 || !cursor_.function.is_entry ||
      cursor_.instruction->op() != isa::Op::st || (space != Mod::global && space != Mod::none))
    return false;
  const auto number = cursor_.instruction - cursor_.function.instructions.data();
  if (!cursor_.plan.unseen.is_unseen(static_cast<std::uint32_t>(number))) return false;
  if (!covers_lines(a)) return false;
  const Operand& address = cursor_.operand(0);
  const auto reads_by_it = [&](const ptx::Instruction& i) {
    return i.op() == isa::Op::ld && cursor_.function.operands_of(i)[1].base == Operand::Base::reg &&
           cursor_.function.operands_of(i)[1].index == address.index;
  };
  return address.base == Operand::Base::reg &&
         std::ranges::none_of(cursor_.function.instructions, reads_by_it);
}

/// Parts of a warp that one line holds, where vectors of the host are shorter; else 1.
unsigned MemoryAccess::parts_of_line(const Access& a) const {
  return std::max(1u, kLineBytes / (a.count * code_.lanes() * a.bytes));
}

/// Whether the windows have no gaps, and are lines, or vectors of the host that together are lines: they
/// follow each other, if that is known when code is written.
bool MemoryAccess::covers_lines(const Access& a) const {
  const unsigned lanes = code_.lanes(), bytes = a.count * lanes * a.bytes, line = parts_of_line(a);
  if (bytes < 4 * lanes || bytes * line % kLineBytes != 0 || code_.parts() % line != 0) return false;
  const Shape& shape = a.address.shape;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    if (window_of(a, p).size != a.count * lanes) return false;
    const unsigned behind = p % line;
    if (!shape.per_part &&
        shape.offset(p * lanes) - shape.offset((p - behind) * lanes) != std::int64_t{behind} * bytes)
      return false;
  }
  return true;
}

/// Whether it does so (i1): the launch wants it, all lanes store, from a line's begin on.
llvm::Value* MemoryAccess::goes_past_caches(const Access& a) {
  const unsigned line = parts_of_line(a);
  llvm::Value *bits = nullptr, *apart = nullptr, *begin = nullptr;
  const auto join = [&](llvm::Value*& all, llvm::Value* one) { all = all ? ir_.CreateOr(all, one) : one; };
  for (unsigned p = 0; p < code_.parts(); ++p) {
    llvm::Value* base = base_of(a, window_of(a, p), p);
    if (const unsigned behind = p % line; behind == 0) {
      join(bits, begin = base);
    } else if (a.address.shape.per_part) {
      const unsigned distance = behind * a.count * code_.lanes() * a.bytes;
      join(apart, ir_.CreateXor(base, ir_.CreateAdd(begin, ir_.getInt64(distance))));
    }
  }
  bits = ir_.CreateAnd(bits, ir_.getInt64(kLineBytes - 1));
  if (apart != nullptr) join(bits, apart);
  auto* aligned = ir_.CreateICmpEQ(bits, ir_.getInt64(0));
  auto* enough = ir_.CreateICmpULT(ir_.CreateSub(addresses_.past_caches(), ir_.getInt32(1)),
                                   ir_.getInt32(module_.kernel.bytes_past_caches()));
  return ir_.CreateAnd(ir_.CreateAnd(enough, aligned), masks_.every(a.mask));
}

/// LLVM makes a load and its insertion one instruction, so that both tell the run's lanes.
MemoryAccess::Parts MemoryAccess::load_runs(const Access& a) {
  const unsigned run = kRunBytes / a.bytes;
  auto* element = ir_.getIntNTy(a.bytes * 8);
  auto* type = llvm::FixedVectorType::get(element, run);
  Parts result(1);
  for (unsigned p = 0; p < code_.parts(); ++p) {
    llvm::Value* joined = llvm::PoisonValue::get(code_.vector_of(element));
    for (unsigned first = 0; first < code_.lanes(); first += run) {
      const auto offset = static_cast<std::uint64_t>(offset_in_part(a, p, first));
      auto* at = code_.pointer(ir_.CreateAdd(values_.scalar(a.address, p).v, ir_.getInt64(offset)));
      auto* mask = some_of(a.mask[p], {first, run});
      const LaneRun lanes{p * code_.lanes() + first, run};
      joined = code_.for_lanes(a.bytes == 4 ? lanes : LaneRun{}, [&] {
        auto* loaded = may_prefetch(
            ir_.CreateMaskedLoad(type, at, llvm::Align(a.bytes), mask, llvm::Constant::getNullValue(type)));
        return ir_.CreateInsertVector(joined->getType(), joined, loaded, ir_.getInt64(first));
      });
    }
    result[0].push_back(joined);
  }
  return result;
}

/// Four words a lane, on a host that gains by taking them together.
bool MemoryAccess::has_quads(const Access& a) const {
  return !code_.has_mask_registers() && a.bytes == 4 && a.count == kQuad && code_.lanes() % kQuad == 0;
}

/// Whether such words lie side by side, lane by lane.
bool MemoryAccess::are_quads(const Access& a, const Window& w) const {
  if (!has_quads(a) || w.size != code_.lanes() * kQuad) return false;
  for (unsigned l = 0; l < code_.lanes(); ++l)
    for (unsigned e = 0; e < a.count; ++e)
      if (w.index(a, l, e) != l * kQuad + e) return false;
  return true;
}

llvm::Value* MemoryAccess::quads_of(const Parts& values, unsigned p) {
  return quads_of_words(ir_, {values[0][p], values[1][p], values[2][p], values[3][p]});
}

/// What lanes store, each element at its place.
llvm::Value* MemoryAccess::window_of_values(const Access& a, const Window& w, const Parts& values,
                                            unsigned p) {
  if (are_quads(a, w)) return quads_of(values, p);
  auto* element = ir_.getIntNTy(a.bytes * 8);
  llvm::Value* window = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, w.size));
  for (unsigned e = 0; e < a.count; ++e) {
    std::vector<int> spread(w.size, -1), pick;
    for (unsigned l = 0; l < code_.lanes(); ++l) spread[w.index(a, l, e)] = static_cast<int>(l);
    auto* here = ir_.CreateShuffleVector(values[e][p], spread);
    for (unsigned k = 0; k < w.size; ++k) pick.push_back(static_cast<int>(spread[k] >= 0 ? w.size + k : k));
    window = e == 0 ? here : ir_.CreateShuffleVector(window, here, pick);
  }
  return window;
}

void MemoryAccess::store_windows(const Access& a, const Parts& values, Way way) {
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Window w = way == Way::with_the_rest ? in_whole_vectors(window_of(a, p)) : padded(window_of(a, p));
    llvm::Value* base = base_of(a, w, p);
    llvm::Value* window = window_of_values(a, w, values, p);
    if (way == Way::past_caches) {
      auto* store = ir_.CreateAlignedStore(window, code_.pointer(base),
                                           llvm::Align(std::min(kLineBytes, w.size * a.bytes)));
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(ir_.getContext(), llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
      continue;
    }
    if (way == Way::with_the_rest) {
      store_with_the_rest(a, window, code_.pointer(base), window_mask(a, w, words_of(a, p)));
      continue;
    }
    auto* mask = window_mask(a, w, p);
    code_.for_lanes(whole_part(w, a, p), [&] {
      return ir_.CreateMaskedStore(window, code_.pointer(base), llvm::Align(a.bytes), mask);
    });
  }
}

/// Which lanes are active, as numbers of an element's size: LLVM makes more of a mask's bits.
llvm::Value* MemoryAccess::words_of(const Access& a, unsigned p) {
  return ir_.CreateSExt(a.mask[p], code_.vector_of(ir_.getIntNTy(a.bytes * 8)));
}

/// @param written  has the sign of what lanes write
void MemoryAccess::store_with_the_rest(const Access& a, llvm::Value* window, llvm::Value* at,
                                       llvm::Value* written) {
  const llvm::Align alignment(a.bytes);
  auto* rest = ir_.CreateAlignedLoad(window->getType(), at, alignment);
  auto* is_written = ir_.CreateICmpSLT(written, llvm::Constant::getNullValue(written->getType()));
  ir_.CreateAlignedStore(ir_.CreateSelect(is_written, window, rest), at, alignment);
}

/// Whole vectors of the host, where a mask keeps accesses from what is none of the window.
MemoryAccess::Window MemoryAccess::padded(Window w) const {
  return code_.has_mask_registers() ? in_whole_vectors(w) : w;
}

MemoryAccess::Window MemoryAccess::in_whole_vectors(Window w) const {
  const unsigned lanes = code_.lanes();
  if (w.size > lanes) w.size = (w.size + lanes - 1) / lanes * lanes;
  return w;
}

/// Whether a window is the lanes' elements in order, as one vector of the host.
LaneRun MemoryAccess::whole_part(const Window& w, const Access& a, unsigned p) const {
  if (a.bytes != 4 || a.count != 1 || w.size != code_.lanes()) return {};
  for (unsigned l = 0; l < code_.lanes(); ++l)
    if (w.place[l] != l) return {};
  return {p * code_.lanes(), code_.lanes()};
}

}  // namespace raddle::jit
