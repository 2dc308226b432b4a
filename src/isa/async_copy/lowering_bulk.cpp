// JIT: bulk asynchronous copies. As a rule one thread of a warp asks, so the code is a loop over the lanes
// that execute; each fills in a request on the stack and hands it to the machine's tensor memory unit.
#include <array>

#include "base/assert.h"
#include "exec/bulk.h"
#include "isa/geometry.h"
#include "isa/op.h"
#include "jit/sends.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

using exec::BulkDirection;
using exec::BulkElement;
using exec::BulkKind;
using exec::BulkMode;
using exec::BulkReduction;
using exec::BulkRequest;

/// Gives each lane's value of an operand where the loop over lanes wants it.
class LaneOperand {
 public:
  LaneOperand(WarpEmitter& e, std::size_t offset, unsigned bits, const WarpValue& value)
      : e_(e), offset_(offset), bits_(bits), value_(e.lane_value(value)) {}
  void put(llvm::Value* request, llvm::Value* lane) const {
    auto* at = e_.ir.CreateConstInBoundsGEP1_64(e_.ir.getInt8Ty(), request, offset_);
    e_.ir.CreateStore(e_.ir.CreateZExtOrTrunc(value_[lane], e_.ir.getIntNTy(bits_)), at);
  }

 private:
  WarpEmitter& e_;
  std::size_t offset_;
  unsigned bits_;
  LaneValue value_;
};

/// A request of the instruction at hand, lane by lane.
class Request {
 public:
  explicit Request(WarpEmitter& e) : e_(e) {}

  /// The operand of that name, if the form has it.
  void add(std::string_view name, std::size_t offset, unsigned bits) {
    if (const auto k = find(name)) operands_.emplace_back(e_, offset, bits, e_.in(*k));
  }
  void add_elements(std::string_view name, std::size_t offset, unsigned bits) {
    const auto k = find(name);
    if (!k) return;
    for (const ptx::Operand& element : e_.elements(*k)) {
      operands_.emplace_back(e_, offset, bits, e_.registers.read(element));
      offset += bits / 8;
    }
  }
  void add_address(std::string_view name, std::size_t offset, Mod space) {
    if (const auto k = find(name))
      operands_.emplace_back(e_, offset, 64, e_.addresses.generic(e_.operand(*k), space));
  }
  bool has(std::string_view name) const { return find(name).has_value(); }

  void submit(BulkKind kind, Val lanes) {
    auto& ir = e_.ir;
    auto* request = e_.code.entry_alloca(llvm::ArrayType::get(ir.getInt8Ty(), sizeof(BulkRequest)), "request",
                                         alignof(BulkRequest));
    ir.CreateStore(ir.getInt32(kind.word()), request);
    e_.for_each_lane(lanes, [&](llvm::Value* lane) {
      for (const LaneOperand& operand : operands_) operand.put(request, lane);
      e_.context.call_service(exec::Service::bulk_copy, {lane, request});
    });
  }

 private:
  std::optional<unsigned> find(std::string_view name) const { return e_.opcode().form->operand(name); }

  WarpEmitter& e_;
  std::vector<LaneOperand> operands_;
};

constexpr Mod kReductions[] = {Mod::none, Mod::add,  Mod::min, Mod::max, Mod::inc,
                               Mod::dec,  Mod::and_, Mod::or_, Mod::xor_};
static_assert(kReductions[static_cast<unsigned>(BulkReduction::xor_)] == Mod::xor_);

BulkReduction reduction(WarpEmitter& e) {
  for (unsigned i = 1; i < std::size(kReductions); ++i)
    if (e.has(kReductions[i])) return static_cast<BulkReduction>(i);
  RADDLE_UNREACHABLE("a reduction without operation");
}

BulkElement element(Type type) {
  constexpr std::pair<Type, BulkElement> kElements[] = {
      {Type::b32, BulkElement::u32}, {Type::u32, BulkElement::u32},   {Type::s32, BulkElement::s32},
      {Type::b64, BulkElement::u64}, {Type::u64, BulkElement::u64},   {Type::s64, BulkElement::s64},
      {Type::f16, BulkElement::f16}, {Type::bf16, BulkElement::bf16}, {Type::f32, BulkElement::f32},
      {Type::f64, BulkElement::f64}};
  for (const auto& [of, made] : kElements)
    if (of == type) return made;
  RADDLE_UNREACHABLE("a type that no bulk reduction has");
}

