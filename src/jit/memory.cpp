// Loads and stores of FunctionCompiler: how an access is made follows from the shape of its address: uniform
// (one scalar access), constant distances between lanes (one window of memory per part, permuted), anything
// else (gather, scatter, lane loop). A checked address takes the vector access where its run-time flag holds.
// A long file: all ways to make an access stand side by side, in the order in which they are tried.
#include <llvm/IR/Intrinsics.h>

#include "base/assert.h"
#include "jit/function.h"
#include "jit/prefetch.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Operand;

std::vector<Operand> FunctionCompiler::elements(unsigned k) const {
  const Operand& o = operand(k);
  if (o.kind != Operand::Kind::vector) return {o};
  auto span = f.elements_of(o);
  return {span.begin(), span.end()};
}

WarpValue FunctionCompiler::address_of(const Operand& o, Mod space) {
  auto* i64 = ir.getInt64Ty();
  WarpValue v;
  if (o.base == Operand::Base::reg) {
    Operand base = o;
    base.kind = Operand::Kind::reg;
    base.negated = false;
    base.type = Type::none;
    v = read(base);
  } else if (o.base == Operand::Base::variable) {
    Operand base = o;
    base.kind = Operand::Kind::variable;
    base.value = 0;
    base.type = Type::none;
    v = read(base);
    if (space == Mod::none && context.kernel.module.variables[o.index].space == ptx::Space::shared)
      space = Mod::shared;
  } else {
    v.shape = Shape::uniform_value();
    v.type = Type::b64;
    v.bases = {ir.getInt64(0)};
  }
  bool shared = ptx::space_of(space) == ptx::Space::shared;
  auto each = [&](const std::function<llvm::Value*(llvm::Value*)>& change) {
    for (auto*& b : v.bases) b = change(b);
    for (auto*& x : v.parts) x = change(x);
  };
  auto sized = [&](llvm::Value* like, llvm::Type* t) {
    return like->getType()->isVectorTy() ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, lanes()))
                                         : t;
  };
  auto add = [&](llvm::Value* x, llvm::Value* scalar_addend) {
    return ir.CreateAdd(x, x->getType()->isVectorTy() ? splat(scalar_addend) : scalar_addend);
  };
  if (shared) {
    // Shared addresses are 32-bit: offset and register add up modulo 2^32, as on the device.
    each([&](llvm::Value* x) { return ir.CreateTrunc(x, sized(x, ir.getInt32Ty())); });
    if (v.shape.affine && !v.shape.equal_lanes()) return strided_shared(v, o.value);
    each([&](llvm::Value* x) { return add(x, ir.getInt32(static_cast<std::uint32_t>(o.value))); });
    auto* base = shared_base();
    each([&](llvm::Value* x) { return add(ir.CreateZExt(x, sized(x, i64)), base); });
    v.type = Type::u64;
    return v;
  }
  if (isa::bit_size(v.type) < 64) {
    if (v.shape.affine && !v.shape.equal_lanes()) {
      std::vector<llvm::Value*> widened;
      for (unsigned p = 0; p < parts(); ++p) widened.push_back(part(v, p).v);
      v.parts = widened;
      v.bases.clear();
      v.ok = nullptr;
      v.shape = Shape::varying();
    }
    each([&](llvm::Value* x) { return ir.CreateZExt(x, sized(x, i64)); });
  }
  v.type = Type::u64;
  if (o.value != 0)
    each([&](llvm::Value* x) { return add(x, ir.getInt64(static_cast<std::uint64_t>(o.value))); });
  if (space == Mod::const_ && o.base != Operand::Base::variable)
    each([&](llvm::Value* x) { return generic_constant(x); });
  if (space == Mod::param || space == Mod::param_entry) {
    auto* base = aligned(launch_field(offsetof(exec::LaunchContext, parameters), i64, "parameters"));
    if (o.base != Operand::Base::variable) check_parameter(v, base);
    each([&](llvm::Value* x) { return add(x, base); });
  } else if (space == Mod::local) {
    auto bases = local_base();
    std::vector<llvm::Value*> addresses;
    for (unsigned p = 0; p < parts(); ++p) addresses.push_back(ir.CreateAdd(bases[p], part(v, p).v));
    v.parts = addresses;
    v.bases.clear();
    v.ok = nullptr;
    v.shape = Shape::varying();
  }
  return v;
}

