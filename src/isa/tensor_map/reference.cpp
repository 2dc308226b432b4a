// Reference semantics of what kernels do to tensor maps. Source: PTX ISA "tensormap.replace",
// "tensormap.cp_fenceproxy".
#include "interp/reference.h"

#include <cstring>

#include "exec/tensor_map.h"
#include "interp/lane.h"
#include "interp/warp.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

exec::TensorMapField field_of(const isa::Opcode& opcode) {
  using Field = exec::TensorMapField;
  if (opcode.has(Mod::global_address)) return Field::global_address;
  if (opcode.has(Mod::rank)) return Field::rank;
  if (opcode.has(Mod::box_dim)) return Field::box_dim;
  if (opcode.has(Mod::global_dim)) return Field::global_dim;
  if (opcode.has(Mod::global_stride)) return Field::global_stride;
  if (opcode.has(Mod::element_stride)) return Field::element_stride;
  if (opcode.has(Mod::elemtype)) return Field::elemtype;
  if (opcode.has(Mod::interleave_layout)) return Field::interleave_layout;
  return opcode.has(Mod::swizzle_mode) ? Field::swizzle_mode : Field::fill_mode;
}

}  // namespace

template <>
void reference<Op::tensormap_replace>(Lane& lane, const Instruction& i) {
  const unsigned last = i.operand_count - 1;
  std::byte* map = lane.access(0, exec::kTensorMapBytes);
  const auto dimension = last == 2 ? lane.in<std::uint32_t>(1) : 0;
  const bool is_wide = isa::bit_size(i.opcode->type(1)) == 64;
  const std::uint64_t value = is_wide ? lane.in<std::uint64_t>(last) : lane.in<std::uint32_t>(last);
  lane.touch([&] { exec::replace(map, field_of(*i.opcode), dimension, value); });
}

template <>
void reference_warp<Op::tensormap_cp_fenceproxy>(WarpStep& warp, const Instruction&) {
  warp.each([](Lane& lane) {
    const std::byte* from = lane.access(1, exec::kTensorMapBytes, Mod::shared_cta);
    std::byte* to = lane.access(0, exec::kTensorMapBytes, Mod::global);
    lane.touch([&] { std::memcpy(to, from, exec::kTensorMapBytes); });
  });
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

}  // namespace raddle::interp
