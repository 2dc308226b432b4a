#include "jit/memory_access.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Operand;

namespace {

llvm::AtomicOrdering ordering_of(Mod semantics) {
  switch (semantics) {
    case Mod::volatile_:
    case Mod::relaxed:
    case Mod::mmio:
      return llvm::AtomicOrdering::Monotonic;
    case Mod::acquire:
      return llvm::AtomicOrdering::Acquire;
    case Mod::release:
      return llvm::AtomicOrdering::Release;
    default:
      return llvm::AtomicOrdering::NotAtomic;
  }
}

}  // namespace

MemoryAccess::MemoryAccess(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor,
                           WarpValues& values, Masks& masks, Registers& registers, LaneLoops& loops,
                           Addresses& addresses, Parameters& parameters)
    : code_(code),
      ir_(code.ir),
      module_(module),
      cursor_(cursor),
      values_(values),
      masks_(masks),
      registers_(registers),
      loops_(loops),
      addresses_(addresses),
      parameters_(parameters) {}

MemoryAccess::Access MemoryAccess::access(unsigned address, unsigned data) {
  Access a;
  a.type = cursor_.opcode().type(cursor_.opcode().type_count - 1);
  a.bytes = isa::byte_size(a.type);
  a.elements = cursor_.elements(data);
  a.count = static_cast<unsigned>(a.elements.size());
  WarpAccess begun = addresses_.begin(cursor_.operand(address));
  a.address = std::move(begun.address);
  a.mask = std::move(begun.lanes);
  a.ordering = ordering_of(cursor_.opcode().get(ModKind::semantics));
  a.operand = &cursor_.operand(address);
  a.is_alone = is_alone(a, cursor_.operand(address));
  if (counts()) ++module_.statistics.memory_operations;
  if (cursor_.plan.one_by_one) ++module_.statistics.not_vectorised;
  return a;
}

/// The same where the address's flag says that it has wrapped, or may.
MemoryAccess::Access MemoryAccess::wrapped(Access a) {
  a.address.become_varying(code_.writes_otherwise() ? values_.vectors(a.address)
                                                    : values_.wrapped(a.address));
  a.fetches_lines = false;  // of code that hardly ever runs
  return a;
}

std::vector<LaneRun> MemoryAccess::address_vectors() const {
  if (code_.lanes() < 8) return {{0, code_.lanes()}};  // no gathers: LLVM goes lane by lane
  return {{0, code_.lanes() / 2}, {code_.lanes() / 2, code_.lanes() / 2}};
}

llvm::Value* MemoryAccess::some_of(llvm::Value* vector, LaneRun some) {
  if (some.count == code_.lanes()) return vector;
  std::vector<int> which;
  for (unsigned k = 0; k < some.count; ++k) which.push_back(static_cast<int>(some.first + k));
  return ir_.CreateShuffleVector(vector, which);
}

/// In the vectors of addresses that LLVM would make of it, so that each is an instruction of known lanes.
llvm::Value* MemoryAccess::gather(llvm::Type* element, llvm::Value* addresses, llvm::Align align,
                                  llvm::Value* mask, unsigned p) {
  std::vector<llvm::Value*> gathered;
  for (LaneRun some : address_vectors()) {
    auto* at =
        ir_.CreateIntToPtr(some_of(addresses, some), llvm::FixedVectorType::get(ir_.getPtrTy(), some.count));
    auto* active = some_of(mask, some);
    gathered.push_back(code_.for_lanes({p * code_.lanes() + some.first, some.count}, [&] {
      // What other lanes get must be some value: poison of one lane would be that of all in a test of them.
      auto* type = llvm::FixedVectorType::get(element, some.count);
      return ir_.CreateMaskedGather(type, at, align, active, llvm::Constant::getNullValue(type));
    }));
  }
  if (gathered.size() == 1) return gathered[0];
  std::vector<int> all;
  for (unsigned l = 0; l < code_.lanes(); ++l) all.push_back(static_cast<int>(l));
  return ir_.CreateShuffleVector(gathered[0], gathered[1], all);
}

