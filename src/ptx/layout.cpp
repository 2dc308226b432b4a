// The call graph, and the places of variables in the shared window and in a function's frames.
#include "ptx/layout.h"

#include <algorithm>

#include "ptx/declarations.h"

namespace raddle::ptx {
namespace {

FunctionId target_of(const Module& module, FunctionId id) {
  const FunctionId alias = module.functions[id].alias_of;
  return alias == kNone ? id : alias;
}

/// Functions named other than as the callee of a direct call.
void add_address_taken(const Module& module, std::vector<FunctionId>& out) {
  for (const Function& f : module.functions) {
    for (const Instruction& i : f.instructions)
      for (const Operand& o : f.operands_of(i))
        if (o.kind == Operand::Kind::function && !module.functions[o.index].is_entry &&
            !(i.extra != kNone && &o == &f.operands[i.operands]))
          out.push_back(o.index);
    for (const Operand& o : f.elements)
      if (o.kind == Operand::Kind::function && !module.functions[o.index].is_entry) out.push_back(o.index);
  }
  for (const Variable& v : module.variables)
    for (const Relocation& r : v.relocations)
      if (r.is_function && r.index < module.functions.size() && !module.functions[r.index].is_entry)
        out.push_back(r.index);
}

void mark_named(const Operand& o, std::vector<bool>& named) {
  const bool address = o.kind == Operand::Kind::address && o.base == Operand::Base::variable;
  if ((address || o.kind == Operand::Kind::variable) && o.index < named.size()) named[o.index] = true;
}

bool names_reserved(const Operand& o) {
  if (o.kind != Operand::Kind::special) return false;
  return isa::kSpecialRegisters[o.index].scope == isa::RegisterScope::reserved;
}

/// Variables that some function of the closure declares or names.
std::vector<bool> variables_of(const Module& module, const std::vector<FunctionId>& closure) {
  std::vector<bool> named(module.variables.size(), false);
  for (const FunctionId id : closure) {
    const Function& f = module.functions[id];
    for (const VariableId v : f.variables) named[v] = true;
    for (const Operand& o : f.operands) mark_named(o, named);
    for (const Operand& o : f.elements) mark_named(o, named);
  }
  return named;
}

}  // namespace

std::vector<FunctionId> CallGraph::callees(FunctionId function) {
  std::vector<FunctionId> out;
  bool open = false;
  for (const Call& call : module_.functions[function].calls) {
    if (call.callee.kind == Operand::Kind::function)
      out.push_back(call.callee.index);
    else if (call.targets.empty())
      open = true;
    out.insert(out.end(), call.targets.begin(), call.targets.end());
  }
  if (open && !scanned_) add_address_taken(module_, address_taken_);
  scanned_ |= open;
  if (open) out.insert(out.end(), address_taken_.begin(), address_taken_.end());
  for (FunctionId& id : out) id = target_of(module_, id);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<FunctionId> call_closure(const Module& module, FunctionId function) {
  std::vector<FunctionId> order{target_of(module, function)};
  std::vector<bool> seen(module.functions.size(), false);
  seen[order[0]] = true;
  CallGraph graph(module);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const FunctionId id : graph.callees(order[i])) {
      if (seen[id]) continue;
      seen[id] = true;
      order.push_back(id);
    }
  }
  return order;
}

SharedLayout shared_layout(const Module& module, FunctionId kernel) {
  SharedLayout layout;
  layout.offset.assign(module.variables.size(), kNone);
  const std::vector<FunctionId> closure = call_closure(module, kernel);
  const std::vector<bool> named = variables_of(module, closure);
  for (const FunctionId id : closure)
    layout.uses_reserved |= std::ranges::any_of(module.functions[id].operands, names_reserved);
  std::uint32_t end = kSharedStart;
  const auto is_dynamic = [](const Variable& v) { return v.linkage == Linkage::extern_ || v.size == 0; };
  for (VariableId id = 0; id < module.variables.size(); ++id) {
    const Variable& v = module.variables[id];
    if (v.space != Space::shared || !named[id]) continue;
    if (is_dynamic(v))
      layout.has_dynamic = true;
    else
      layout.offset[id] = place(v.size, v.align, end);
  }
  layout.static_bytes = end - kSharedStart;
  layout.dynamic_offset = end;
  place(0, kDynamicSharedAlign, layout.dynamic_offset);
  for (VariableId id = 0; id < module.variables.size(); ++id)
    if (module.variables[id].space == Space::shared && named[id] && is_dynamic(module.variables[id]))
      layout.offset[id] = layout.dynamic_offset;
  return layout;
}

FrameLayout frame_layout(const Module& module, FunctionId function) {
  FrameLayout layout;
  const auto add = [](const Variable& v, std::uint32_t& bytes, std::uint32_t& align) {
    bytes =
        std::max(bytes, static_cast<std::uint32_t>(std::min<std::uint64_t>(v.offset + v.size, 0xffffffffu)));
    align = std::max(align, v.align);
  };
  const Function& f = module.functions[function];
  for (const auto* formals : {&f.parameters, &f.returns})
    for (const VariableId id : *formals)
      if (module.variables[id].space == Space::param)
        add(module.variables[id], layout.formal_bytes, layout.formal_align);
  for (const VariableId id : f.variables) {
    const Variable& v = module.variables[id];
    if (v.space == Space::local) add(v, layout.local_bytes, layout.local_align);
    if (v.space == Space::param) add(v, layout.call_bytes, layout.call_align);
  }
  return layout;
}

}  // namespace raddle::ptx
