#include "jit/addresses.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>

#include "exec/cluster.h"
#include "exec/window.h"

namespace raddle::jit {

using exec::ClusterContext;
using isa::Mod;
using isa::ModKind;
using ptx::Operand;

Addresses::Addresses(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, WarpValues& values,
                     Masks& masks, Context& context, StateSpaces& spaces, Registers& registers)
    : code_(code),
      ir_(code.ir),
      module_(module),
      kernel_(module.kernel),
      cursor_(cursor),
      plan_(cursor.plan),
      f_(cursor.function),
      values_(values),
      masks_(masks),
      context_(context),
      spaces_(spaces),
      registers_(registers) {}

WarpAccess Addresses::begin(const Operand& operand) {
  const Mod space = cursor_.opcode().get(ModKind::space);
  return begin(operand, space, exec::access_of(*cursor_.instruction).bytes);
}

WarpAccess Addresses::begin(const Operand& operand, Mod space, std::uint32_t bytes) {
  return begin(operand, space, bytes, note(), registers_.executing());
}

WarpAccess Addresses::begin(const Operand& operand, Mod space, std::uint32_t bytes, exec::AccessKind kind,
                            const Mask& lanes) {
  const exec::Access access = exec::access_of(*cursor_.instruction, kind, space, bytes);
  tell(access);
  return begin(operand, space, bytes, access, lanes);
}

WarpValue Addresses::generic(const Operand& operand, Mod space, std::uint32_t bytes, exec::AccessKind kind) {
  tell(exec::access_of(*cursor_.instruction, kind, space, bytes));
  return translate(operand, space);
}

WarpAccess Addresses::begin(const Operand& operand, Mod space, std::uint32_t bytes,
                            const exec::Access& access, const Mask& lanes) {
  WarpAccess made{.access = access, .address = translate(operand, space), .lanes = lanes};
  made.access.bytes = bytes;  // of this operand
  check_window(operand, space, made);
  check_remote(operand, space, made);
  if (is_translated(space)) {
    made.generic = made.address;
    made.address = reached(made);
    return made;
  }
  trap_misaligned(operand, space, made.address, std::min(bytes, exec::kMostAlignment));
  made.generic = made.address;
  return made;
}

exec::Access Addresses::note() {
  const exec::Access access = exec::access_of(*cursor_.instruction);
  tell(access);
  return access;
}

void Addresses::tell(const exec::Access& access) {
  if (module_.listener && !plan_.together) module_.listener->on_compiled(access);
}

// ---- translation ----

WarpValue Addresses::translate(const Operand& o, Mod space) {
  WarpValue v = base_of(o);
  if (space == Mod::none && o.base == Operand::Base::variable &&
      kernel_.module.variables[o.index].space == ptx::Space::shared)
    space = Mod::shared;
  if (ptx::space_of(space) == ptx::Space::shared) return in_shared(std::move(v), o.value);
  // A strided address of 32 bits may wrap when widened: its shape is given up.
  if (isa::bit_size(v.type) < 64 && v.shape.affine && !v.shape.equal_lanes())
    v.become_varying(values_.vectors(v));
  if (isa::bit_size(v.type) < 64) each(v, [&](llvm::Value* x) { return widened(x); });
  v.type = Type::u64;
  if (o.value != 0)
    each(v, [&](llvm::Value* x) { return plus(x, ir_.getInt64(static_cast<std::uint64_t>(o.value))); });
  if (space == Mod::const_ && o.base != Operand::Base::variable)
    each(v, [&](llvm::Value* x) { return spaces_.generic_constant(x); });
  if (space == Mod::param || space == Mod::param_entry) {
    auto* base = spaces_.aligned(spaces_.parameter_base());
    if (o.base != Operand::Base::variable) check_parameter(v, base);
    each(v, [&](llvm::Value* x) { return plus(x, base); });
  } else if (space == Mod::local) {
    auto bases = spaces_.local_base();
    std::vector<llvm::Value*> addresses;
    for (unsigned p = 0; p < code_.parts(); ++p)
      addresses.push_back(ir_.CreateAdd(bases[p], values_.part(v, p).v));
    v.become_varying(std::move(addresses));
  }
  return v;
}

/// Without the constant offset.
WarpValue Addresses::base_of(const Operand& o) {
  if (o.base == Operand::Base::absolute) return WarpValue::uniform(Type::b64, ir_.getInt64(0));
  Operand base = o;
  base.type = Type::none;
  if (o.base == Operand::Base::reg) {
    base.kind = Operand::Kind::reg;
    base.negated = false;
  } else {
    base.kind = Operand::Kind::variable;
    base.value = 0;
  }
  return registers_.read(base);
}

void Addresses::each(WarpValue& v, const std::function<llvm::Value*(llvm::Value*)>& change) {
  for (auto*& b : v.bases) b = change(b);
  for (auto*& x : v.parts) x = change(x);
  if (v.late) v.late = [change, before = v.late](unsigned p) { return change(before(p)); };
}

llvm::Value* Addresses::plus(llvm::Value* x, llvm::Value* scalar) {
  return ir_.CreateAdd(x, x->getType()->isVectorTy() ? code_.splat(scalar) : scalar);
}

llvm::Type* Addresses::like(llvm::Value* x, llvm::Type* element) {
  return x->getType()->isVectorTy() ? static_cast<llvm::Type*>(code_.vector_of(element)) : element;
}

llvm::Value* Addresses::widened(llvm::Value* x) { return ir_.CreateZExt(x, like(x, ir_.getInt64Ty())); }

/// Shared addresses are 32-bit: offset and register add up modulo 2^32, as on the device. What is near is
/// added behind the widening, where the host's accesses add it themselves (exec/window.h).
WarpValue Addresses::in_shared(WarpValue v, std::int64_t offset) {
  each(v, [&](llvm::Value* x) { return ir_.CreateTrunc(x, like(x, ir_.getInt32Ty())); });
  v.type = Type::u32;
  std::int64_t near = static_cast<std::int32_t>(offset);
  const auto [least, most] =
      v.shape.affine ? values_.offset_range(v.shape) : std::pair<std::int64_t, std::int64_t>{};
  const auto reach = [&](std::int64_t distance) { return std::abs(distance) + std::abs(near); };
  if (std::max(reach(least), reach(most)) > exec::kSharedNear) {
    if (!v.shape.equal_lanes()) v.become_varying(values_.vectors(v));
    each(v, [&](llvm::Value* x) { return plus(x, ir_.getInt32(static_cast<std::uint32_t>(near))); });
    near = 0;
  }
  auto* start = spaces_.shared_base();
  each(v, [&](llvm::Value* x) {
    auto* address = plus(ir_.CreateSExt(x, like(x, ir_.getInt64Ty())), start);
    return near == 0 ? address : plus(address, ir_.getInt64(static_cast<std::uint64_t>(near)));
  });
  v.type = Type::u64;
  return v;
}

/// The host keeps other things around the parameters of a kernel, so no guard page tells what lies outside.
void Addresses::check_parameter(const WarpValue& offset, llvm::Value* base) {
  Mask mask = registers_.executing(), outside;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* limit = code_.splat(ir_.getInt64(f_.is_entry ? f_.parameter_bytes : 0));
    outside.push_back(
        ir_.CreateAnd(mask[p], ir_.CreateICmpUGE(values_.part(offset, p).as(Type::u64).v, limit)));
  }
  auto* bits = masks_.bits(outside);
  code_.if_then(ir_.CreateICmpNE(bits, ir_.getInt32(0)), [&] {
    auto* lane = masks_.first_lane(bits);
    auto* address = ir_.CreateAdd(values_.load_lane(values_.spill(offset), ir_.getInt64Ty(), lane), base);
    context_.fault(exec::FaultKind::illegal_address, address, lane);
  });
}

