#include "exec/access.h"

#include <algorithm>

namespace raddle::exec {
namespace {

AccessKind kind_of(const isa::Opcode& opcode) {
  using isa::Effects;
  if (!opcode.is(Effects::writes)) return AccessKind::load;
  if (!opcode.is(Effects::reads)) return AccessKind::store;
  const auto& operands = opcode.row->operands;
  return operands.front().is_destination ? AccessKind::atomic : AccessKind::reduction;
}

}  // namespace

Access access_of(const ptx::Instruction& instruction) {
  const isa::Opcode& opcode = *instruction.opcode;
  const bool has_handle = std::ranges::any_of(
      opcode.row->operands, [](const auto& o) { return o.kind == isa::OperandKind::handle; });
  return {.kind = kind_of(opcode),
          .space = has_handle ? ptx::Space::tex : ptx::space_of(opcode.get(isa::ModKind::space)),
          .bytes = isa::byte_size(opcode.type()) * opcode.vector_length(),
          .instruction = &instruction};
}

Access access_of(const ptx::Instruction& instruction, AccessKind kind, isa::Mod space, std::uint32_t bytes) {
  return {.kind = kind, .space = ptx::space_of(space), .bytes = bytes, .instruction = &instruction};
}

}  // namespace raddle::exec
