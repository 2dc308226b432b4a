#include "jit/special_registers.h"

#include <bit>

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

/// A number of threads or rows of a CTA divided by ntid's x (axis 0) or y.
SpecialRegisters::Divided SpecialRegisters::divide(llvm::Value* number, unsigned axis) {
  constexpr unsigned kLimit = exec::kMaxWarps * exec::kWarpSize;
  static_assert(std::has_single_bit(kLimit));
  auto* extent = context.launch_field(offsetof(LaunchContext, ntid) + 4 * axis, ir.getInt32Ty(), "ntid");
  auto* inverse =
      context.launch_field(offsetof(LaunchContext, ntid_inverse) + 8 * axis, ir.getInt64Ty(), "inverse");
  ir.SetInsertPoint(code.entry_end());
  auto* product = ir.CreateMul(ir.CreateZExt(number, ir.getInt64Ty()), inverse);
  auto* quotient = ir.CreateTrunc(ir.CreateLShr(product, 32), ir.getInt32Ty());
  // What the mask says is true; LLVM could not know.
  auto below_limit = [&](llvm::Value* value) { return ir.CreateAnd(value, kLimit - 1); };
  return {below_limit(quotient), below_limit(ir.CreateSub(number, ir.CreateMul(quotient, extent)))};
}

/// Computed once, in the entry block.
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
  if (kernel.layout.layout == LaneLayout::short_rows) return coordinate_in_short_rows(c);
  Builder::InsertPointGuard back(ir);
  ir.SetInsertPoint(code.entry_end());
  auto* first = ir.CreateShl(context.warp_field(offsetof(WarpContext, warp_id), i32, "warpid"), 5);
  auto* nx = context.launch_field(offsetof(LaunchContext, ntid), i32, "ntid.x");
  auto* ny = context.launch_field(offsetof(LaunchContext, ntid) + 4, i32, "ntid.y");
  ir.SetInsertPoint(code.entry_end());
  auto coordinate = [&]() -> llvm::Value* {
    const Divided by_x = divide(first, 0);
    if (c == 0) return by_x.rest;
    const Divided by_y = divide(by_x.quotient, 1);
    return c == 1 ? by_y.rest : by_y.quotient;
  };
  WarpValue value{.shape = whole_warp, .type = Type::u32, .bases = {}, .ok = nullptr, .parts = {}};
  switch (kernel.layout.layout) {
    case LaneLayout::one_dimension:
      value.bases = {c == 0 ? first : ir.getInt32(0)};
      break;
    case LaneLayout::one_row:
    case LaneLayout::short_rows:
    case LaneLayout::whole_warps:
      value.bases = {coordinate()};
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

/// Columns follow from the lane alone, and so do rows from the warp's first.
WarpValue SpecialRegisters::coordinate_in_short_rows(unsigned c) {
  WarpValue value = WarpValue::uniform(Type::u32, ir.getInt32(0));
  value.shape = shape_in_short_rows(kernel.layout.row, c);
  if (c != 1) return value;
  const unsigned row = kernel.layout.row;
  auto* warp = context.warp_field(offsetof(WarpContext, warp_id), ir.getInt32Ty(), "warpid");
  Builder::InsertPointGuard back(ir);
  ir.SetInsertPoint(code.entry_end());
  auto* first = ir.CreateMul(warp, ir.getInt32(exec::kWarpSize / row));
  value.bases.clear();
  for (unsigned p = 0; p < code.parts(); ++p)
    value.bases.push_back(ir.CreateAdd(first, ir.getInt32(p * code.lanes() / row)));
  return value;
}

/// Of each part's first lane, divided for the first part only: a row is a whole number of parts.
std::vector<llvm::Value*> SpecialRegisters::coordinates_by_part(unsigned c, llvm::Value* first,
                                                                llvm::Value* nx, llvm::Value* ny) {
  auto* zero = ir.getInt32(0);
  auto next = [&](llvm::Value*& at, llvm::Value* step, llvm::Value* end) {
    auto* moved = ir.CreateAdd(at, step);
    auto* wraps = ir.CreateICmpEQ(moved, end);
    at = ir.CreateSelect(wraps, zero, moved);
    return ir.CreateZExt(wraps, ir.getInt32Ty());
  };
  const Divided by_x = divide(first, 0);
  const Divided by_y = c > 0 ? divide(by_x.quotient, 1) : Divided{};
  llvm::Value *x = by_x.rest, *y = by_y.rest, *z = by_y.quotient;
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