// ---- windows ----

/// Keeps the kernel of a windowed space from what is not its own. A quick test tells most accesses from those
/// that the machine has to judge.
void Addresses::check_window(const Operand& operand, Mod space, const WarpAccess& access) {
  const ptx::Space named = ptx::space_of(space);
  // Shared addresses reach nothing else. Parameters are checked, variables lie where the machine put them.
  const bool is_local_of_modelled = kernel_.modelled && named == ptx::Space::local;  // no page is there
  if (!kernel_.windowed && !is_local_of_modelled) return;
  if (named == ptx::Space::shared || named == ptx::Space::param) return;
  const bool is_near = std::abs(operand.value) < static_cast<std::int64_t>(exec::kWindowSlack / 2);
  if (operand.base == Operand::Base::variable && is_near) return;
  code_.if_seldom(leaves_window(operand, space, access), [&] {
    check_access(masks_.bits(access.lanes), values_.spill(access.address), access.access);
  });
}

/// Whether some lane may leave the window. It looks at registers, not at what is added to them where that is
/// little: the same test serves all accesses near a register.
llvm::Value* Addresses::leaves_window(const Operand& operand, Mod space, const WarpAccess& access) {
  constexpr auto kNear = static_cast<std::int64_t>(exec::kWindowSlack / 2);
  constexpr std::uint64_t kCluster = exec::kMaxClusterSize * exec::kSharedWindow;  // nothing lies behind it
  const bool is_local = ptx::space_of(space) == ptx::Space::local;
  WarpValue from = base_of(operand);
  const bool as_it_is = isa::bit_size(from.type) == 64 && space != Mod::const_ &&
                        std::abs(operand.value) < kNear - std::int64_t{access.access.bytes};
  if (!as_it_is && is_local) return ir_.getTrue();
  if (!as_it_is) from = access.address;
  auto leaves = [&](llvm::Value* x) {
    if (is_local)  // within the block's own memory, whatever lane it is
      return ir_.CreateICmpUGE(x, llvm::ConstantInt::get(x->getType(), exec::kWindowSlack / 2));
    auto* inside = is_inside(x, spaces_.window_start(), spaces_.window_bytes());
    if (space == Mod::none)
      inside = ir_.CreateOr(inside, is_inside(x, spaces_.shared_base(), ir_.getInt64(kCluster)));
    return ir_.CreateNot(inside);
  };
  const auto [least, most] =
      from.shape.scalar() ? values_.offset_range(from.shape) : std::pair<std::int64_t, std::int64_t>{};
  if (!from.shape.scalar() || least < -kNear / 2 || most > kNear / 2) {
    Mask outside;
    for (unsigned p = 0; p < code_.parts(); ++p)
      outside.push_back(ir_.CreateAnd(access.lanes[p], leaves(values_.part(from, p).as(Type::u64).v)));
    return masks_.any(outside);
  }
  llvm::Value* any = from.shape.checked ? ir_.CreateNot(from.ok) : nullptr;
  for (auto* base : from.bases) any = any ? ir_.CreateOr(any, leaves(base)) : leaves(base);
  return any;
}