/// The scatters of all parts, one behind the other.
/// @param fetches  their lines may be fetched first
void MemoryAccess::scatter(const Access& a, const std::vector<llvm::Value*>& values,
                           const std::vector<llvm::Value*>& addresses, bool fetches) {
  struct Scatter {
    LaneRun lanes;  // of the warp
    llvm::Value *stored, *at, *active;
  };
  std::vector<Scatter> all;
  for (unsigned p = 0; p < code_.parts(); ++p)
    for (LaneRun some : address_vectors()) {
      auto* at = ir_.CreateIntToPtr(some_of(addresses[p], some),
                                    llvm::FixedVectorType::get(ir_.getPtrTy(), some.count));
      all.push_back({{p * code_.lanes() + some.first, some.count},
                     some_of(values[p], some),
                     at,
                     some_of(a.mask[p], some)});
    }
  for (const Scatter& s : all)
    code_.for_lanes(s.lanes, [&] {
      auto* stores = ir_.CreateMaskedScatter(s.stored, s.at, llvm::Align(a.bytes), s.active);
      return fetches ? may_prefetch(stores) : stores;
    });
}

MemoryAccess::Parts MemoryAccess::load_gather(const Access& a) {
  if (a.bytes > 8) return load_lanes(a);
  if (is_wide(a)) return load_wide_lanes(a);
  Parts result(a.count);
  auto* word = ir_.getIntNTy(std::max(32u, a.bytes * 8));
  for (unsigned p = 0; p < code_.parts(); ++p)
    for (unsigned e = 0; e < a.count; ++e) {
      auto* address = values_.part(a.address, p).v;
      if (e) address = ir_.CreateAdd(address, code_.splat(ir_.getInt64(e * a.bytes)));
      auto* type = code_.vector_of(word);
      llvm::Value* v;
      if (a.bytes >= 4) {
        v = gather(word, address, llvm::Align(a.bytes), a.mask[p], p);
      } else {
        // Narrow elements: gather the aligned word around each (it never crosses a page), then shift. The
        // lowest bit of a misaligned one stays, as it says that the access traps for that.
        auto* down = ir_.CreateAnd(address, code_.splat(ir_.getInt64(~(4ull - a.bytes))));
        v = gather(word, down, llvm::Align(4), a.mask[p], p);
        auto* shift =
            ir_.CreateShl(ir_.CreateTrunc(ir_.CreateAnd(address, code_.splat(ir_.getInt64(3))), type),
                          code_.splat(ir_.getInt32(3)));
        v = ir_.CreateTrunc(ir_.CreateLShr(v, shift), code_.vector_of(ir_.getIntNTy(a.bytes * 8)));
      }
      result[e].push_back(v);
    }
  return result;
}

/// Of code that hardly ever runs: where LLVM would make a branch for each lane, a loop is enough.
MemoryAccess::Parts MemoryAccess::load_wrapped(const Access& a) {
  return code_.simd().gathers ? load_gather(wrapped(a)) : load_lanes(wrapped(a));
}

void MemoryAccess::store_wrapped(const Access& a, const Parts& values) {
  code_.has_mask_registers() ? store_scatter(wrapped(a), values) : store_lanes(wrapped(a), values);
}

/// 16 aligned bytes are one access.
llvm::Value* MemoryAccess::load_single(const Access& a, llvm::Value* at) {
  const unsigned total = a.bytes * a.count;
  auto* type = llvm::FixedVectorType::get(ir_.getIntNTy(a.bytes * 8), a.count);
  if (total <= 8) {
    auto* load = ir_.CreateAlignedLoad(ir_.getIntNTy(total * 8), at, llvm::Align(total));
    if (a.is_atomic()) load->setAtomic(a.ordering);
    return ir_.CreateBitCast(load, type);
  }
  auto* load = ir_.CreateAlignedLoad(type, at, llvm::Align(16), a.is_atomic());
  if (a.ordering == llvm::AtomicOrdering::Acquire) ir_.CreateFence(llvm::AtomicOrdering::Acquire);
  return load;
}

void MemoryAccess::store_single(const Access& a, llvm::Value* all, llvm::Value* at) {
  const unsigned total = a.bytes * a.count;
  if (total <= 8) {
    auto* whole = ir_.CreateBitCast(all, ir_.getIntNTy(total * 8));
    auto* store = ir_.CreateAlignedStore(whole, at, llvm::Align(total));
    if (a.is_atomic()) store->setAtomic(a.ordering);
    return;
  }
  if (a.ordering == llvm::AtomicOrdering::Release) ir_.CreateFence(llvm::AtomicOrdering::Release);
  ir_.CreateAlignedStore(all, at, llvm::Align(16), a.is_atomic());
}