/// What all forms share: addresses of shared memory, barrier, receivers.
void submit(WarpEmitter& e, Request& request, BulkKind kind) {
  e.addresses.note();
  const bool stores = kind.direction == BulkDirection::to_global;
  if (kind.direction != BulkDirection::to_cache)
    request.add_address(stores ? "a" : "d", offsetof(BulkRequest, shared), Mod::shared_cluster);
  request.add_address("mbar", offsetof(BulkRequest, barrier), Mod::shared_cluster);
  request.add("mask", offsetof(BulkRequest, receivers), 16);
  kind.multicast = request.has("mask");
  kind.own_memory = kind.direction == BulkDirection::to_shared && e.has(Mod::shared_cta);
  request.submit(kind, e.bits(e.executing()));
}

void linear(WarpEmitter& e, BulkKind kind) {
  e.if_any(e.bits(e.executing()), [&] {
    Request request(e);
    request.add("size", offsetof(BulkRequest, bytes), 32);
    switch (kind.direction) {
      case BulkDirection::shared_to_shared:
        request.add_address("a", offsetof(BulkRequest, source), Mod::shared);
        break;
      case BulkDirection::to_global:
        request.add_address("d", offsetof(BulkRequest, global), Mod::global);
        break;
      default:
        request.add_address("a", offsetof(BulkRequest, global), Mod::global);
    }
    submit(e, request, kind);
  });
}

void tensor(WarpEmitter& e, BulkKind kind) {
  kind.rank = static_cast<std::uint8_t>(isa::tensor_rank(e.opcode()));
  kind.mode = e.has(Mod::im2col) || e.has(Mod::im2col_no_offs) ? BulkMode::im2col : BulkMode::tile;
  e.if_any(e.bits(e.executing()), [&] {
    Request request(e);
    request.add_address("map", offsetof(BulkRequest, global), Mod::none);
    request.add_elements("c", offsetof(BulkRequest, coordinates), 32);
    request.add_elements("offsets", offsetof(BulkRequest, offsets), 16);
    submit(e, request, kind);
  });
}

BulkDirection direction(WarpEmitter& e) {
  if (e.has(Mod::bulk_group)) return BulkDirection::to_global;
  return e.has(Mod::global) ? BulkDirection::to_shared : BulkDirection::shared_to_shared;
}

}  // namespace

exec::BulkKind bulk_reduction(WarpEmitter& e) {
  return {.reduction = reduction(e), .element = element(e.type())};
}

template <>
void emit<Op::cp_async_bulk>(WarpEmitter& e) {
  linear(e, {.direction = direction(e)});
}
template <>
void emit<Op::cp_async_bulk_prefetch>(WarpEmitter& e) {
  linear(e, {.direction = BulkDirection::to_cache});
}
template <>
void emit<Op::cp_reduce_async_bulk>(WarpEmitter& e) {
  BulkKind kind = bulk_reduction(e);
  kind.direction = direction(e);
  linear(e, kind);
}
template <>
void emit<Op::cp_async_bulk_tensor>(WarpEmitter& e) {
  tensor(e, {.direction = direction(e)});
}
template <>
void emit<Op::cp_async_bulk_prefetch_tensor>(WarpEmitter& e) {
  tensor(e, {.direction = BulkDirection::to_cache});
}
template <>
void emit<Op::cp_reduce_async_bulk_tensor>(WarpEmitter& e) {
  tensor(e, {.direction = BulkDirection::to_global, .reduction = reduction(e)});
}

template <>
void emit<Op::cp_async_bulk_commit_group>(WarpEmitter& e) {
  const Val lanes = e.bits(e.executing());
  e.if_any(lanes, [&] { e.context.call_service(exec::Service::bulk_commit, {lanes.v}); });
}

template <>
void emit<Op::cp_async_bulk_wait_group>(WarpEmitter& e) {
  const Val lanes = e.bits(e.executing());
  e.if_any(lanes, [&] {
    auto* groups = e.registers.read_in_first(0, lanes.v);
    e.context.call_service(exec::Service::bulk_wait, {lanes.v, groups, e.ir.getInt32(e.has(Mod::read))});
  });
}

}  // namespace raddle::jit