llvm::Value* Addresses::is_inside(llvm::Value* address, llvm::Value* start, llvm::Value* bytes) {
  auto like = [&](llvm::Value* v) { return address->getType()->isVectorTy() ? code_.splat(v) : v; };
  return ir_.CreateICmpULT(ir_.CreateSub(address, like(start)), like(bytes));
}

void Addresses::check_access(llvm::Value* lanes, llvm::Value* addresses, const exec::Access& access) {
  context_.call_service(exec::Service::check_access,
                        {lanes, addresses, ir_.getInt32(access.bytes), ir_.getInt32(writes(access.kind)),
                         ir_.getInt32(cursor_.instruction->line)});
}

llvm::Value* Addresses::reached(llvm::Value* address, llvm::Value* lane, const exec::Access& access) {
  const bool translates = is_translated(cursor_.opcode().get(ModKind::space));
  if (!kernel_.windowed && !translates) return address;
  const auto call = [&](auto service) {
    auto* addresses =
        code_.shared_alloca(llvm::ArrayType::get(ir_.getInt64Ty(), exec::kWarpSize), "addresses", 64);
    values_.store_lane(addresses, address, lane);
    (this->*service)(ir_.CreateShl(ir_.getInt32(1), lane), addresses, access);
    return addresses;
  };
  if (translates) return values_.load_lane(call(&Addresses::translate_lanes), ir_.getInt64Ty(), lane);
  auto* inside = is_inside(address, spaces_.window_start(), spaces_.window_bytes());
  code_.if_seldom(ir_.CreateNot(inside), [&] { call(&Addresses::check_access); });
  return address;
}

