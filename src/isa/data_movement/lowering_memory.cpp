// JIT: loads, stores, cache hints, address-space conversion. How an access is made is jit/memory_access.h's.
#include <algorithm>
#include <span>

#include "exec/cluster.h"
#include "isa/op.h"
#include "jit/mbarriers.h"
#include "jit/sends.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

using ptx::Space;

template <>
void emit<Op::ld>(WarpEmitter& e) {
  e.memory.load(0, 1);
}
template <>
void emit<Op::ldu>(WarpEmitter& e) {
  e.memory.load(0, 1);
}
template <>
void emit<Op::st>(WarpEmitter& e) {
  e.memory.store(0, 1);
}

template <>
void emit<Op::st_async>(WarpEmitter& e) {
  if (e.kernel.late_copies) return send_late(e, {});
  e.memory.store(0, 1);
  complete_transactions(e, 2, isa::byte_size(e.type()) * e.opcode().vector_length());
}

// The group has one device only.
template <>
void emit<Op::multimem_ld_reduce>(WarpEmitter& e) {
  e.memory.load(0, 1);
}
template <>
void emit<Op::multimem_st>(WarpEmitter& e) {
  e.memory.store(0, 1);
}

// Hints without effect on results: the host has its own caches.
template <>
void emit<Op::prefetch>(WarpEmitter&) {}
template <>
void emit<Op::prefetchu>(WarpEmitter&) {}
template <>
void emit<Op::applypriority>(WarpEmitter&) {}
template <>
void emit<Op::discard>(WarpEmitter&) {}

namespace {
/// What cvta adds to an address of the space to make it generic, as vectors; null where they are the same.
std::vector<llvm::Value*> base_of_space(WarpEmitter& e, Space space) {
  switch (space) {
    case Space::shared:
      return {e.spaces.shared_base()};
    case Space::param:
      return {e.spaces.parameter_base()};
    case Space::local:
      return e.spaces.local_base();
    default:
      return {};
  }
}

/// To generic addresses of constants.
void widen_constant(WarpEmitter& e, WarpValue v) {
  if (e.type(0) == Type::u64)
    for (auto* values : {&v.bases, &v.parts})
      for (auto*& x : *values) x = e.spaces.generic_constant(x);
  e.out(0, v);
}
}  // namespace

template <>
void emit<Op::cvta>(WarpEmitter& e) {
  WarpValue v = e.in(1);
  if (e.has(Mod::const_) && !e.has(Mod::to)) return widen_constant(e, v);
  auto bases = base_of_space(e, ptx::space_of(e.get(ModKind::space)));
  bool to_space = e.has(Mod::to);
  auto shift = [&](llvm::Value* x, llvm::Value* base) -> llvm::Value* {
    if (base->getType() != x->getType()) {
      if (!base->getType()->isVectorTy() && x->getType()->isVectorTy()) base = e.splat(base);
      base = e.ir.CreateZExtOrTrunc(base, x->getType());
    }
    return to_space ? e.ir.CreateSub(x, base) : e.ir.CreateAdd(x, base);
  };
  if (bases.size() == 1) {
    for (auto*& x : v.bases) x = shift(x, bases[0]);
    for (auto*& x : v.parts) x = shift(x, bases[0]);
  } else if (!bases.empty()) {
    std::vector<llvm::Value*> moved;
    for (unsigned p = 0; p < e.parts(); ++p)
      moved.push_back(shift(e.part(v, p).as(isa::bits_type(isa::bit_size(v.type))).v, bases[p]));
    return e.out(0, v.type, moved);
  }
  e.out(0, v);
}

