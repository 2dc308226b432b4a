// Reference semantics of the dynamic stack. Pointers are addresses in local memory.
#include "interp/reference.h"

#include <algorithm>

#include "interp/lane.h"
#include "interp/types.h"

namespace raddle::interp {

using isa::Op;
using ptx::Instruction;

namespace {

void put(Lane& lane, const Instruction& i, std::uint64_t pointer) {
  with_integer(i.opcode->type(),
               [&](auto tag) { lane.out<decltype(tag)>(0, static_cast<decltype(tag)>(pointer)); });
}

std::uint64_t get(Lane& lane, const Instruction& i, unsigned k) {
  return with_integer(i.opcode->type(), [&](auto tag) -> std::uint64_t { return lane.in<decltype(tag)>(k); });
}

}  // namespace

template <>
void reference<Op::stacksave>(Lane& lane, const Instruction& i) {
  put(lane, i, lane.stack_pointer());
}

template <>
void reference<Op::stackrestore>(Lane& lane, const Instruction& i) {
  lane.set_stack_pointer(get(lane, i, 0));
}

/// The alignment is that of the generic address, at least 8.
template <>
void reference<Op::alloca>(Lane& lane, const Instruction& i) {
  std::uint64_t size = get(lane, i, 1), pointer = lane.stack_pointer();
  std::uint64_t align = std::max<std::uint64_t>(lane.has(2) ? lane.in<std::uint32_t>(2) : 0, 8);
  std::uint64_t base = lane.to_generic(ptx::Space::local, 0);
  std::uint64_t padding = size <= pointer ? (base + pointer - size) % align : 0;
  if (size > pointer || padding > pointer - size) lane.fault(exec::FaultKind::stack_overflow);
  lane.set_stack_pointer(pointer - size - padding);
  put(lane, i, lane.stack_pointer());
}

}  // namespace raddle::interp
