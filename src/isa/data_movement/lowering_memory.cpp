// JIT: loads, stores, cache hints, address-space conversion. How an access is made is jit/memory.cpp's.
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
/// What cvta adds to an address of the space to make it generic, as vectors; null where they are the same.
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
}  // namespace

template <>
void emit<Op::cvta>(FunctionCompiler& c) {
  WarpValue v = c.read(1);
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
    auto in_shared = [&] { return within(shared, ir.getInt64(exec::kSharedWindow)); };
    auto in_local = [&] { return ir.CreateICmpULT(ir.CreateSub(address, local[p]), stride); };
    auto in_parameters = [&] { return within(parameters, ir.getInt64(std::max(c.f.parameter_bytes, 1u))); };
    auto in_constant = [&] {
      llvm::Value* any = c.all_lanes(false)[p];
      for (ptx::VariableId id = 0; id < c.context.module.variables.size(); ++id) {
        const auto& variable = c.context.module.variables[id];
        if (variable.space != Space::const_ || variable.function != ptx::kNone) continue;
        any = ir.CreateOr(
            any, within(c.variable_address(id), ir.getInt64(std::max<std::uint64_t>(variable.size, 1))));
      }
      return any;
    };
    switch (space) {
      case Space::shared:
        result.push_back(in_shared());
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
            ir.CreateOr(ir.CreateOr(in_shared(), in_local()), ir.CreateOr(in_parameters(), in_constant()));
        result.push_back(ir.CreateNot(elsewhere));
      }
    }
  }
  c.write_parts(c.operand(0), Type::pred, result);
}

}  // namespace raddle::jit
