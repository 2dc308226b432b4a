#include "ptx/inline.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/assert.h"
#include "isa/op.h"
#include "ptx/control.h"
#include "ptx/layout.h"

namespace raddle::ptx {
namespace {

constexpr std::size_t kLargest = 20'000;  // instructions

const Opcode& opcode(const std::string& text) {
  auto found = isa::resolve(text);
  RADDLE_ASSERT(found.ok(), text);
  return **found;
}

/// Makes a function anew, with bodies in the place of some of its calls.
class Inliner {
 public:
  Inliner(Module& module, FunctionId into, const std::vector<bool>& chosen)
      : module_(module), old_(module.functions[into]), into_(into), chosen_(chosen) {}

  bool any() const {
    return std::any_of(old_.instructions.begin(), old_.instructions.end(),
                       [&](const Instruction& i) { return body_of(i) != nullptr; });
  }

  Function run() {
    made_ = old_;
    made_.instructions.clear();
    made_.blocks.clear();
    made_.calls.clear();
    std::vector<BlockId> moved;
    for (const Block& block : old_.blocks) {
      moved.push_back(static_cast<BlockId>(made_.blocks.size()));
      begin_block(block.label, block.no_unroll);
      for (std::uint32_t n = block.begin; n < block.end; ++n) {
        const Instruction i = old_.instructions[n];
        if (body_of(i) != nullptr)
          put_body(i);
        else if (i.extra != kNone && !ends_block(i))
          put_call(i, old_.calls[i.extra]);
        else
          put(i);
      }
    }
    // The earlier instructions still name blocks by their old numbers.
    const auto move = [&](Operand& o) {
      if (o.kind == Operand::Kind::label && o.index != kNone) o.index = moved[o.index];
    };
    std::for_each_n(made_.operands.begin(), old_.operands.size(), move);
    std::for_each_n(made_.elements.begin(), old_.elements.size(), move);
    for (std::size_t t = 0; t < old_.branch_targets.size(); ++t)
      for (BlockId& b : made_.branch_targets[t]) b = moved[b];
    return std::move(made_);
  }

 private:
  /// The caller's registers, variables and blocks that replace those of the body.
  struct Map {
    std::uint32_t registers, prototypes, local;
    std::unordered_map<VariableId, VariableId> variables;
    std::vector<BlockId> blocks;
  };

  const Function* body_of(const Instruction& i) const {
    if (i.extra == kNone || ends_block(i)) return nullptr;
    const Call& call = old_.calls[i.extra];
    if (call.callee.kind != Operand::Kind::function) return nullptr;
    FunctionId id = call.callee.index;
    if (module_.functions[id].alias_of != kNone) id = module_.functions[id].alias_of;
    const Function& body = module_.functions[id];
    if (!chosen_[id] || id == into_ || !fits(call.arguments, body.parameters) ||
        !fits(call.returns, body.returns))
      return nullptr;
    return &body;
  }

  /// A .param variable for each .param formal, registers or constants for the others.
  bool fits(const std::vector<Operand>& given, const std::vector<VariableId>& formals) const {
    if (given.size() != formals.size()) return false;
    for (std::size_t k = 0; k < given.size(); ++k)
      if ((module_.variables[formals[k]].space == Space::param) != (given[k].kind == Operand::Kind::variable))
        return false;
    return true;
  }

  void begin_block(const std::string& label, bool no_unroll = false) {
    const auto here = static_cast<std::uint32_t>(made_.instructions.size());
    made_.blocks.push_back({here, here, label, no_unroll});
  }

  void put(const Instruction& i) {
    made_.instructions.push_back(i);
    made_.blocks.back().end = static_cast<std::uint32_t>(made_.instructions.size());
  }

  void put_call(Instruction i, Call call) {
    i.extra = static_cast<std::uint32_t>(made_.calls.size());
    made_.calls.push_back(std::move(call));
    put(i);
  }

  void put(const Opcode& what, const std::vector<Operand>& operands, const Instruction& at) {
    Instruction i{.opcode = &what, .operand_count = static_cast<std::uint8_t>(operands.size())};
    i.operands = static_cast<std::uint32_t>(made_.operands.size());
    i.line = at.line;
    i.column = at.column;
    i.location = at.location;
    made_.operands.insert(made_.operands.end(), operands.begin(), operands.end());
    put(i);
  }

