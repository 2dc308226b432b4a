// The place in a PTX function for which code is written now. The function compiler moves it; everything else
// asks it.
#pragma once

#include <vector>

#include "jit/function_plan.h"

namespace raddle::jit {

class Cursor {
 public:
  explicit Cursor(const FunctionPlan& p) : plan(p), function(p.function) {}

  const FunctionPlan& plan;
  const ptx::Function& function;
  BlockId block = 0;
  const ptx::Instruction* instruction = nullptr;  ///< null between instructions

  const isa::Opcode& opcode() const { return *instruction->opcode; }
  const ptx::Operand& operand(unsigned k) const { return function.operands_of(*instruction)[k]; }
  /// An optional operand is given.
  bool present(unsigned k) const {
    return k < instruction->operand_count && operand(k).kind != ptx::Operand::Kind::none;
  }
  /// Destination k is given and no sink.
  bool wants(unsigned k) const { return present(k) && operand(k).kind != ptx::Operand::Kind::sink; }
  /// The elements of a vector operand {a, b, ...}; a scalar is its own only one.
  std::vector<ptx::Operand> elements(unsigned k) const {
    const ptx::Operand& o = operand(k);
    if (o.kind != ptx::Operand::Kind::vector) return {o};
    auto span = function.elements_of(o);
    return {span.begin(), span.end()};
  }
};

}  // namespace raddle::jit