/// Host addresses of lanes at constant distances in shared memory, as long as none passes 2^32 or falls below
/// 0. The test for that is the same for all small offsets from a register, so that it is made once.
WarpValue FunctionCompiler::strided_shared(WarpValue v, std::int64_t offset) {
  constexpr std::int64_t kRoom = 1 << 20;
  auto [least, most] = offset_range(v.shape);
  least += static_cast<std::int32_t>(offset), most += static_cast<std::int32_t>(offset);
  v.type = Type::u32;
  if (WarpValue strided = v; v.parts.empty())
    for (unsigned p = 0; p < parts(); ++p) v.parts.push_back(part(strided, p).v);
  for (auto* b : v.bases) {
    auto at_most = static_cast<std::uint32_t>(0xffffffff - std::max(most, kRoom));
    auto* fits = ir.CreateICmpULE(b, ir.getInt32(at_most));
    if (least < 0)
      fits = ir.CreateAnd(fits, ir.CreateICmpUGE(b, ir.getInt32(static_cast<std::uint32_t>(-least))));
    v.ok = v.ok ? ir.CreateAnd(v.ok, fits) : fits;
  }
  auto* start = shared_base();
  auto* far = ir.getInt64(static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(offset)}));
  for (auto*& b : v.bases) b = ir.CreateAdd(ir.CreateAdd(ir.CreateZExt(b, ir.getInt64Ty()), start), far);
  for (auto*& x : v.parts) {
    auto* near = ir.CreateAdd(x, splat(ir.getInt32(static_cast<std::uint32_t>(offset))));
    auto* wide = llvm::FixedVectorType::get(ir.getInt64Ty(), lanes());
    x = ir.CreateAdd(ir.CreateZExt(near, wide), splat(start));
  }
  v.shape.checked = true;
  v.type = Type::u64;
  return v;
}

/// The host keeps other things around the parameters of a kernel, so no guard page tells what lies outside.
void FunctionCompiler::check_parameter(const WarpValue& offset, llvm::Value* base) {
  Mask mask = executing(), outside;
  for (unsigned p = 0; p < parts(); ++p) {
    auto* limit = splat(ir.getInt64(f.is_entry ? f.parameter_bytes : 0));
    outside.push_back(ir.CreateAnd(mask[p], ir.CreateICmpUGE(part(offset, p).as(Type::u64).v, limit)));
  }
  auto* bits = mask_bits(outside);
  if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] {
    auto* lane = first_lane(bits);
    auto* address = ir.CreateAdd(load_lane(spill(offset), ir.getInt64Ty(), lane), base);
    fault(exec::FaultKind::illegal_address, address, lane);
  });
}

FunctionCompiler::Access FunctionCompiler::access(unsigned address, unsigned data) {
  Access a;
  a.type = opcode().type(opcode().type_count - 1);
  a.bytes = isa::byte_size(a.type);
  a.elements = elements(data);
  a.count = static_cast<unsigned>(a.elements.size());
  a.address = address_of(operand(address), opcode().get(ModKind::space));
  a.mask = executing();
  check_remote(operand(address), opcode().get(ModKind::space), a.address, a.bytes * a.count, a.mask);
  trap_misaligned(operand(address), opcode().get(ModKind::space), a.address, a.bytes * a.count);
  switch (opcode().get(ModKind::semantics)) {
    case Mod::volatile_:
    case Mod::relaxed:
    case Mod::mmio:
      a.ordering = llvm::AtomicOrdering::Monotonic;
      break;
    case Mod::acquire:
      a.ordering = llvm::AtomicOrdering::Acquire;
      break;
    case Mod::release:
      a.ordering = llvm::AtomicOrdering::Release;
      break;
    default:
      a.ordering = llvm::AtomicOrdering::NotAtomic;
      break;
  }
  ++context.statistics.memory_operations;
  return a;
}

