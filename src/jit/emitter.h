// What the lowering of an instruction of one lane sees: its operands as values, its result. LaneLowering
// loops over the parts of the warp, and Registers keeps masks and blends inactive lanes: such a lowering
// computes unmasked values for one part and must not trap on garbage lanes (guard divisions). Lowerings of
// instructions that concern the whole warp see a WarpEmitter (warp_emitter.h).
#pragma once

#include <vector>

#include "jit/value.h"
#include "ptx/module.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using isa::Op;

/// One Scope::lane instruction for one part (vector) or, when every source is uniform, once as scalars.
class Emitter {
 public:
  Emitter(Builder& builder, const ptx::Function& function, const ptx::Instruction& instruction)
      : ir(builder), function_(function), instruction_(instruction) {}

  Builder& ir;
  const isa::Opcode& opcode() const { return *instruction_.opcode; }
  bool has(Mod m) const { return opcode().has(m); }
  Mod get(ModKind k) const { return opcode().get(k); }
  Type type(unsigned i = 0) const { return opcode().type(i); }
  unsigned operand_count() const { return instruction_.operand_count; }
  bool present(unsigned k) const;  ///< optional operand given
  const ptx::Operand& operand(unsigned k) const { return function_.operands_of(instruction_)[k]; }

  /// Source operand k (position in the form, destinations counted) at the type the row gives it.
  Val in(unsigned k) const { return inputs[k]; }
  /// The same, seen as another type of the same size (f32 for a .b32 register), or truncated/extended
  /// integers.
  Val in(unsigned k, Type t) const { return inputs[k].as(t); }
  /// Elements of a vector source operand {a, b, ...}.
  const std::vector<Val>& in_elements(unsigned k) const { return input_elements[k]; }

  /// Sets destination k; must have the size of the destination operand. Sinks `_` are accepted.
  void out(unsigned k, Val value) { outputs[k] = value; }
  void out(Val value) { out(0, value); }
  void out_elements(unsigned k, std::vector<Val> values) { output_elements[k] = std::move(values); }
  bool wants(unsigned k) const;  ///< destination k is given and no sink

  /// The carry flag of add.cc and friends as a pred (reads 0 before the first write).
  Val carry_in() const { return carry; }
  void carry_out(Val value) {
    carry = value;
    carry_written = true;
  }

  // Filled and read by LaneLowering.
  std::vector<Val> inputs, outputs;
  std::vector<std::vector<Val>> input_elements, output_elements;
  Val carry;
  bool carry_written = false;

 private:
  const ptx::Function& function_;
  const ptx::Instruction& instruction_;
};

/// lower<Op>: declared for every row of Scope::lane without control or memory effects. A missing one is a
/// link error that names the op. Other rows have an emit<Op> (warp_emitter.h).
template <Op>
void lower(Emitter& e) = delete;

using LowerFunction = void (*)(Emitter&);
/// Null where the row is unsupported or not a plain lane operation.
LowerFunction lowering_of(Op op);

}  // namespace raddle::jit
