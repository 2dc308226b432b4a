// JIT: loads, stores, cache hints, address-space conversion. How an access is made is jit/memory.cpp's.
#include <algorithm>
#include <span>

#include "exec/cluster.h"
#include "isa/op.h"
#include "jit/function.h"

namespace raddle::jit {

using ptx::Space;

template <>
void emit<Op::ld>(FunctionCompiler& c) {
  c.load(0, 1);
}
template <>
void emit<Op::ldu>(FunctionCompiler& c) {
  c.load(0, 1);
}
template <>
void emit<Op::st>(FunctionCompiler& c) {
  c.store(0, 1);
}

// Hints without effect on results: the host has its own caches.
template <>
void emit<Op::prefetch>(FunctionCompiler&) {}
template <>
void emit<Op::prefetchu>(FunctionCompiler&) {}
template <>
void emit<Op::applypriority>(FunctionCompiler&) {}
template <>
void emit<Op::discard>(FunctionCompiler&) {}

namespace {
/// The vectors that cvta adds to an address of the space to make it generic; null if nothing is added.
std::vector<llvm::Value*> base_of_space(FunctionCompiler& c, Space space) {
  switch (space) {
    case Space::shared:
      return {c.shared_base()};
    case Space::param:
      return {c.launch_field(offsetof(exec::LaunchContext, parameters), c.ir.getInt64Ty(), "parameters")};
    case Space::local:
      return c.local_base();
    default:
      return {};
  }
}

/// To generic addresses of constants.
void widen_constant(FunctionCompiler& c, WarpValue v) {
  if (c.opcode().type(0) == Type::u64)
    for (auto* values : {&v.bases, &v.parts})
      for (auto*& x : *values) x = c.generic_constant(x);
  c.write(0, v);
}
}  // namespace

template <>
void emit<Op::cvta>(FunctionCompiler& c) {
  WarpValue v = c.read(1);
  if (c.opcode().has(Mod::const_) && !c.opcode().has(Mod::to)) return widen_constant(c, v);
  auto bases = base_of_space(c, ptx::space_of(c.opcode().get(ModKind::space)));
  bool to_space = c.opcode().has(Mod::to);
  auto shift = [&](llvm::Value* x, llvm::Value* base) -> llvm::Value* {
    if (base->getType() != x->getType()) {
      if (!base->getType()->isVectorTy() && x->getType()->isVectorTy()) base = c.splat(base);
      base = c.ir.CreateZExtOrTrunc(base, x->getType());
    }
    return to_space ? c.ir.CreateSub(x, base) : c.ir.CreateAdd(x, base);
  };
  if (bases.size() == 1) {
    for (auto*& x : v.bases) x = shift(x, bases[0]);
    for (auto*& x : v.parts) x = shift(x, bases[0]);
  } else if (!bases.empty()) {
    std::vector<llvm::Value*> moved;
    for (unsigned p = 0; p < c.parts(); ++p)
      moved.push_back(shift(c.part(v, p).as(isa::bits_type(isa::bit_size(v.type))).v, bases[p]));
    return c.write_parts(c.operand(0), v.type, moved);
  }
  c.write(0, v);
}

template <>
void emit<Op::isspacep>(FunctionCompiler& c) {
  auto& ir = c.ir;
  WarpValue v = c.read(1);
  Space space = ptx::space_of(c.opcode().get(ModKind::space));
  std::vector<llvm::Value*> result;
  auto* i64 = ir.getInt64Ty();
  auto* shared = c.shared_base();
  auto* own = ir.CreateAdd(shared, ir.CreateZExt(c.rank_base(), i64));
  auto* ctas = ir.CreateZExt(c.cluster_size(), i64);
  auto local = c.local_base();
  auto* stride = c.splat(c.cta_field(offsetof(exec::CtaContext, local_stride), i64, "local_stride"));
  auto* parameters = c.launch_field(offsetof(exec::LaunchContext, parameters), i64, "parameters");
  for (unsigned p = 0; p < c.parts(); ++p) {
    Val a = c.part(v, p);
    auto* address = a.is_float() ? a.as(Type::b64).v : a.v;
    address = ir.CreateZExtOrTrunc(address, llvm::FixedVectorType::get(i64, c.lanes()));
    auto within = [&](llvm::Value* base, llvm::Value* bytes) {
      return ir.CreateICmpULT(ir.CreateSub(address, c.splat(base)), c.splat(bytes));
    };
    auto in_own = [&] { return within(own, ir.getInt64(exec::kSharedWindow)); };
    auto in_cluster = [&] { return within(shared, ir.CreateMul(ctas, ir.getInt64(exec::kSharedWindow))); };
    auto in_local = [&] { return ir.CreateICmpULT(ir.CreateSub(address, local[p]), stride); };
    auto in_parameters = [&] { return within(parameters, ir.getInt64(std::max(c.f.parameter_bytes, 1u))); };
    auto in_constant = [&] {
      llvm::Value* any = c.all_lanes(false)[p];
      for (ptx::VariableId id = 0; id < c.context.kernel.module.variables.size(); ++id) {
        const auto& variable = c.context.kernel.module.variables[id];
        if (variable.space != Space::const_ || variable.function != ptx::kNone) continue;
        any = ir.CreateOr(
            any, within(c.variable_address(id), ir.getInt64(std::max<std::uint64_t>(variable.size, 1))));
      }
      return any;
    };
    switch (space) {
      case Space::shared:
        result.push_back(c.opcode().has(Mod::shared_cluster) ? in_cluster() : in_own());
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
  c.write_parts(c.operand(0), Type::pred, result);
}

namespace {

/// Makes the result out of operands that are equal in all lanes, or vectors of each part.
/// @param make  from the sources' values
void compute(FunctionCompiler& c, Type type, const std::function<Val(std::span<const Val>)>& make) {
  std::vector<WarpValue> sources;
  for (unsigned k = 1; k < c.instruction->operand_count; ++k) sources.push_back(c.read(k));
  const bool uniform = std::ranges::all_of(sources, [](const WarpValue& v) { return v.shape.uniform(); });
  std::vector<llvm::Value*> results;
  for (unsigned p = 0; p < (uniform ? 1 : c.parts()); ++p) {
    std::vector<Val> values;
    for (const WarpValue& v : sources) values.push_back(uniform ? c.scalar_of_uniform(v) : c.part(v, p));
    results.push_back(make(values).as(type).v);
  }
  uniform ? c.write_uniform(c.operand(0), type, results[0]) : c.write_parts(c.operand(0), type, results);
}

/// A shared address out of an operand of mapa or getctarank, 32 bits.
Val shared_address(FunctionCompiler& c, Val a, llvm::Value* origin) {
  Val wide = a.to(Type::u64);
  auto* base = a.is_vector() ? c.splat(origin) : origin;
  return Val{&c.ir, c.ir.CreateSub(wide.v, base), Type::u64}.to(Type::u32);
}

/// Host address that shared addresses count from in operands of mapa and getctarank.
llvm::Value* origin_of(FunctionCompiler& c) {
  return c.opcode().has(Mod::shared_cluster) ? c.ir.getInt64(0) : c.shared_base();
}

}  // namespace

// As exec::map_to_rank().
template <>
void emit<Op::mapa>(FunctionCompiler& c) {
  auto* origin = origin_of(c);
  const Type type = c.opcode().type();
  compute(c, type, [&](std::span<const Val> s) {
    Val address = shared_address(c, s[0].as(type), origin), rank = s[1].as(Type::u32);
    rank = shl(min(rank, rank.like(0xff)), exec::kRankShift);
    Val mapped = (rank | (address & address.like(exec::kSharedWindow - 1))).to(Type::u64);
    auto* base = mapped.is_vector() ? c.splat(origin) : origin;
    return Val{&c.ir, c.ir.CreateAdd(mapped.v, base), Type::u64}.to(type);
  });
}

template <>
void emit<Op::getctarank>(FunctionCompiler& c) {
  auto* origin = origin_of(c);
  const Type type = c.opcode().type();
  compute(c, Type::u32, [&](std::span<const Val> s) {
    return shr(shared_address(c, s[0].as(type), origin), exec::kRankShift);
  });
}

}  // namespace raddle::jit