/// Lane by lane: acquire accesses, and those volatile and relaxed ones at which others may look. LLVM has no
/// gathers of these kinds.
MemoryAccess::Parts MemoryAccess::load_lanes(const Access& a) {
  auto* element = ir_.getIntNTy(a.bytes * 8);
  std::vector<llvm::Value*> arrays;
  for (unsigned e = 0; e < a.count; ++e) {
    arrays.push_back(code_.entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), "loaded", 64));
    ir_.CreateStore(llvm::Constant::getNullValue(llvm::ArrayType::get(element, exec::kWarpSize)), arrays[e]);
  }
  auto* addresses = values_.spill(a.address);
  loops_.for_each_marked(masks_.bits(a.mask), [&](llvm::Value* lane) {
    auto* at = code_.pointer(values_.load_lane(addresses, ir_.getInt64Ty(), lane));
    if (a.is_single()) {
      auto* all = load_single(a, at);
      for (unsigned e = 0; e < a.count; ++e)
        values_.store_lane(arrays[e], ir_.CreateExtractElement(all, e), lane);
      return;
    }
    for (unsigned e = 0; e < a.count; ++e) {
      auto* load =
          ir_.CreateAlignedLoad(element, ir_.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
      if (a.is_atomic()) load->setAtomic(a.ordering);
      values_.store_lane(arrays[e], load, lane);
    }
  });
  Parts result;
  for (auto* array : arrays) result.push_back(values_.reload(array, element));
  return result;
}

void MemoryAccess::load(unsigned destination, unsigned address) {
  const Operand& at = cursor_.operand(address);
  if (parameters_.holds(at, cursor_.opcode().get(ModKind::space))) {
    addresses_.note();
    return parameters_.load(destination, at);
  }
  if (is_joined()) return;
  const Access a = access(address, destination);
  if (a.is_alone) {
    const Parts values = load_alone(a);
    return registers_.write_parts(a.elements[0], a.type, values[0]);
  }
  const bool by_vector = a.is_plain() && !a.address.shape.uniform() && (has_windows(a, false) || has_runs(a));
  const bool is_near = by_vector || (a.is_plain() && has_wide_lanes(a));
  if (a.is_plain() && a.address.shape.uniform()) {
    auto values = load_uniform(a);
    for (unsigned e = 0; e < a.count; ++e) registers_.write_uniform(a.elements[e], a.type, values[e]);
    return;
  }
  const bool has_limits = !is_near && may_lie_within_limits(a, at);
  if (!by_vector && !has_limits && counts()) ++module_.statistics.not_vectorised;
  if (is_near && !a.address.shape.checked) prefetch_next_turn(a, at);
  if (is_near && a.address.shape.checked && cursor_.plan.together) return load_together(a, at);
  const Parts values = !a.is_plain()              ? load_lanes(a)
                       : has_limits               ? load_within_limits(a)
                       : !is_near                 ? load_gather(a)
                       : !a.address.shape.checked ? load_near(a)
                                                  : load_checked(
                                                        a,
                                                        [&] {
                                                          prefetch_next_turn(a, at);
                                                          return load_near(a);
                                                        },
                                                        [&] { return load_wrapped(a); });
  for (unsigned e = 0; e < a.count; ++e) registers_.write_parts(a.elements[e], a.type, values[e]);
}

/// As load_checked, for a warp of several.
void MemoryAccess::load_together(const Access& a, const Operand& address) {
  auto write = [this, a](const Parts& values) {
    for (unsigned e = 0; e < a.count; ++e) registers_.write_parts(a.elements[e], a.type, values[e]);
  };
  code_.two_ways_together(
      a.address.ok,
      [this, a, address, write] {
        prefetch_next_turn(a, address);
        write(load_near(a));
      },
      [this, a, write] { write(load_wrapped(a)); });
}

