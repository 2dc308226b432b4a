// Look-up by name in a module, and names of its enums.
#include "ptx/module.h"

namespace raddle::ptx {

std::string_view space_name(Space space) {
  switch (space) {
    case Space::generic:
      return "generic";
    case Space::reg:
      return "reg";
    case Space::global:
      return "global";
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::const_:
      return "const";
    case Space::param:
      return "param";
    case Space::tex:
      return "tex";
  }
  return "?";
}

Space space_of(isa::Mod mod) {
  switch (mod) {
    case isa::Mod::global:
      return Space::global;
    case isa::Mod::shared:
    case isa::Mod::shared_cta:
    case isa::Mod::shared_cluster:
      return Space::shared;
    case isa::Mod::local:
      return Space::local;
    case isa::Mod::const_:
      return Space::const_;
    case isa::Mod::param:
    case isa::Mod::param_entry:
    case isa::Mod::param_func:
      return Space::param;
    default:
      return Space::generic;
  }
}

const Function* Module::find_function(std::string_view wanted) const {
  for (const Function& function : functions)
    if (function.name == wanted) return &function;
  return nullptr;
}

VariableId Module::first_constant() const {
  for (VariableId id = 0; id < variables.size(); ++id)
    if (variables[id].space == Space::const_ && !variables[id].is_parameter) return id;
  return kNone;
}

const Variable* Module::find_variable(std::string_view wanted) const {
  for (const Variable& variable : variables)
    if (variable.function == kNone && variable.name == wanted) return &variable;
  return nullptr;
}

}  // namespace raddle::ptx