std::vector<llvm::Value*> FunctionCompiler::conditional(
    llvm::Value* condition, const std::vector<llvm::Type*>& types,
    const std::function<std::vector<llvm::Value*>()>& make) {
  auto* yes = llvm::BasicBlock::Create(ir.getContext(), "access", function_);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "accessed", function_);
  auto* before = ir.GetInsertBlock();
  ir.CreateCondBr(condition, yes, after);
  ir.SetInsertPoint(yes);
  auto made = make();
  auto* made_in = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  std::vector<llvm::Value*> result;
  for (std::size_t k = 0; k < types.size(); ++k) {
    auto* phi = ir.CreatePHI(types[k], 2);
    phi->addIncoming(made[k], made_in);
    phi->addIncoming(llvm::Constant::getNullValue(types[k]), before);
    result.push_back(phi);
  }
  return result;
}

void FunctionCompiler::two_ways(llvm::Value* ok, const std::function<void()>& fast,
                                const std::function<void()>& slow) {
  auto* yes = llvm::BasicBlock::Create(ir.getContext(), "strided", function_);
  auto* no = llvm::BasicBlock::Create(ir.getContext(), "wrapped", function_);
  auto* after = llvm::BasicBlock::Create(ir.getContext(), "accessed", function_);
  auto* branch = ir.CreateCondBr(ok, yes, no);
  llvm::Metadata* weights[] = {llvm::MDString::get(ir.getContext(), "branch_weights"),
                               llvm::ConstantAsMetadata::get(ir.getInt32(1 << 20)),
                               llvm::ConstantAsMetadata::get(ir.getInt32(1))};
  branch->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDNode::get(ir.getContext(), weights));
  ir.SetInsertPoint(yes);
  fast();
  ir.CreateBr(after);
  ir.SetInsertPoint(no);
  slow();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

namespace {
llvm::Type* vector_of(llvm::Type* t, unsigned n) { return llvm::FixedVectorType::get(t, n); }
}  // namespace

FunctionCompiler::Window FunctionCompiler::window_of(const Access& a, unsigned p) const {
  const Shape& shape = a.address.shape;
  Window w;
  if (!shape.affine) return w;
  auto offset = [&](unsigned l) {  // from the part's own base, scalar(address, p)
    return shape.per_part ? shape.offset(l) : shape.offset(p * lanes() + l) - shape.offset(p * lanes());
  };
  std::int64_t least = 0, most = 0;
  for (unsigned l = 0; l < lanes(); ++l) {
    least = std::min(least, offset(l));
    most = std::max(most, offset(l));
    if (offset(l) % a.bytes != 0) return w;
  }
  std::int64_t elements = (most - least) / a.bytes + a.count;
  if (elements > 4 * std::int64_t{lanes()}) return w;
  w.first = least;
  w.size = static_cast<unsigned>(elements);
  std::vector<bool> taken(w.size);
  for (unsigned l = 0; l < lanes(); ++l) {
    w.place.push_back(static_cast<unsigned>((offset(l) - least) / a.bytes));
    for (unsigned e = 0; e < a.count; ++e) {
      w.distinct = w.distinct && !taken[w.place[l] + e];
      taken[w.place[l] + e] = true;
    }
  }
  return w;
}

bool FunctionCompiler::has_windows(const Access& a, bool for_store) const {
  for (unsigned p = 0; p < parts(); ++p) {
    Window w = window_of(a, p);
    if (w.size == 0 || (for_store && !w.distinct)) return false;
  }
  return true;
}