  static Operand label(BlockId block) {
    Operand o;
    o.kind = Operand::Kind::label;
    o.index = block;
    return o;
  }

  /// A move between a .reg formal, in the function's own numbers, and the operand that the call names for it.
  void move(const Operand& to, const Operand& from, Type type, const Instruction& at) {
    const std::string suffix = type == Type::pred ? "pred" : "b" + std::to_string(isa::bit_size(type));
    put(opcode("mov." + suffix), {to, from}, at);
  }

  void put_body(const Instruction& call_instruction) {
    const Call call = old_.calls[call_instruction.extra];
    const Function& body = *body_of(call_instruction);
    Map map = map_for(call, body);
    // Blocks: the rest of this one, the body's, the instructions after the call.
    const auto first = static_cast<BlockId>(made_.blocks.size());
    const bool guarded = call_instruction.guard != kNone;
    const BlockId body_begin = first + (guarded ? 1 : 0);
    for (BlockId b = 0; b < body.blocks.size(); ++b) map.blocks.push_back(body_begin + b);
    const auto after = static_cast<BlockId>(body_begin + body.blocks.size());
    if (guarded) {
      put(opcode("bra"), {label(after + 1)}, call_instruction);
      made_.instructions.back().guard = call_instruction.guard;
      made_.instructions.back().guard_negated = !call_instruction.guard_negated;
      begin_block("");
    }
    for (std::size_t k = 0; k < call.arguments.size(); ++k)
      if (const Operand formal = formal_of(body.parameters[k], map); formal.is_register())
        move(formal, call.arguments[k], formal.type, call_instruction);
    for (const Block& block : body.blocks) {
      begin_block("", block.no_unroll);
      for (std::uint32_t n = block.begin; n < block.end; ++n) put_instruction(body, n, map, after);
    }
    begin_block("");
    for (std::size_t k = 0; k < call.returns.size(); ++k)
      if (const Operand formal = formal_of(body.returns[k], map);
          formal.is_register() && call.returns[k].is_register())
        move(call.returns[k], formal, formal.type, call_instruction);
    if (guarded) begin_block("");
  }

  Operand formal_of(VariableId id, const Map& map) const {
    const Variable& v = module_.variables[id];
    Operand o;
    if (v.space != Space::reg) return o;
    o.kind = Operand::Kind::reg;
    o.index = v.offset + map.registers;
    o.type = made_.registers[o.index].type;
    return o;
  }

  Map map_for(const Call& call, const Function& body) {
    Map map{.registers = static_cast<std::uint32_t>(made_.registers.size()),
            .prototypes = static_cast<std::uint32_t>(made_.prototypes.size()),
            .local = static_cast<std::uint32_t>(frame_bytes(made_.local_bytes)),
            .variables = {},
            .blocks = {}};
    made_.registers.insert(made_.registers.end(), body.registers.begin(), body.registers.end());
    made_.prototypes.insert(made_.prototypes.end(), body.prototypes.begin(), body.prototypes.end());
    for (std::size_t k = 0; k < call.arguments.size(); ++k)
      if (call.arguments[k].kind == Operand::Kind::variable)
        map.variables[body.parameters[k]] = call.arguments[k].index;
    for (std::size_t k = 0; k < call.returns.size(); ++k)
      if (call.returns[k].kind == Operand::Kind::variable)
        map.variables[body.returns[k]] = call.returns[k].index;
    if (body.local_bytes != 0) made_.local_bytes = map.local + body.local_bytes;
    for (const VariableId id : body.variables) {
      Variable v = module_.variables[id];
      if (map.variables.contains(id) || (v.space != Space::local && v.space != Space::param)) continue;
      v.function = into_;
      if (v.space == Space::local) v.offset += map.local;
      map.variables[id] = static_cast<VariableId>(module_.variables.size());
      made_.variables.push_back(map.variables[id]);
      module_.variables.push_back(std::move(v));
    }
    return map;
  }

