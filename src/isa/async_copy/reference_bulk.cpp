// Reference semantics of bulk asynchronous copies: each lane's operands become a request to the SM's tensor
// memory unit (exec/bulk.h).
#include "exec/bulk.h"
#include "interp/lane.h"
#include "interp/reference.h"
#include "interp/sends.h"
#include "interp/warp.h"
#include "isa/geometry.h"

namespace raddle::interp {

using exec::BulkDirection;
using exec::BulkElement;
using exec::BulkKind;
using exec::BulkMode;
using exec::BulkReduction;
using exec::BulkRequest;
using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;
using ptx::Space;

namespace {

bool has(const Instruction& i, std::string_view name) { return i.opcode->form->operand(name).has_value(); }
/// The number of an operand that the form has.
unsigned position(const Instruction& i, std::string_view name) { return *i.opcode->form->operand(name); }

std::uint64_t address(const Lane& lane, const Instruction& i, std::string_view name, Space space) {
  return lane.generic_address(position(i, name), space);
}

BulkDirection direction_of(const isa::Opcode& o) {
  if (o.has(Mod::prefetch)) return BulkDirection::to_cache;
  if (o.has(Mod::bulk_group)) return BulkDirection::to_global;
  return o.has(Mod::global) ? BulkDirection::to_shared : BulkDirection::shared_to_shared;
}

BulkReduction reduction_of(const isa::Opcode& o) {
  static constexpr std::pair<Mod, BulkReduction> kReductions[] = {
      {Mod::add, BulkReduction::add}, {Mod::min, BulkReduction::min},  {Mod::max, BulkReduction::max},
      {Mod::inc, BulkReduction::inc}, {Mod::dec, BulkReduction::dec},  {Mod::and_, BulkReduction::and_},
      {Mod::or_, BulkReduction::or_}, {Mod::xor_, BulkReduction::xor_}};
  for (const auto& [mod, reduction] : kReductions)
    if (o.has(mod)) return reduction;
  return BulkReduction::none;
}

BulkElement element_of(Type type) {
  switch (type) {
    case Type::s32:
      return BulkElement::s32;
    case Type::b64:
    case Type::u64:
      return BulkElement::u64;
    case Type::s64:
      return BulkElement::s64;
    case Type::f16:
      return BulkElement::f16;
    case Type::bf16:
      return BulkElement::bf16;
    case Type::f32:
      return BulkElement::f32;
    case Type::f64:
      return BulkElement::f64;
    default:
      return BulkElement::u32;
  }
}

}  // namespace

BulkKind bulk_reduction(const isa::Opcode& o) {
  return {.reduction = reduction_of(o), .element = element_of(o.type())};
}

namespace {

BulkKind kind_of(const Instruction& i) {
  const isa::Opcode& o = *i.opcode;
  BulkKind kind = o.text.starts_with("cp.reduce") ? bulk_reduction(o) : BulkKind{};
  kind.direction = direction_of(o);
  kind.multicast = o.has(Mod::multicast_cluster);
  kind.own_memory = kind.direction == BulkDirection::to_shared && o.has(Mod::shared_cta);
  if (!has(i, "map")) return kind;
  kind.rank = static_cast<std::uint8_t>(isa::tensor_rank(o));
  kind.mode = o.has(Mod::im2col) || o.has(Mod::im2col_no_offs) ? BulkMode::im2col : BulkMode::tile;
  return kind;
}

void read_tensor(Lane& lane, const Instruction& i, BulkRequest& request) {
  request.global = address(lane, i, "map", Space::generic);
  const unsigned c = position(i, "c");
  for (unsigned d = 0; d < lane.count(c); ++d)
    request.coordinates[d] = lane.value<std::int32_t>(lane.element(c, d));
  if (!has(i, "offsets")) return;
  const unsigned offsets = position(i, "offsets");
  for (unsigned d = 0; d < lane.count(offsets); ++d)
    request.offsets[d] = lane.value<std::uint16_t>(lane.element(offsets, d));
}

void read_linear(Lane& lane, const Instruction& i, BulkDirection direction, BulkRequest& request) {
  request.bytes = lane.in<std::uint32_t>(position(i, "size"));
  if (direction == BulkDirection::shared_to_shared)
    request.source = address(lane, i, "a", Space::shared);
  else
    request.global = address(lane, i, direction == BulkDirection::to_global ? "d" : "a", Space::global);
}

void copy(Lane& lane, const Instruction& i) {
  const BulkKind kind = kind_of(i);
  BulkRequest request{.kind = kind.word()};
  if (kind.mode == BulkMode::linear)
    read_linear(lane, i, kind.direction, request);
  else
    read_tensor(lane, i, request);
  if (kind.direction != BulkDirection::to_cache)
    request.shared = address(lane, i, kind.direction == BulkDirection::to_global ? "a" : "d", Space::shared);
  if (has(i, "mbar")) request.barrier = address(lane, i, "mbar", Space::shared);
  if (kind.multicast) request.receivers = lane.in<std::uint16_t>(position(i, "mask"));
  lane.note_access(request.global);
  lane.services().bulk_copy(&lane.context(), lane.index(), &request);
}

void copy_each(WarpStep& step, const Instruction& i) {
  step.each([&](Lane& lane) { copy(lane, i); });
}

}  // namespace

template <>
void reference_warp<Op::cp_async_bulk>(WarpStep& step, const Instruction& i) {
  copy_each(step, i);
}
template <>
void reference_warp<Op::cp_async_bulk_prefetch>(WarpStep& step, const Instruction& i) {
  copy_each(step, i);
}
template <>
void reference_warp<Op::cp_async_bulk_tensor>(WarpStep& step, const Instruction& i) {
  copy_each(step, i);
}
template <>
void reference_warp<Op::cp_async_bulk_prefetch_tensor>(WarpStep& step, const Instruction& i) {
  copy_each(step, i);
}
template <>
void reference_warp<Op::cp_reduce_async_bulk>(WarpStep& step, const Instruction& i) {
  copy_each(step, i);
}
template <>
void reference_warp<Op::cp_reduce_async_bulk_tensor>(WarpStep& step, const Instruction& i) {
  copy_each(step, i);
}

template <>
void reference_warp<Op::cp_async_bulk_commit_group>(WarpStep& step, const Instruction&) {
  step.context().cta->services->bulk_commit(&step.context(), step.lanes());
}

template <>
void reference_warp<Op::cp_async_bulk_wait_group>(WarpStep& step, const Instruction& i) {
  step.each([&](Lane& lane) {
    lane.services().bulk_wait(&lane.context(), 1u << lane.index(), lane.in<std::uint32_t>(0),
                              i.opcode->has(Mod::read));
  });
}

}  // namespace raddle::interp