/// Elements of the window that an active lane reads or writes.
llvm::Value* FunctionCompiler::window_mask(const Access& a, const Window& w, unsigned p) {
  std::vector<std::vector<int>> claims;  // [round][element]: a lane that uses it, or none
  for (unsigned l = 0; l < lanes(); ++l)
    for (unsigned e = 0; e < a.count; ++e) {
      std::size_t round = 0;
      while (round < claims.size() && claims[round][w.place[l] + e] != static_cast<int>(lanes())) ++round;
      if (round == claims.size())
        claims.emplace_back(w.size, static_cast<int>(lanes()));  // lanes(): an element of `none`
      claims[round][w.place[l] + e] = static_cast<int>(l);
    }
  auto* none = llvm::Constant::getNullValue(a.mask[p]->getType());
  llvm::Value* mask = nullptr;
  for (const auto& claim : claims) {
    auto* m = ir.CreateShuffleVector(a.mask[p], none, claim);
    mask = mask ? ir.CreateOr(mask, m) : m;
  }
  return mask;
}

llvm::Instruction* FunctionCompiler::may_prefetch(llvm::Instruction* load) {
  const Mod space = opcode().get(ModKind::space);
  if (space == Mod::global || space == Mod::none)
    load->setMetadata(kDeviceLoad, llvm::MDNode::get(ir.getContext(), {}));
  return load;
}

/// A loop around a barrier is none to LLVM, as regions leave the function there: what a load will read in the
/// next turn is prefetched here, far ahead of its use, for all warps come first.
void FunctionCompiler::prefetch_next_turn(const Access& a, const Operand& address) {
  const Mod space = opcode().get(ModKind::space);
  if (context.kernel.kind() != exec::BlockKind::regions || address.base != Operand::Base::reg ||
      (space != Mod::global && space != Mod::none))
    return;
  const Operand* step = plan.step_around_barrier(block, address.index);
  if (!step || !plan.operand_shape(*step).uniform()) return;
  auto* distance = ir.CreateSExtOrTrunc(scalar_of_uniform(read(*step)).v, ir.getInt64Ty());
  for (unsigned p = 0; p < parts(); ++p) {
    Window w = window_of(a, p);
    auto* first = ir.CreateAdd(ir.CreateAdd(scalar(a.address, p).v, distance),
                               ir.getInt64(static_cast<std::uint64_t>(w.first)));
    for (unsigned byte = 0; byte < w.size * a.bytes; byte += 64)
      ir.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {ir.getPtrTy()},
          {pointer(ir.CreateAdd(first, ir.getInt64(byte))), ir.getInt32(0), ir.getInt32(2), ir.getInt32(1)});
  }
}

FunctionCompiler::Parts FunctionCompiler::load_windows(const Access& a) {
  Parts result(a.count);
  auto* element = ir.getIntNTy(a.bytes * 8);
  for (unsigned p = 0; p < parts(); ++p) {
    Window w = window_of(a, p);
    llvm::Value* base = scalar(a.address, p).v;
    if (w.first) base = ir.CreateAdd(base, ir.getInt64(static_cast<std::uint64_t>(w.first)));
    if (w.size == a.count) {  // one place for the whole part: scalar loads, from nowhere if no lane is active
      auto* bits = ir.CreateBitCast(a.mask[p], ir.getIntNTy(lanes()));
      auto* nowhere = entry_alloca(llvm::ArrayType::get(ir.getInt64Ty(), 8), "nowhere", 64);
      llvm::Value* at = ir.CreateSelect(ir.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())),
                                        pointer(base), nowhere);
      for (unsigned e = 0; e < a.count; ++e)
        result[e].push_back(splat(may_prefetch(
            ir.CreateAlignedLoad(element, ir.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes)))));
      continue;
    }
    auto* wide = vector_of(element, w.size);
    auto* mask = window_mask(a, w, p);
    llvm::Value* v = for_lanes(whole_part(w, a, p), [&] {
      return may_prefetch(ir.CreateMaskedLoad(wide, pointer(base), llvm::Align(a.bytes), mask,
                                              llvm::Constant::getNullValue(wide)));
    });
    for (unsigned e = 0; e < a.count; ++e) {
      std::vector<int> index;
      for (unsigned l = 0; l < lanes(); ++l) index.push_back(static_cast<int>(w.place[l] + e));
      result[e].push_back(ir.CreateShuffleVector(v, index));
    }
  }
  return result;
}

