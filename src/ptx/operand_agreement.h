// What one operand of an instruction demands of its others, once each is bound.
#pragma once

#include "ptx/opcode_plan.h"

namespace raddle::ptx {

/// @errors told to the parser, with the form
bool operands_agree(Parser& parser, const OpcodePlan& plan, const Instruction& instruction);

}  // namespace raddle::ptx
