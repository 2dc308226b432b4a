// Opcode text -> the parser's view of its row; one isa::resolve per spelling and module.
#include "ptx/opcode_plan.h"

#include "base/assert.h"
#include "isa/geometry.h"

namespace raddle::ptx {
namespace {

const isa::OperandSpec* find_spec(const isa::Row& row, std::string_view name) {
  for (const isa::OperandSpec& spec : row.operands)
    if (spec.name == name) return &spec;
  return nullptr;
}

void plan_operands(OpcodePlan& plan) {
  const Opcode& opcode = *plan.opcode;
  for (const isa::OperandSlot& slot : opcode.form->operands) {
    OperandPlan operand;
    operand.spec = find_spec(*opcode.row, slot.name);
    RADDLE_ASSERT(operand.spec != nullptr, "a form names an operand that its row does not describe");
    operand.type = opcode.operand_type(*operand.spec);
    operand.elements = operand.spec->vector ? opcode.vector_length() : 1;
    operand.optional = slot.optional;
    operand.joined = slot.joined;
    operand.bracketed = slot.bracketed;
    if (operand.spec->geometric != isa::GeometricKind::none)
      operand.elements = isa::element_count(*operand.spec, opcode);
    plan.is_call |= operand.spec->kind == isa::OperandKind::call;
    if (!slot.optional && !slot.joined) ++plan.required_groups;
    plan.operands.push_back(operand);
  }
  plan.ends_block = opcode.is(isa::Effects::control) && !plan.is_call;
}

OpcodePlan make_plan(std::string_view text) {
  OpcodePlan plan;
  auto resolved = isa::resolve(text);
  if (!resolved) {
    plan.reason = resolved.error().message;
    plan.unknown = true;
    return plan;
  }
  plan.opcode = *resolved;
  const isa::RowText& row = *plan.opcode->row->text;
  plan.supported = row.status != isa::Status::unsupported;
  if (plan.supported)
    plan_operands(plan);
  else
    plan.reason = row.note;
  return plan;
}

}  // namespace

const OpcodePlan& plan_of(Parser& parser, std::string_view opcode) {
  NameId id = parser.opcode_names.find(opcode);
  if (id == NameTable::kNoName) {
    id = parser.opcode_names.intern(parser.opcode_names.keep(std::string(opcode)));
    parser.plans.push_back(make_plan(opcode));
    parser.plans.back().text = parser.opcode_names.text(id);
  }
  return parser.plans[id];
}

}  // namespace raddle::ptx