void FunctionCompiler::store_windows(const Access& a, const Parts& values) {
  auto* element = ir.getIntNTy(a.bytes * 8);
  for (unsigned p = 0; p < parts(); ++p) {
    Window w = window_of(a, p);
    llvm::Value* base = scalar(a.address, p).v;
    if (w.first) base = ir.CreateAdd(base, ir.getInt64(static_cast<std::uint64_t>(w.first)));
    llvm::Value* window = llvm::PoisonValue::get(vector_of(element, w.size));
    for (unsigned e = 0; e < a.count; ++e) {
      std::vector<int> spread(w.size, -1), pick;
      for (unsigned l = 0; l < lanes(); ++l) spread[w.place[l] + e] = static_cast<int>(l);
      auto* here = ir.CreateShuffleVector(values[e][p], spread);
      for (unsigned k = 0; k < w.size; ++k) pick.push_back(static_cast<int>(spread[k] >= 0 ? w.size + k : k));
      window = e == 0 ? here : ir.CreateShuffleVector(window, here, pick);
    }
    auto* mask = window_mask(a, w, p);
    for_lanes(whole_part(w, a, p),
              [&] { return ir.CreateMaskedStore(window, pointer(base), llvm::Align(a.bytes), mask); });
  }
}

std::vector<LaneRun> FunctionCompiler::address_vectors() const {
  if (lanes() < 8) return {{0, lanes()}};  // no gathers: LLVM goes lane by lane
  return {{0, lanes() / 2}, {lanes() / 2, lanes() / 2}};
}

llvm::Value* FunctionCompiler::some_of(llvm::Value* vector, LaneRun some) {
  if (some.count == lanes()) return vector;
  std::vector<int> which;
  for (unsigned k = 0; k < some.count; ++k) which.push_back(static_cast<int>(some.first + k));
  return ir.CreateShuffleVector(vector, which);
}

/// In the vectors of addresses that LLVM would make of it, so that each is an instruction of known lanes.
llvm::Value* FunctionCompiler::gather(llvm::Type* element, llvm::Value* addresses, llvm::Align align,
                                      llvm::Value* mask, unsigned p) {
  std::vector<llvm::Value*> gathered;
  for (LaneRun some : address_vectors()) {
    auto* at = ir.CreateIntToPtr(some_of(addresses, some), vector_of(ir.getPtrTy(), some.count));
    auto* active = some_of(mask, some);
    gathered.push_back(for_lanes({p * lanes() + some.first, some.count}, [&] {
      return ir.CreateMaskedGather(vector_of(element, some.count), at, align, active);
    }));
  }
  if (gathered.size() == 1) return gathered[0];
  std::vector<int> all;
  for (unsigned l = 0; l < lanes(); ++l) all.push_back(static_cast<int>(l));
  return ir.CreateShuffleVector(gathered[0], gathered[1], all);
}

void FunctionCompiler::scatter(llvm::Value* values, llvm::Value* addresses, llvm::Align align,
                               llvm::Value* mask, unsigned p) {
  for (LaneRun some : address_vectors()) {
    auto* at = ir.CreateIntToPtr(some_of(addresses, some), vector_of(ir.getPtrTy(), some.count));
    auto *active = some_of(mask, some), *stored = some_of(values, some);
    for_lanes({p * lanes() + some.first, some.count},
              [&] { return ir.CreateMaskedScatter(stored, at, align, active); });
  }
}