// ---- pages ----

/// Shared and local memory and parameters are the block's own.
bool Addresses::is_translated(Mod space) const {
  const ptx::Space named = ptx::space_of(space);
  return kernel_.modelled && named != ptx::Space::shared && named != ptx::Space::local &&
         named != ptx::Space::param;
}

/// Lanes side by side may lie anywhere: only what is one address for all stays one.
WarpValue Addresses::reached(const WarpAccess& access) {
  auto* lanes = masks_.bits(access.lanes);
  auto* addresses = values_.spill(access.address);
  translate_lanes(lanes, addresses, access.access);
  if (access.address.shape.uniform()) {
    auto* first = ir_.CreateAnd(masks_.first_lane(lanes), ir_.getInt32(exec::kWarpSize - 1));
    return WarpValue::uniform(Type::u64, values_.load_lane(addresses, ir_.getInt64Ty(), first));
  }
  return WarpValue::varying(Type::u64, values_.reload(addresses, ir_.getInt64Ty()));
}

void Addresses::translate_lanes(llvm::Value* lanes, llvm::Value* addresses, const exec::Access& access) {
  context_.call_service(exec::Service::translate, {lanes, addresses, ir_.getInt32(access.bytes),
                                                   ir_.getInt32(static_cast<std::uint32_t>(access.kind)),
                                                   ir_.getInt32(cursor_.instruction->line)});
}

// ---- alignment ----

bool Addresses::is_aligned(const Operand& address, unsigned bytes) const {
  return is_aligned(address, cursor_.opcode().get(ModKind::space), bytes);
}
bool Addresses::is_aligned(const Operand& address, Mod space, unsigned bytes) const {
  return (1u << plan_.address_alignment(address, space)) >= bytes;
}

/// Accesses to addresses that are no multiple of their size fault (PTX ISA "Alignment"); the host would make
/// them. Where the plan cannot prove alignment, an address's low bits are added into its topmost bits, which
/// a user address has clear: the access of a misaligned one traps, aligned ones stay what they are (ADR
/// 0014). exec::misaligned_from() finds the true address again.
void Addresses::trap_misaligned(const Operand& operand, Mod space, WarpValue& address, unsigned bytes) {
  if (is_aligned(operand, space, bytes)) return;
  bool by_base = address.shape.affine;
  for (unsigned l = 0; by_base && l < exec::kWarpSize; ++l)
    by_base = address.shape.offset(l) % static_cast<std::int64_t>(bytes) == 0;
  if (!by_base) address.become_varying(values_.vectors(address));
  // An addition, not an or: LLVM moves the part that is the same for many addresses out of loops, and what
  // is left folds into the access.
  each(address, [this, bytes](llvm::Value* x) {
    auto* up = llvm::ConstantInt::get(x->getType(), 64 - static_cast<unsigned>(std::countr_zero(bytes)));
    return ir_.CreateAdd(x, ir_.CreateShl(x, up));
  });
}

// ---- other CTAs' shared memory ----

