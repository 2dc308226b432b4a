// Copies from global to shared memory (cp.async), of MemoryAccess: vectors where lanes lie at constant
// distances in both, as in loads and stores; else lane after lane, since one move of up to 16 bytes each way
// takes less than a gather and a scatter of their parts.
#include <llvm/IR/Intrinsics.h>

#include "jit/memory_access.h"

namespace raddle::jit {

using isa::Mod;

MemoryAccess::Access MemoryAccess::access(const Copy& what, bool stores, const Mask& lanes) {
  WarpAccess begun =
      addresses_.begin(cursor_.operand(stores ? what.to : what.from), stores ? Mod::shared : Mod::global,
                       what.bytes, stores ? exec::AccessKind::store : exec::AccessKind::load, lanes);
  ++module_.statistics.memory_operations;
  const Type type = what.bytes == 4 ? Type::b32 : Type::b64;
  return {.type = type,
          .bytes = isa::byte_size(type),
          .count = what.bytes / isa::byte_size(type),
          .address = std::move(begun.address),
          .mask = std::move(begun.lanes),
          .ordering = llvm::AtomicOrdering::NotAtomic,
          .elements = {}};
}

MemoryAccess::Limit MemoryAccess::limit_of(const Copy& what, const Mask& executing) {
  Limit limit{.bytes = {}, .by_bytes = false, .lanes = executing};
  if (!cursor_.present(what.read)) return limit;
  const WarpValue value = registers_.read(what.read);
  limit.by_bytes = value.type != Type::pred;
  // A number that is too large, of which PTX leaves the result open, is all bytes.
  auto bytes_of = [&](Val v) {
    const Val all = v.constant(Type::u32, what.bytes);
    return limit.by_bytes ? min(v.as(Type::u32), all) : select(v, v.constant(Type::u32, 0), all);
  };
  if (value.shape.uniform()) {
    const Val same = bytes_of(values_.scalar(value));
    std::uint64_t known = 0;
    if (is_constant(same, known) && known == what.bytes)  // nvcc writes the size twice
      return {.bytes = {}, .by_bytes = false, .lanes = executing};
    limit.bytes.push_back(same);
  }
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Val bytes = limit.is_same() ? Val{&ir_, code_.splat(limit.bytes[0].v), Type::u32}
                                      : bytes_of(values_.part(value, p));
    if (!limit.is_same()) limit.bytes.push_back(bytes);
    limit.lanes[p] = ir_.CreateAnd(limit.lanes[p], ne(bytes, bytes.like(0)).v);
  }
  return limit;
}

/// What counts of an element, whose bytes begin at `first` in the copy: the rest is zero.
Val MemoryAccess::limited(Val element, Val bytes, unsigned first) {
  auto* left = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, bytes.v, bytes.like(first).v);
  const Val bits = shl(Val{&ir_, left, Type::u32}, 3);
  return element & ~shl_clamped(element.like(-1), bits);
}

void MemoryAccess::copy(const Copy& what) {
  const Mask executing = registers_.executing();
  const Limit limit = limit_of(what, executing);
  const Access from = access(what, false, limit.lanes), to = access(what, true, executing);
  auto by_lane = [&] { copy_lanes(to, from, limit); };
  if (!has_windows(from, false) || !has_windows(to, true)) {
    if (!limit.exists() && may_copy_lines(to, from) && has_known_lines(to, cursor_.operand(what.from)))
      return copy_known_lines_or(to, from, by_lane);
    module_.statistics.not_vectorised += 2;
    if (!limit.exists() && may_copy_lines(to, from)) return copy_lines_or(to, from, by_lane);
    return by_lane();
  }
  auto by_window = [&] {
    prefetch_next_turn(from, cursor_.operand(what.from));
    copy_windows(to, from, limit);
  };
  llvm::Value* ok = nullptr;
  for (const Access* a : {&from, &to})
    if (a->address.shape.checked) ok = ok ? ir_.CreateAnd(ok, a->address.ok) : a->address.ok;
  ok ? code_.two_ways(ok, by_window, by_lane) : by_window();
}

void MemoryAccess::copy_windows(const Access& to, const Access& from, const Limit& limit) {
  Parts values = load_near(from);
  for (unsigned p = 0; limit.exists() && p < code_.parts(); ++p) {
    const Val bytes = limit.is_same() ? Val{&ir_, code_.splat(limit.bytes[0].v), Type::u32} : limit.bytes[p];
    for (unsigned e = 0; e < from.count; ++e) {
      auto*& value = values[e][p];
      value = ir_.CreateSelect(limit.lanes[p], value, llvm::Constant::getNullValue(value->getType()));
      if (limit.by_bytes) value = limited({&ir_, value, from.type}, bytes, e * from.bytes).v;
    }
  }
  store_near(to, values);
}

void MemoryAccess::copy_lanes(const Access& to, const Access& from, const Limit& limit) {
  auto* element = ir_.getIntNTy(from.bytes * 8);
  auto* whole = llvm::FixedVectorType::get(element, from.count);
  auto* sources = values_.spill(from.address);
  auto* destinations = values_.spill(to.address);
  llvm::Value *limits = nullptr, *nothing = nullptr;
  if (limit.exists()) {
    if (!limit.is_same()) {
      std::vector<llvm::Value*> parts;
      for (const Val& v : limit.bytes) parts.push_back(v.v);
      limits = values_.spill_parts(parts);
    }
    nothing = code_.entry_alloca(whole, "nothing", 16);
    code_.begin_as_zero(nothing, whole);
  }
  loops_.for_each_unrolled(masks_.bits(to.mask), [&](llvm::Value* lane) {
    llvm::Value* source = code_.pointer(values_.load_lane(sources, ir_.getInt64Ty(), lane));
    Val bytes;
    if (limit.exists()) {
      bytes = limit.is_same() ? limit.bytes[0]
                              : Val{&ir_, values_.load_lane(limits, ir_.getInt32Ty(), lane), Type::u32};
      source = ir_.CreateSelect(ne(bytes, bytes.like(0)).v, source, nothing);
    }
    const llvm::Align align(from.bytes * from.count);
    llvm::Value* value = ir_.CreateAlignedLoad(whole, source, align);
    if (limit.by_bytes)
      for (unsigned e = 0; e < from.count; ++e) {
        const Val own{&ir_, ir_.CreateExtractElement(value, e), from.type};
        value = ir_.CreateInsertElement(value, limited(own, bytes, e * from.bytes).v, e);
      }
    ir_.CreateAlignedStore(value, code_.pointer(values_.load_lane(destinations, ir_.getInt64Ty(), lane)),
                           align);
  });
}

}  // namespace raddle::jit