/// Whether a window is the lanes' elements in order, as one vector of the host.
LaneRun FunctionCompiler::whole_part(const Window& w, const Access& a, unsigned p) const {
  if (a.bytes != 4 || a.count != 1 || w.size != lanes()) return {};
  for (unsigned l = 0; l < lanes(); ++l)
    if (w.place[l] != l) return {};
  return {p * lanes(), lanes()};
}

FunctionCompiler::Parts FunctionCompiler::load_gather(const Access& a) {
  if (a.bytes > 8) return load_lanes(a);
  Parts result(a.count);
  auto* word = ir.getIntNTy(std::max(32u, a.bytes * 8));
  for (unsigned p = 0; p < parts(); ++p)
    for (unsigned e = 0; e < a.count; ++e) {
      auto* address = part(a.address, p).v;
      if (e) address = ir.CreateAdd(address, splat(ir.getInt64(e * a.bytes)));
      auto* type = vector_of(word, lanes());
      llvm::Value* v;
      if (a.bytes >= 4) {
        v = gather(word, address, llvm::Align(a.bytes), a.mask[p], p);
      } else {
        // Narrow elements: gather the aligned word around each (it never crosses a page), then shift. The
        // lowest bit of a misaligned one stays, as it says that the access traps for that.
        auto* down = ir.CreateAnd(address, splat(ir.getInt64(~(4ull - a.bytes))));
        v = gather(word, down, llvm::Align(4), a.mask[p], p);
        auto* shift = ir.CreateShl(ir.CreateTrunc(ir.CreateAnd(address, splat(ir.getInt64(3))), type),
                                   splat(ir.getInt32(3)));
        v = ir.CreateTrunc(ir.CreateLShr(v, shift), vector_of(ir.getIntNTy(a.bytes * 8), lanes()));
      }
      result[e].push_back(v);
    }
  return result;
}

/// Lane by lane: volatile, relaxed and acquire accesses, of which LLVM has no gathers. 16 aligned bytes are
/// one access.
FunctionCompiler::Parts FunctionCompiler::load_lanes(const Access& a) {
  auto* element = ir.getIntNTy(a.bytes * 8);
  std::vector<llvm::Value*> arrays;
  for (unsigned e = 0; e < a.count; ++e) {
    arrays.push_back(entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), "loaded", 64));
    ir.CreateStore(llvm::Constant::getNullValue(llvm::ArrayType::get(element, exec::kWarpSize)), arrays[e]);
  }
  auto* addresses = spill(a.address);
  for_each_marked_lane(mask_bits(a.mask), [&](llvm::Value* lane) {
    auto* at = pointer(load_lane(addresses, ir.getInt64Ty(), lane));
    unsigned total = a.bytes * a.count;
    bool atomic = a.ordering != llvm::AtomicOrdering::NotAtomic;
    if (a.count > 1 && total <= 16) {
      llvm::Value* all;
      if (total <= 8) {
        auto* load = ir.CreateAlignedLoad(ir.getIntNTy(total * 8), at, llvm::Align(total));
        if (atomic) load->setAtomic(a.ordering);
        all = ir.CreateBitCast(load, vector_of(element, a.count));
      } else {
        all = ir.CreateAlignedLoad(vector_of(element, a.count), at, llvm::Align(16), atomic);
        if (a.ordering == llvm::AtomicOrdering::Acquire) ir.CreateFence(llvm::AtomicOrdering::Acquire);
      }
      for (unsigned e = 0; e < a.count; ++e) store_lane(arrays[e], ir.CreateExtractElement(all, e), lane);
      return;
    }
    for (unsigned e = 0; e < a.count; ++e) {
      auto* load = ir.CreateAlignedLoad(element, ir.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
      if (atomic) load->setAtomic(a.ordering);
      store_lane(arrays[e], load, lane);
    }
  });
  Parts result;
  for (auto* array : arrays) result.push_back(reload(array, element));
  return result;
}

