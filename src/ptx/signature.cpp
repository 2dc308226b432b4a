#include "ptx/signature.h"

#include <algorithm>

#include "ptx/checks.h"

namespace raddle::ptx {

bool argument_fits(const Module& module, const Function& caller, const Variable& formal,
                   const Operand& actual) {
  if (actual.kind == Operand::Kind::sink) return true;
  if (actual.kind == Operand::Kind::immediate) return formal.dimensions.empty();
  if (actual.kind == Operand::Kind::reg)
    return formal.dimensions.empty() &&
           register_fits(caller.registers[actual.index].type, formal.type, formal.space == Space::param);
  const Variable& variable = module.variables[actual.index];
  return variable.size == formal.size || (!formal.dimensions.empty() && formal.dimensions[0] == 0);
}

bool signature_fits(const Module& module, const Function& caller, const Call& call, const Function& callee) {
  auto fit = [&](const std::vector<VariableId>& formals, const std::vector<Operand>& actuals) {
    return std::equal(formals.begin(), formals.end(), actuals.begin(), actuals.end(),
                      [&](VariableId formal, const Operand& actual) {
                        return argument_fits(module, caller, module.variables[formal], actual);
                      });
  };
  return fit(callee.parameters, call.arguments) && fit(callee.returns, call.returns);
}

}  // namespace raddle::ptx
