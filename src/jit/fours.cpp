// How far each four lanes lie apart within, where the distance from four to four need not be known: rows of
// matrices whose pitch is a parameter (docs/adr/0120).
#include <optional>
#include <vector>

#include "jit/function_plan.h"
#include "jit/shape_operations.h"

namespace raddle::jit {

using isa::Affine;
using isa::Mod;
using ptx::Operand;

std::optional<std::int64_t> Shape::step_in_fours() const {
  if (!scalar()) return in_fours;
  const std::int64_t step = offset(1) - offset(0);
  if (pattern)
    for (unsigned l = 0; l < exec::kWarpSize; ++l)
      if ((*pattern)[l] - (*pattern)[l - l % 4] != step * (l % 4)) return {};
  return step;
}

/// Of the lanes' results, whose addresses may lie in rows of four at distances that only the launch knows.
std::optional<std::int64_t> FunctionPlan::step_in_fours(const ptx::Instruction& i) const {
  constexpr std::int64_t kFar = 1 << 20;
  const isa::Opcode& opcode = *i.opcode;
  const auto operands = function.operands_of(i);
  bool are_alike = true;
  std::vector<std::optional<std::int64_t>> steps(operands.size());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (opcode.row->operands[k].is_destination || operands[k].kind == Operand::Kind::none) continue;
    steps[k] = operand_shape(operands[k]).step_in_fours();
    are_alike = are_alike && steps[k] == 0;
  }
  if (are_alike) return 0;
  const Operand& d = operands[0];
  if (d.kind != Operand::Kind::reg || !is_address_width(d.type) || opcode.has(Mod::sat)) return {};
  std::optional<std::int64_t> step;
  switch (opcode.row->text->affine) {
    case Affine::move:
      if (operands.size() == 2 && operands[1].type == d.type) step = steps[1];
      break;
    case Affine::add:
      if (steps[1] && steps[2]) step = *steps[1] + *steps[2];
      break;
    case Affine::subtract:
      if (steps[1] && steps[2]) step = *steps[1] - *steps[2];
      break;
    case Affine::convert: {  // of lanes in one block of numbers, which none leaves by wrapping
      const Shape from = operand_shape(operands[1]);
      const bool is_integer =
          opcode.type_count == 2 && !isa::is_float(opcode.type(0)) && !isa::is_float(opcode.type(1));
      if (is_integer && isa::bit_size(opcode.type(0)) == isa::bit_size(d.type) &&
          isa::bit_size(opcode.type(1)) == 32 && from.scalar() && is_block(from, from.low.count))
        step = steps[1];
      break;
    }
    default:
      break;
  }
  if (step && (*step > kFar || *step < -kFar)) step.reset();
  return step;
}

}  // namespace raddle::jit
