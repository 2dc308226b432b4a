// JIT: what kernels do to tensor maps, lane by lane.
#include "exec/tensor_map.h"
#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

constexpr std::pair<Mod, exec::TensorMapField> kFields[] = {
    {Mod::global_address, exec::TensorMapField::global_address},
    {Mod::rank, exec::TensorMapField::rank},
    {Mod::box_dim, exec::TensorMapField::box_dim},
    {Mod::global_dim, exec::TensorMapField::global_dim},
    {Mod::global_stride, exec::TensorMapField::global_stride},
    {Mod::element_stride, exec::TensorMapField::element_stride},
    {Mod::elemtype, exec::TensorMapField::elemtype},
    {Mod::interleave_layout, exec::TensorMapField::interleave_layout},
    {Mod::swizzle_mode, exec::TensorMapField::swizzle_mode},
    {Mod::fill_mode, exec::TensorMapField::fill_mode},
};

/// The part of a 64-bit value that the place keeps.
llvm::Value* kept(Builder& ir, const exec::TensorMapPlace& place, llvm::Value* value) {
  auto* field = ir.getIntNTy(8 * place.bytes);
  if (place.less_one) value = ir.CreateSub(value, ir.getInt64(1));
  if (place.bytes < 8)
    value = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value,
                                     ir.getInt64(~std::uint64_t{0} >> (64 - 8 * place.bytes)));
  return ir.CreateTrunc(value, field);
}

}  // namespace

template <>
void emit<Op::tensormap_replace>(WarpEmitter& e) {
  auto& ir = e.ir;
  const unsigned last = e.operand_count() - 1;
  exec::TensorMapField field{};
  for (const auto& [mod, named] : kFields)
    if (e.has(mod)) field = named;
  const auto dimension = last == 2 ? static_cast<std::uint32_t>(e.operand(1).value) : 0;
  const exec::TensorMapPlace place = exec::place_of(field, dimension);
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const LaneArray addresses = e.spill(e.addresses.begin(e.operand(0)).address);
  WarpValue value = e.in(last);
  if (field == exec::TensorMapField::elemtype)  // a constant
    value = WarpValue::uniform(
        Type::u32, ir.getInt32(exec::element_of_ptx(static_cast<std::uint64_t>(e.operand(last).value))));
  const LaneArray values = e.spill(value);
  e.loops.for_each_marked(e.bits(e.executing()).v, [&](llvm::Value* lane) {
    auto* map = e.code.pointer(addresses[lane]);
    const llvm::Align align(8);
    auto* magic = ir.CreateAlignedLoad(ir.getInt64Ty(), map, align);
    auto* is_zero = ir.CreateICmpEQ(magic, ir.getInt64(0));
    ir.CreateAlignedStore(ir.CreateSelect(is_zero, ir.getInt64(exec::kTensorMapMagic), magic), map, align);
    if (place.bytes == 0) return;
    auto* wide = ir.CreateZExt(values[lane], ir.getInt64Ty());
    ir.CreateAlignedStore(kept(ir, place, wide), ir.CreateConstGEP1_32(ir.getInt8Ty(), map, place.offset),
                          llvm::Align(1));
  });
}

template <>
void emit<Op::tensormap_cp_fenceproxy>(WarpEmitter& e) {
  auto& ir = e.ir;
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const auto bytes = static_cast<std::uint32_t>(exec::kTensorMapBytes);
  const LaneArray from = e.spill(e.addresses.begin(e.operand(1), Mod::shared_cta, bytes).address);
  const LaneArray to = e.spill(e.addresses.begin(e.operand(0), Mod::global, bytes).address);
  auto* whole = llvm::FixedVectorType::get(ir.getInt64Ty(), bytes / 8);
  // A misaligned address traps by its upper bits, and is found again only where an access begins at it; that
  // of the whole map may be made in pieces, in any order.
  const auto place_of = [&](const LaneArray& addresses, llvm::Value* lane) {
    auto* place = e.code.pointer(addresses[lane]);
    ir.CreateAlignedLoad(ir.getInt64Ty(), place, llvm::Align(8), /*isVolatile=*/true);
    return place;
  };
  e.loops.for_each_marked(e.bits(e.executing()).v, [&](llvm::Value* lane) {
    auto* source = place_of(from, lane);
    auto* target = place_of(to, lane);
    auto* map = ir.CreateAlignedLoad(whole, source, llvm::Align(8));
    ir.CreateAlignedStore(map, target, llvm::Align(8));
  });
  ir.CreateFence(llvm::AtomicOrdering::Release);
}

}  // namespace raddle::jit
