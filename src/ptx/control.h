// Which instructions end a block and where they go, from the rows' effects and operand kinds.
#pragma once

#include "ptx/module.h"

namespace raddle::ptx {

/// True for instructions that transfer or end control, calls excepted.
bool ends_block(const Instruction& instruction);
/// The label operand of a direct branch; null for anything else.
const Operand* branch_target(const Function& function, const Instruction& instruction);

}  // namespace raddle::ptx
