#include "jit/special_registers.h"

namespace raddle::jit {

using exec::LaunchContext;
using exec::WarpContext;

WarpValue SpecialRegisters::read(const ptx::Operand& o) {
  using Emit = WarpValue (*)(SpecialRegisters&, unsigned component);
  static constexpr Emit kEmits[] = {
#define PTX_SREG(id, ...) &special_register<isa::SpecialRegister::id>,
#include "isa/special_registers/registers.def"
#undef PTX_SREG
  };
  return kEmits[o.index](*this, o.component);
}

/// Computed once, in the entry block: divisions.
WarpValue SpecialRegisters::thread_coordinate(unsigned c) {
  if (c == 3) return WarpValue::uniform(Type::u32, ir.getInt32(0));
  auto* i32 = ir.getInt32Ty();
  const Shape whole_warp = c == 0 ? Shape::strided(1) : Shape::uniform_value();
  if (kernel.layout.layout == LaneLayout::one_row) {
    auto* row = context.warp_field(offsetof(WarpContext, warp_id), i32, "warpid");
    return {.shape = whole_warp,
            .type = Type::u32,
            .bases = {c == 1 ? row : ir.getInt32(0)},
            .ok = nullptr,
            .parts = {}};
  }
  Builder::InsertPointGuard back(ir);
  ir.SetInsertPoint(code.entry_end());
  auto* first = ir.CreateShl(context.warp_field(offsetof(WarpContext, warp_id), i32, "warpid"), 5);
  auto* nx = context.launch_field(offsetof(LaunchContext, ntid), i32, "ntid.x");
  auto* ny = context.launch_field(offsetof(LaunchContext, ntid) + 4, i32, "ntid.y");
  ir.SetInsertPoint(code.entry_end());
  auto coordinate = [&](llvm::Value* thread) -> llvm::Value* {
    if (c == 0) return ir.CreateURem(thread, nx);
    auto* row = ir.CreateUDiv(thread, nx);
    return c == 1 ? ir.CreateURem(row, ny) : ir.CreateUDiv(row, ny);
  };
  WarpValue value{.shape = whole_warp, .type = Type::u32, .bases = {}, .ok = nullptr, .parts = {}};
  switch (kernel.layout.layout) {
    case LaneLayout::one_dimension:
      value.bases = {c == 0 ? first : ir.getInt32(0)};
      break;
    case LaneLayout::one_row:
    case LaneLayout::whole_warps:
      value.bases = {coordinate(first)};
      break;
    case LaneLayout::whole_parts:
      value.shape = Shape::strided(c == 0 ? 1 : 0, true);
      value.bases = coordinates_by_part(c, first, nx, ny);
      break;
    case LaneLayout::general:
      value.shape = Shape::varying();
      for (unsigned p = 0; p < code.parts(); ++p)
        value.parts.push_back(coordinate_by_lane(c, p, first, nx, ny));
      break;
  }
  return value;
}

/// Of each part's first lane. Divisions for the first part only: a row is a whole number of parts.
std::vector<llvm::Value*> SpecialRegisters::coordinates_by_part(unsigned c, llvm::Value* first,
                                                                llvm::Value* nx, llvm::Value* ny) {
  auto* zero = ir.getInt32(0);
  auto next = [&](llvm::Value*& at, llvm::Value* step, llvm::Value* end) {
    auto* moved = ir.CreateAdd(at, step);
    auto* wraps = ir.CreateICmpEQ(moved, end);
    at = ir.CreateSelect(wraps, zero, moved);
    return ir.CreateZExt(wraps, ir.getInt32Ty());
  };
  llvm::Value *x = ir.CreateURem(first, nx), *row = c > 0 ? ir.CreateUDiv(first, nx) : nullptr;
  llvm::Value *y = c > 0 ? ir.CreateURem(row, ny) : nullptr, *z = c > 1 ? ir.CreateUDiv(row, ny) : nullptr;
  std::vector<llvm::Value*> bases;
  for (unsigned p = 0; p < code.parts(); ++p) {
    if (p > 0) {
      auto* rows = next(x, ir.getInt32(code.lanes()), nx);
      auto* planes = c > 0 ? next(y, rows, ny) : nullptr;
      if (c > 1) z = ir.CreateAdd(z, planes);
    }
    bases.push_back(c == 0 ? x : c == 1 ? y : z);
  }
  return bases;
}

/// Thread and dimensions are at most 1,024: (t + 0.5) / n in single precision has the exact integer part.
llvm::Value* SpecialRegisters::coordinate_by_lane(unsigned c, unsigned p, llvm::Value* first, llvm::Value* nx,
                                                  llvm::Value* ny) {
  auto* type = code.vector_of(ir.getFloatTy());
  auto divide = [&](llvm::Value* a, llvm::Value* n) {
    auto* quotient = ir.CreateFDiv(ir.CreateFAdd(ir.CreateUIToFP(a, type), llvm::ConstantFP::get(type, 0.5)),
                                   code.splat(ir.CreateUIToFP(n, ir.getFloatTy())));
    return ir.CreateFPToUI(quotient, a->getType());
  };
  auto* thread = ir.CreateAdd(code.splat(first), code.lane_numbers(32, p));
  auto* row = divide(thread, nx);
  auto* plane = divide(row, ny);
  if (c == 0) return ir.CreateSub(thread, ir.CreateMul(row, code.splat(nx)));
  return c == 1 ? ir.CreateSub(row, ir.CreateMul(plane, code.splat(ny))) : plane;
}

}  // namespace raddle::jit