std::vector<llvm::Value*> MemoryAccess::load_uniform(const Access& a) {
  auto* element = ir_.getIntNTy(a.bytes * 8);
  const Mod space = cursor_.opcode().get(ModKind::space);
  const bool constant = space == Mod::param || space == Mod::param_entry;
  auto make = [&] {
    std::vector<llvm::Value*> values;
    auto* at = code_.pointer(values_.scalar(a.address).v);
    for (unsigned e = 0; e < a.count; ++e) {
      auto* load =
          ir_.CreateAlignedLoad(element, ir_.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
      may_prefetch(load);
      load->setVolatile(a.is_alone);
      if (constant)
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir_.getContext(), {}));
      values.push_back(load);
    }
    return values;
  };
  if (cursor_.instruction->guard == ptx::kNone) return make();
  return code_.conditional(masks_.any(a.mask), std::vector<llvm::Type*>(a.count, element), make);
}

MemoryAccess::Parts MemoryAccess::load_checked(const Access& a, const std::function<Parts()>& near,
                                               const std::function<Parts()>& wrapped) {
  return load_either(a, [&](const auto& keep) {
    code_.two_ways(a.address.ok, [&] { keep(near()); }, [&] { keep(wrapped()); });
  });
}

/// @param ways  writes code with several ways, and at the end of each keeps what it has loaded
MemoryAccess::Parts MemoryAccess::load_either(
    const Access& a, const std::function<void(const std::function<void(const Parts&)>&)>& ways) {
  auto* type = code_.vector_of(ir_.getIntNTy(a.bytes * 8));
  std::vector<std::vector<llvm::AllocaInst*>> slots(a.count);
  for (auto& s : slots)
    for (unsigned p = 0; p < code_.parts(); ++p) s.push_back(code_.entry_alloca(type, "loaded"));
  const std::function<void(const Parts&)> keep = [&](const Parts& values) {
    for (unsigned e = 0; e < a.count; ++e)
      for (unsigned p = 0; p < code_.parts(); ++p) ir_.CreateStore(values[e][p], slots[e][p]);
  };
  ways(keep);
  Parts values(a.count);
  for (unsigned e = 0; e < a.count; ++e)
    for (unsigned p = 0; p < code_.parts(); ++p) values[e].push_back(ir_.CreateLoad(type, slots[e][p]));
  return values;
}

/// Neighbouring elements of 32 bits joined to one of 64: the host stores lane by lane, so that half as many
/// take half the time.
MemoryAccess::Parts MemoryAccess::paired(const Parts& values) {
  Parts pairs(values.size() / 2);
  std::vector<int> in_turn;
  for (unsigned l = 0; l < code_.lanes(); ++l)
    in_turn.insert(in_turn.end(), {static_cast<int>(l), static_cast<int>(code_.lanes() + l)});
  auto* wide = code_.vector_of(ir_.getInt64Ty());
  for (std::size_t e = 0; e < values.size(); ++e)
    for (unsigned p = 0; e % 2 == 0 && p < code_.parts(); ++p) {
      auto* both = ir_.CreateShuffleVector(values[e][p], values[e + 1][p], in_turn);
      pairs[e / 2].push_back(ir_.CreateBitCast(both, wide));
    }
  return pairs;
}

void MemoryAccess::store_scatter(const Access& a, const Parts& values) {
  if (a.bytes < 4 || a.bytes > 8) return store_lanes(a, values);
  if (is_wide(a)) return store_wide_lanes(a, values);
  if (a.bytes == 4 && a.count % 2 == 0) {
    Access pairs = a;
    pairs.bytes *= 2;
    pairs.count /= 2;
    return store_scatter(pairs, paired(values));
  }
  for (unsigned e = 0; e < a.count; ++e) {
    std::vector<llvm::Value*> addresses;
    for (unsigned p = 0; p < code_.parts(); ++p) {
      addresses.push_back(values_.part(a.address, p).v);
      if (e) addresses[p] = ir_.CreateAdd(addresses[p], code_.splat(ir_.getInt64(e * a.bytes)));
    }
    scatter(a, values[e], addresses, e == 0 && a.fetches_lines);  // elements behind it are in its line
  }
}