void FunctionCompiler::load(unsigned destination, unsigned address) {
  if (is_parameter_access(operand(address), opcode().get(ModKind::space)))
    return load_parameter(destination, operand(address));
  Access a = access(address, destination);
  auto finish = [&](const Parts& values) {
    for (unsigned e = 0; e < a.count; ++e) write_parts(a.elements[e], a.type, values[e]);
  };
  if (a.ordering != llvm::AtomicOrdering::NotAtomic || a.bytes > 8) {
    ++context.statistics.not_vectorised;
    return finish(load_lanes(a));
  }
  const Shape& shape = a.address.shape;
  auto* element = ir.getIntNTy(a.bytes * 8);
  if (shape.uniform()) {
    auto make = [&] {
      std::vector<llvm::Value*> values;
      auto* at = pointer(scalar(a.address).v);
      bool constant =
          opcode().get(ModKind::space) == Mod::param || opcode().get(ModKind::space) == Mod::param_entry;
      for (unsigned e = 0; e < a.count; ++e) {
        auto* load =
            ir.CreateAlignedLoad(element, ir.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
        may_prefetch(load);
        if (constant)
          load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.getContext(), {}));
        values.push_back(load);
      }
      return values;
    };
    auto values = instruction->guard == ptx::kNone
                      ? make()
                      : conditional(any(a.mask), std::vector<llvm::Type*>(a.count, element), make);
    for (unsigned e = 0; e < a.count; ++e) write_uniform(a.elements[e], a.type, values[e]);
    return;
  }
  if (!has_windows(a, false)) {
    ++context.statistics.not_vectorised;
    return finish(load_gather(a));
  }
  if (!shape.checked) {
    prefetch_next_turn(a, operand(address));
    return finish(load_windows(a));
  }
  auto* done_types = vector_of(element, lanes());
  std::vector<std::vector<llvm::AllocaInst*>> slots(a.count);
  for (auto& s : slots)
    for (unsigned p = 0; p < parts(); ++p) s.push_back(entry_alloca(done_types, "loaded"));
  auto keep = [&](const Parts& values) {
    for (unsigned e = 0; e < a.count; ++e)
      for (unsigned p = 0; p < parts(); ++p) ir.CreateStore(values[e][p], slots[e][p]);
  };
  two_ways(
      a.address.ok,
      [&] {
        prefetch_next_turn(a, operand(address));
        keep(load_windows(a));
      },
      [&] {
        Access slow = a;
        slow.address.shape = Shape::varying();
        keep(load_gather(slow));
      });
  Parts values(a.count);
  for (unsigned e = 0; e < a.count; ++e)
    for (unsigned p = 0; p < parts(); ++p) values[e].push_back(ir.CreateLoad(done_types, slots[e][p]));
  finish(values);
}

void FunctionCompiler::store_scatter(const Access& a, const Parts& values) {
  if (a.bytes < 4 || a.bytes > 8) return store_lanes(a, values);
  for (unsigned e = 0; e < a.count; ++e)
    for (unsigned p = 0; p < parts(); ++p) {
      auto* address = part(a.address, p).v;
      if (e) address = ir.CreateAdd(address, splat(ir.getInt64(e * a.bytes)));
      scatter(values[e][p], address, llvm::Align(a.bytes), a.mask[p], p);
    }
}

