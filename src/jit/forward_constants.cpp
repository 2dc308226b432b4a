#include "jit/forward_constants.h"

#include <map>

#include "isa/op.h"
#include "ptx/cfg.h"

namespace raddle::jit {
namespace {

using ptx::Operand;

/// Walks a block; knows which registers hold constants there.
class ForwardedBlock {
 public:
  explicit ForwardedBlock(const ptx::Function& function) : function_(function) {}

  /// @returns the constant that the instruction's source is, if that is a register which holds one
  const Operand* step(const ptx::Instruction& instruction) {
    const Operand* forwarded = nullptr;
    const auto operands = function_.operands_of(instruction);
    const bool is_copy = instruction.op() == isa::Op::mov && operands[0].kind == Operand::Kind::reg &&
                         instruction.guard == ptx::kNone;
    const Operand* source = is_copy ? &operands[1] : nullptr;
    if (source && source->kind == Operand::Kind::reg && !source->negated) {
      const auto known = constants_.find(source->index);
      if (known != constants_.end() && isa::bit_size(known->second->type) == isa::bit_size(source->type))
        source = forwarded = known->second;
    }
    ptx::register_uses(function_, instruction, uses_);
    for (const ptx::RegisterId r : uses_.definitions) constants_.erase(r);
    if (source && source->kind == Operand::Kind::immediate) constants_[operands[0].index] = source;
    return forwarded;
  }

 private:
  const ptx::Function& function_;
  ptx::RegisterUses uses_;
  std::map<ptx::RegisterId, const Operand*> constants_;
};

}  // namespace

std::optional<ptx::Function> forward_constants(const ptx::Function& function) {
  std::optional<ptx::Function> changed;
  for (const ptx::Block& block : function.blocks) {
    ForwardedBlock walk(function);
    for (std::uint32_t n = block.begin; n < block.end; ++n) {
      const ptx::Instruction& instruction = function.instructions[n];
      const Operand* constant = walk.step(instruction);
      if (constant == nullptr) continue;
      if (!changed) changed = function;
      changed->operands[instruction.operands + 1] = *constant;
    }
  }
  return changed;
}

}  // namespace raddle::jit