  Operand mapped(const Function& body, Operand o, const Map& map) {
    using Kind = Operand::Kind;
    const bool names_variable =
        o.kind == Kind::variable || (o.kind == Kind::address && o.base == Operand::Base::variable);
    const bool names_register =
        o.kind == Kind::reg || (o.kind == Kind::address && o.base == Operand::Base::reg);
    if (names_register) {
      o.index += map.registers;
    } else if (names_variable) {
      if (const auto found = map.variables.find(o.index); found != map.variables.end())
        o.index = found->second;
    } else if (o.kind == Kind::label && o.index != kNone) {
      o.index = map.blocks[o.index];
    } else if (o.kind == Kind::vector) {
      std::vector<Operand> elements;
      for (const Operand& element : body.elements_of(o)) elements.push_back(mapped(body, element, map));
      o.index = static_cast<std::uint32_t>(made_.elements.size());
      made_.elements.insert(made_.elements.end(), elements.begin(), elements.end());
    }
    return o;
  }

  void put_instruction(const Function& body, std::uint32_t n, const Map& map, BlockId after) {
    Instruction i = body.instructions[n];
    if (i.guard != kNone) i.guard += map.registers;
    if (i.op() == Op::ret) {
      const Instruction from = i;
      put(opcode("bra"), {label(after)}, from);
      made_.instructions.back().guard = from.guard;
      made_.instructions.back().guard_negated = from.guard_negated;
      return;
    }
    std::vector<Operand> operands;
    for (const Operand& o : body.operands_of(i)) operands.push_back(mapped(body, o, map));
    i.operands = static_cast<std::uint32_t>(made_.operands.size());
    made_.operands.insert(made_.operands.end(), operands.begin(), operands.end());
    if (i.extra != kNone && ends_block(i)) {
      std::vector<BlockId> targets;
      for (const BlockId b : body.branch_targets[i.extra]) targets.push_back(map.blocks[b]);
      i.extra = static_cast<std::uint32_t>(made_.branch_targets.size());
      made_.branch_targets.push_back(std::move(targets));
    } else if (i.extra != kNone) {
      Call call = body.calls[i.extra];
      for (auto* list : {&call.returns, &call.arguments})
        for (Operand& o : *list) o = mapped(body, o, map);
      call.callee = mapped(body, call.callee, map);
      if (call.prototype != kNone) call.prototype += map.prototypes;
      return put_call(i, std::move(call));
    }
    put(i);
  }

  Module& module_;
  const Function old_;
  const FunctionId into_;
  const std::vector<bool>& chosen_;
  Function made_;
};

/// Callees before their callers; which of several that call each other comes first is open.
std::vector<FunctionId> callees_first(const Module& module, FunctionId kernel) {
  CallGraph graph(module);
  std::vector<bool> seen(module.functions.size());
  struct Open {
    FunctionId id;
    std::vector<FunctionId> callees;
    std::size_t next = 0;
  };
  std::vector<FunctionId> order;
  std::vector<Open> path{{kernel, graph.callees(kernel)}};
  seen[kernel] = true;
  while (!path.empty()) {
    Open& top = path.back();
    if (top.next == top.callees.size()) {
      order.push_back(top.id);
      path.pop_back();
      continue;
    }
    const FunctionId id = top.callees[top.next++];
    if (seen[id]) continue;
    seen[id] = true;
    path.push_back({id, graph.callees(id)});
  }
  return order;
}

}  // namespace

bool inline_calls(Module& module, FunctionId kernel, const std::function<bool(FunctionId)>& wanted) {
  std::vector<bool> chosen(module.functions.size());
  for (const FunctionId id : callees_first(module, kernel)) {
    if (module.functions[id].is_declaration) continue;
    Inliner inliner(module, id, chosen);
    if (inliner.any()) {
      Function made = inliner.run();
      if (made.instructions.size() > kLargest) return false;
      module.functions[id] = std::move(made);
    }
    chosen[id] = id != kernel && wanted(id);
  }
  const std::vector<FunctionId> left = call_closure(module, kernel);
  return std::none_of(left.begin(), left.end(), [&](FunctionId id) { return chosen[id]; });
}

}  // namespace raddle::ptx
