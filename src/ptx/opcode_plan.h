// What the parser needs to know about an opcode, derived from its row once per spelling and module.
#pragma once

#include <string>
#include <vector>

#include "ptx/state.h"

namespace raddle::ptx {

struct OperandPlan {
  const isa::OperandSpec* spec = nullptr;  ///< null: unchecked
  Type type = Type::none;
  unsigned elements = 1;  ///< of a `.vec` operand
  bool optional = false, joined = false, bracketed = false;
};

struct OpcodePlan {
  std::string_view text;           ///< lives as long as the parser
  const Opcode* opcode = nullptr;  ///< null: `reason` says why
  bool supported = false;
  bool unknown = false;  ///< no row has it: misspelt, or newer than Raddle
  bool is_call = false, ends_block = false;
  std::string reason;
  std::vector<OperandPlan> operands;
  unsigned required_groups = 0;  ///< comma-separated operands that must be there
};

/// The plan of an opcode's full text; the reference stays valid.
const OpcodePlan& plan_of(Parser& parser, std::string_view opcode);

}  // namespace raddle::ptx