void MemoryAccess::store_lanes(const Access& a, const Parts& values) {
  auto* element = ir_.getIntNTy(a.bytes * 8);
  auto* addresses = values_.spill(a.address);
  std::vector<llvm::Value*> arrays;
  for (unsigned e = 0; e < a.count; ++e) arrays.push_back(values_.spill_parts(values[e]));
  loops_.for_each_marked(masks_.bits(a.mask), [&](llvm::Value* lane) {
    auto* at = code_.pointer(values_.load_lane(addresses, ir_.getInt64Ty(), lane));
    if (a.is_single()) {
      llvm::Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, a.count));
      for (unsigned e = 0; e < a.count; ++e)
        all = ir_.CreateInsertElement(all, values_.load_lane(arrays[e], element, lane), e);
      return store_single(a, all, at);
    }
    for (unsigned e = 0; e < a.count; ++e) {
      auto* store = ir_.CreateAlignedStore(values_.load_lane(arrays[e], element, lane),
                                           ir_.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
      if (a.is_atomic()) store->setAtomic(a.ordering);
    }
  });
}

/// Every lane to one address: PTX leaves open who wins; here the highest lane, as in lane order.
void MemoryAccess::store_uniform(const Access& a, const std::vector<WarpValue>& values) {
  auto* element = ir_.getIntNTy(a.bytes * 8);
  auto* running = masks_.bits(a.mask);
  code_.if_then(ir_.CreateICmpNE(running, ir_.getInt32(0)), [&] {
    auto* at = code_.pointer(values_.scalar(a.address).v);
    auto* last = ir_.CreateSub(
        ir_.getInt32(31),
        ir_.CreateIntrinsic(llvm::Intrinsic::ctlz, {ir_.getInt32Ty()}, {running, ir_.getTrue()}));
    for (unsigned e = 0; e < a.count; ++e) {
      auto bits = [&](Val x, llvm::Type* type) {
        return ir_.CreateZExtOrTrunc(x.as(isa::bits_type(isa::bit_size(values[e].type))).v, type);
      };
      llvm::Value* v;
      if (values[e].shape.uniform()) {
        v = bits(values_.scalar(values[e]), element);
      } else {
        std::vector<llvm::Value*> all;
        for (unsigned p = 0; p < code_.parts(); ++p)
          all.push_back(bits(values_.part(values[e], p), code_.vector_of(element)));
        v = values_.load_lane(values_.spill_parts(all), element, last);
      }
      ir_.CreateAlignedStore(v, ir_.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
    }
  });
}

/// A memory operation that is no vector.
void MemoryAccess::count_apart() {
  if (counts()) ++module_.statistics.memory_operations, ++module_.statistics.not_vectorised;
  if (cursor_.plan.one_by_one) ++module_.statistics.not_vectorised;
}

void MemoryAccess::store(unsigned address, unsigned value) {
  const Operand& at = cursor_.operand(address);
  if (parameters_.holds(at, cursor_.opcode().get(ModKind::space))) {
    addresses_.note();
    return parameters_.store(at, value);
  }
  if (other_of_pair(1) != nullptr) {  // which makes this one, too
    count_apart();
    return;
  }
  if (const ptx::Instruction* first = other_of_pair(-1)) {
    count_apart();
    return store_pair(*first);
  }
  if (is_joined()) return;
  const Access a = access(address, value);
  std::vector<WarpValue> inputs;
  for (const Operand& e : a.elements) inputs.push_back(registers_.read(e));
  if (a.is_plain() && a.address.shape.uniform()) return store_uniform(a, inputs);
  Parts values(a.count);
  for (unsigned e = 0; e < a.count; ++e)
    for (unsigned p = 0; p < code_.parts(); ++p) values[e].push_back(element_bits(inputs[e], p, a.bytes));
  if (a.is_alone) return store_alone(a, inputs, values);
  const bool by_window = a.is_plain() && has_windows(a, true);
  if (!by_window && counts()) ++module_.statistics.not_vectorised;
  if (!by_window && !(a.is_plain() && has_wide_lanes(a)) && !has_rows(a))
    return a.is_plain() ? store_scatter(a, values) : store_lanes(a, values);
  if (!a.address.shape.checked) return store_near(a, values);
  if (cursor_.plan.together)
    return code_.two_ways_together(
        a.address.ok, [this, a, values] { store_near(a, values); },
        [this, a, values] { store_wrapped(a, values); });
  code_.two_ways(a.address.ok, [&] { store_near(a, values); }, [&] { store_wrapped(a, values); });
}

}  // namespace raddle::jit