template <>
void emit<Op::isspacep>(WarpEmitter& e) {
  auto& ir = e.ir;
  WarpValue v = e.in(1);
  Space space = ptx::space_of(e.get(ModKind::space));
  std::vector<llvm::Value*> result;
  auto* i64 = ir.getInt64Ty();
  auto* own = ir.CreateAdd(e.spaces.shared_base(), ir.CreateZExt(e.spaces.rank_base(), i64));
  auto local = e.spaces.local_base();
  auto* stride = e.splat(e.spaces.local_bytes());
  auto* parameters = e.spaces.parameter_base();
  for (unsigned p = 0; p < e.parts(); ++p) {
    Val a = e.part(v, p);
    auto* address = a.is_float() ? a.as(Type::b64).v : a.v;
    address = ir.CreateZExtOrTrunc(address, e.code.vector_of(i64));
    auto within = [&](llvm::Value* base, llvm::Value* bytes) {
      return ir.CreateICmpULT(ir.CreateSub(address, e.splat(base)), e.splat(bytes));
    };
    auto in_own = [&] { return within(own, ir.getInt64(exec::kSharedWindow)); };
    auto in_cluster = [&] { return e.spaces.in_cluster(address); };
    auto in_local = [&] { return ir.CreateICmpULT(ir.CreateSub(address, local[p]), stride); };
    auto in_parameters = [&] {
      return within(parameters, ir.getInt64(std::max(e.cursor.function.parameter_bytes, 1u)));
    };
    auto in_constant = [&] {
      llvm::Value* any = e.masks.all_lanes(false)[p];
      for (ptx::VariableId id = 0; id < e.kernel.module.variables.size(); ++id) {
        const auto& variable = e.kernel.module.variables[id];
        if (variable.space != Space::const_ || variable.function != ptx::kNone) continue;
        any = ir.CreateOr(any, within(e.spaces.variable_address(id),
                                      ir.getInt64(std::max<std::uint64_t>(variable.size, 1))));
      }
      return any;
    };
    switch (space) {
      case Space::shared:
        result.push_back(e.has(Mod::shared_cluster) ? in_cluster() : in_own());
        break;
      case Space::local:
        result.push_back(in_local());
        break;
      case Space::param:
        result.push_back(in_parameters());
        break;
      case Space::const_:
        result.push_back(in_constant());
        break;
      default: {
        auto* elsewhere =
            ir.CreateOr(ir.CreateOr(in_cluster(), in_local()), ir.CreateOr(in_parameters(), in_constant()));
        result.push_back(ir.CreateNot(elsewhere));
      }
    }
  }
  e.out(0, Type::pred, result);
}

namespace {

/// Makes the result out of operands that are equal in all lanes, or vectors of each part.
/// @param make  from the sources' values
void compute(WarpEmitter& e, Type type, const std::function<Val(std::span<const Val>)>& make) {
  std::vector<WarpValue> sources;
  for (unsigned k = 1; k < e.operand_count(); ++k) sources.push_back(e.in(k));
  const bool uniform = std::ranges::all_of(sources, [](const WarpValue& v) { return v.shape.uniform(); });
  std::vector<llvm::Value*> results;
  for (unsigned p = 0; p < (uniform ? 1 : e.parts()); ++p) {
    std::vector<Val> values;
    for (const WarpValue& v : sources) values.push_back(uniform ? e.scalar(v) : e.part(v, p));
    results.push_back(make(values).as(type).v);
  }
  uniform ? e.out(0, type, results[0]) : e.out(0, type, results);
}

/// A shared address out of an operand of mapa or getctarank, 32 bits.
Val shared_address(WarpEmitter& e, Val a, llvm::Value* origin) {
  Val wide = a.to(Type::u64);
  auto* base = a.is_vector() ? e.splat(origin) : origin;
  return Val{&e.ir, e.ir.CreateSub(wide.v, base), Type::u64}.to(Type::u32);
}

/// Host address that shared addresses count from in operands of mapa and getctarank.
llvm::Value* origin_of(WarpEmitter& e) {
  return e.has(Mod::shared_cluster) ? e.ir.getInt64(0) : e.spaces.shared_base();
}

}  // namespace

// As exec::map_to_rank().
template <>
void emit<Op::mapa>(WarpEmitter& e) {
  auto* origin = origin_of(e);
  const Type type = e.type();
  compute(e, type, [&](std::span<const Val> s) {
    Val address = shared_address(e, s[0].as(type), origin), rank = s[1].as(Type::u32);
    rank = shl(min(rank, rank.like(exec::kNoRank)), exec::kRankShift);
    Val mapped = (rank | (address & address.like(exec::kSharedWindow - 1))).to(Type::u64);
    auto* base = mapped.is_vector() ? e.splat(origin) : origin;
    return Val{&e.ir, e.ir.CreateAdd(mapped.v, base), Type::u64}.to(type);
  });
}

template <>
void emit<Op::getctarank>(WarpEmitter& e) {
  auto* origin = origin_of(e);
  const Type type = e.type();
  compute(e, Type::u32, [&](std::span<const Val> s) {
    return shr(shared_address(e, s[0].as(type), origin), exec::kRankShift);
  });
}

}  // namespace raddle::jit