void FunctionCompiler::store_lanes(const Access& a, const Parts& values) {
  auto* element = ir.getIntNTy(a.bytes * 8);
  auto* addresses = spill(a.address);
  std::vector<llvm::Value*> arrays;
  for (unsigned e = 0; e < a.count; ++e) arrays.push_back(spill_parts(values[e]));
  for_each_marked_lane(mask_bits(a.mask), [&](llvm::Value* lane) {
    auto* at = pointer(load_lane(addresses, ir.getInt64Ty(), lane));
    bool atomic = a.ordering != llvm::AtomicOrdering::NotAtomic;
    unsigned total = a.bytes * a.count;
    if (a.count > 1 && total <= 16) {
      llvm::Value* all = llvm::PoisonValue::get(vector_of(element, a.count));
      for (unsigned e = 0; e < a.count; ++e)
        all = ir.CreateInsertElement(all, load_lane(arrays[e], element, lane), e);
      if (total <= 8) {
        auto* store =
            ir.CreateAlignedStore(ir.CreateBitCast(all, ir.getIntNTy(total * 8)), at, llvm::Align(total));
        if (atomic) store->setAtomic(a.ordering);
      } else {
        if (a.ordering == llvm::AtomicOrdering::Release) ir.CreateFence(llvm::AtomicOrdering::Release);
        ir.CreateAlignedStore(all, at, llvm::Align(16), atomic);
      }
      return;
    }
    for (unsigned e = 0; e < a.count; ++e) {
      auto* store = ir.CreateAlignedStore(load_lane(arrays[e], element, lane),
                                          ir.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
      if (atomic) store->setAtomic(a.ordering);
    }
  });
}

/// Every lane to one address: PTX leaves open who wins; here the highest lane, as in lane order.
void FunctionCompiler::store_uniform(const Access& a, const std::vector<WarpValue>& values) {
  auto* element = ir.getIntNTy(a.bytes * 8);
  auto* bits = mask_bits(a.mask);
  if_then(ir.CreateICmpNE(bits, ir.getInt32(0)), [&] {
    auto* at = pointer(scalar(a.address).v);
    auto* last = ir.CreateSub(
        ir.getInt32(31), ir.CreateIntrinsic(llvm::Intrinsic::ctlz, {ir.getInt32Ty()}, {bits, ir.getTrue()}));
    for (unsigned e = 0; e < a.count; ++e) {
      llvm::Value* v;
      if (values[e].shape.uniform()) {
        v = ir.CreateZExtOrTrunc(scalar(values[e]).as(isa::bits_type(isa::bit_size(values[e].type))).v,
                                 element);
      } else {
        std::vector<llvm::Value*> all;
        for (unsigned p = 0; p < parts(); ++p)
          all.push_back(
              ir.CreateZExtOrTrunc(part(values[e], p).as(isa::bits_type(isa::bit_size(values[e].type))).v,
                                   vector_of(element, lanes())));
        v = load_lane(spill_parts(all), element, last);
      }
      ir.CreateAlignedStore(v, ir.CreateConstGEP1_32(element, at, e), llvm::Align(a.bytes));
    }
  });
}

void FunctionCompiler::store(unsigned address, unsigned value) {
  if (is_parameter_access(operand(address), opcode().get(ModKind::space)))
    return store_parameter(operand(address), value);
  Access a = access(address, value);
  std::vector<WarpValue> inputs;
  for (const Operand& e : a.elements) inputs.push_back(read(e));
  auto* element = ir.getIntNTy(a.bytes * 8);
  const Shape& shape = a.address.shape;
  bool plain = a.ordering == llvm::AtomicOrdering::NotAtomic && a.bytes <= 8;
  if (shape.uniform() && plain) return store_uniform(a, inputs);
  Parts values(a.count);
  for (unsigned e = 0; e < a.count; ++e)
    for (unsigned p = 0; p < parts(); ++p) {
      Val v = part(inputs[e], p);
      values[e].push_back(
          ir.CreateZExtOrTrunc(v.as(isa::bits_type(v.bits())).v, vector_of(element, lanes())));
    }
  if (!plain) {
    ++context.statistics.not_vectorised;
    return store_lanes(a, values);
  }
  if (!has_windows(a, true)) {
    ++context.statistics.not_vectorised;
    return store_scatter(a, values);
  }
  if (!shape.checked) return store_windows(a, values);
  two_ways(
      a.address.ok, [&] { store_windows(a, values); },
      [&] {
        Access slow = a;
        slow.address.shape = Shape::varying();
        store_scatter(slow, values);
      });
}

void FunctionCompiler::write_spilled(const Operand& destination, Type type, llvm::Value* array) {
  write_parts(destination, type, reload(array, ir.getIntNTy(isa::bit_size(type))));
}

}  // namespace raddle::jit