/// A quick test, true where some lane's address may lie in another CTA's memory. For lanes at constant
/// distances it looks at the outermost only: these distances are shorter than the window.
llvm::Value* Addresses::may_be_remote(const WarpAccess& a, Mod space) {
  const WarpValue& address = a.address;
  auto* own = ir_.CreateAdd(spaces_.shared_base(), ir_.CreateZExt(spaces_.rank_base(), ir_.getInt64Ty()));
  auto test = [&](llvm::Value* x) -> llvm::Value* {
    auto like = [&](llvm::Value* v) { return x->getType()->isVectorTy() ? code_.splat(v) : v; };
    // A shared address is in the window; it is not the CTA's own beyond 16 MiB from its start.
    if (space == Mod::shared_cluster)
      return ir_.CreateICmpUGE(ir_.CreateSub(x, like(own)), like(ir_.getInt64(exec::kSharedWindow)));
    return ir_.CreateICmpULT(ir_.CreateSub(x, like(spaces_.shared_base())),
                             like(ir_.getInt64(exec::kWindowReach)));
  };
  llvm::Value* any_lane = nullptr;
  auto join = [&](llvm::Value* one) { any_lane = any_lane ? ir_.CreateOr(any_lane, one) : one; };
  if (address.shape.scalar()) {
    const auto [least, most] = values_.offset_range(address.shape);
    for (auto* base : address.bases)
      for (std::int64_t distance : {least, most})
        if (distance == least || least != most)
          join(test(ir_.CreateAdd(base, ir_.getInt64(static_cast<std::uint64_t>(distance)))));
    return any_lane;
  }
  Mask remote;
  for (unsigned p = 0; p < code_.parts(); ++p)
    remote.push_back(ir_.CreateAnd(a.lanes[p], test(values_.part(address, p).as(Type::u64).v)));
  return masks_.any(remote);
}

/// Faults where an access goes to shared memory of another CTA of the cluster which is not there (W-19). Only
/// code compiled for clusters knows that there are other CTAs (ADR 0021).
void Addresses::check_remote(const Operand& operand, Mod space, const WarpAccess& a) {
  if (!kernel_.clustered || (space != Mod::shared_cluster && space != Mod::none)) return;
  if (operand.base == Operand::Base::variable) return;  // the CTA's own, or no shared one
  code_.if_then(may_be_remote(a, space), [&] {
    auto* bits = masks_.bits(outside_cluster(a, space));
    code_.if_then(ir_.CreateICmpNE(bits, ir_.getInt32(0)), [&] {
      auto* lane = masks_.first_lane(bits);
      context_.fault(exec::FaultKind::illegal_cluster_address,
                     values_.load_lane(values_.spill(a.address), ir_.getInt64Ty(), lane), lane);
    });
  });
}

Mask Addresses::outside_cluster(const WarpAccess& a, Mod space) {
  auto* i32 = ir_.getInt32Ty();
  auto* size = spaces_.shared_bytes();
  auto* room = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, ir_.CreateAdd(size, ir_.getInt32(1)),
                                         ir_.getInt32(a.access.bytes));  // offsets at which the access fits
  auto* live = llvm::cast<llvm::LoadInst>(context_.cluster_field(offsetof(ClusterContext, live), "live"));
  live->setAtomic(llvm::AtomicOrdering::Acquire);
  live->setAlignment(llvm::Align(4));
  auto* own = ir_.CreateLShr(spaces_.rank_base(), exec::kRankShift);
  auto splat = [&](llvm::Value* x) { return code_.splat(x); };
  // What names that space is an address there, whatever it is.
  const bool is_shared = space == Mod::shared_cluster;
  Mask wrong;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    auto* distance = ir_.CreateSub(values_.part(a.address, p).as(Type::u64).v, splat(spaces_.shared_base()));
    auto* inside = is_shared ? code_.splat(ir_.getTrue())
                             : ir_.CreateICmpULT(distance, splat(ir_.getInt64(exec::kWindowReach)));
    auto* shared = ir_.CreateTrunc(distance, code_.vector_of(i32));
    auto* rank = ir_.CreateLShr(shared, exec::kRankShift);
    auto* offset = ir_.CreateAnd(shared, splat(ir_.getInt32(exec::kSharedWindow - 1)));
    // No rank of a cluster is as high as 31: that bit is never set.
    auto* bit = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rank, splat(ir_.getInt32(31)));
    auto* is_live = ir_.CreateTrunc(ir_.CreateLShr(splat(live), bit), a.lanes[p]->getType());
    auto* fits = ir_.CreateAnd(is_live, ir_.CreateICmpULT(offset, splat(room)));
    auto* remote = ir_.CreateAnd(inside, ir_.CreateICmpNE(rank, splat(own)));
    wrong.push_back(ir_.CreateAnd(a.lanes[p], ir_.CreateAnd(remote, ir_.CreateNot(fits))));
  }
  return wrong;
}

}  // namespace raddle::jit
