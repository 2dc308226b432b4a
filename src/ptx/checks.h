// Checks operands against the instruction's row: how many, what kind, which register types (PTX ISA "Operand
// Type Checking" and "Operand Size Exceeding Instruction-Type Size").
#pragma once

#include "ptx/opcode_plan.h"
#include "ptx/operands.h"

namespace raddle::ptx {

/// True if a register of type `have` may stand where the instruction wants `want`.
/// @param wider  the register may be wider than the type
bool register_fits(Type have, Type want, bool wider);

/// Puts Parser::operands into the function's pools in the order of the form. Reports what does not fit.
/// @param instruction  its operands and operand_count are set
bool bind_operands(Parser& parser, const OpcodePlan& plan, Instruction& instruction);

/// Reads `@p` or `@!p`, '@' included.
bool parse_guard(Parser& parser, RegisterId& guard, bool& negated);

}  // namespace raddle::ptx
