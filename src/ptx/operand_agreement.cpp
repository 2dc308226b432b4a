#include "ptx/operand_agreement.h"

#include <algorithm>

#include "ptx/operands.h"

namespace raddle::ptx {
namespace {

using Kind = Operand::Kind;

/// If only a part of a destination is written, the last, optional operand gives the rest.
bool merges_fully(Parser& parser, const OpcodePlan& plan, const Instruction& instruction) {
  const Function& function = parser.function();
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    const OperandPlan& slot = plan.operands[i];
    if (!slot.spec->is_destination || slot.spec->selector != isa::SelectorKind::part) continue;
    const bool writes_part = function.operands[instruction.operands + i].selector != 0;
    const auto last = function.operands[instruction.operands + plan.operands.size() - 1].kind;
    if (writes_part && (last == Kind::none || !plan.operands.back().optional))
      return parser.in.error(
          parser.operands[0].at,
          "'{}' writes a part of its destination only together with the operand that the rest comes "
          "from; the form is: {}",
          plan.text, plan.opcode->form->text);
  }
  return true;
}

/// In independent mode textures have no sampler in them.
bool names_sampler(Parser& parser, const OpcodePlan& plan, const Instruction& instruction) {
  if (!parser.module.independent_samplers) return true;
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    const bool lacks = parser.function().operands[instruction.operands + i].kind == Kind::none;
    if (plan.operands[i].spec->kind == isa::OperandKind::sampler && lacks)
      return parser.in.error({instruction.line, instruction.column},
                             "'{}' needs a sampler, since the module's target is texmode_independent; the "
                             "form is: {}",
                             plan.text, plan.opcode->form->text);
  }
  return true;
}

/// Optional operands about a matrix in memory stand where its description does, and not where its fragment
/// does.
bool describes_memory(Parser& parser, const OpcodePlan& plan, const Instruction& instruction) {
  const Function& function = parser.function();
  const auto& slots = plan.operands;
  const auto matrix =
      std::ranges::find_if(slots, [](const OperandPlan& slot) { return slot.spec->may_be_fragment; });
  if (matrix == slots.end()) return true;
  const auto kind_of = [&](std::size_t i) { return function.operands[instruction.operands + i].kind; };
  const bool in_memory = kind_of(static_cast<std::size_t>(matrix - slots.begin())) != Kind::vector;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].optional && (kind_of(i) != Kind::none) != in_memory)
      return parser.in.error({instruction.line, instruction.column},
                             "'{}' takes '{}' if '{}' is a descriptor, and only then; the form is: {}",
                             plan.text, slots[i].spec->name, matrix->spec->name, plan.opcode->form->text);
  return true;
}

}  // namespace

bool operands_agree(Parser& parser, const OpcodePlan& plan, const Instruction& instruction) {
  return merges_fully(parser, plan, instruction) && describes_memory(parser, plan, instruction) &&
         names_sampler(parser, plan, instruction);
}

}  // namespace raddle::ptx
