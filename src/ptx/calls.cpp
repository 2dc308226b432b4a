// Calls: their syntax, their prototypes and target lists, and whether arguments fit parameters.
#include "ptx/checks.h"
#include "ptx/constants.h"
#include "ptx/declarations.h"
#include "ptx/signature.h"
#include "ptx/statements.h"

namespace raddle::ptx {
namespace {

/// `(a, b, 5)`, also empty; the '(' is passed.
bool parse_call_list(Parser& parser, bool returns, std::vector<Operand>& out) {
  if (parser.in.accept(')')) return true;
  parser.operands.clear();
  parser.elements.clear();
  do {
    if (!parse_operand(parser, parser.operands)) return false;
    const RawOperand& raw = parser.operands.back();
    Operand operand = raw.operand;
    const bool param = operand.kind == Operand::Kind::variable &&
                       parser.module.variables[operand.index].space == Space::param;
    const bool immediate = operand.kind == Operand::Kind::immediate;
    if (operand.kind == Operand::Kind::none) return parser.in.error(raw.at, "'{}' is not declared", raw.text);
    if (immediate) operand.value = static_cast<std::int64_t>(raw.constant.bits);
    if (immediate && raw.constant.is_float())
      operand.type = raw.constant.kind == Constant::Kind::f32 ? Type::f32 : Type::f64;
    const bool sink = operand.kind == Operand::Kind::sink && returns;
    if (!param && !sink && operand.kind != Operand::Kind::reg && (returns || !immediate))
      return parser.in.error(raw.at, "'{}' must be a .param variable or a register{}", raw.text,
                             returns ? "" : " or a constant");
    if (operand.negated || (param && operand.value != 0))
      return parser.in.error(raw.at, "'{}' cannot be passed to a call", raw.text);
    out.push_back(operand);
  } while (parser.in.accept(','));
  return parser.in.expect(')', "after the operands of a call");
}

bool parse_callee(Parser& parser, Call& call, Position& at) {
  Token name;
  if (!parser.in.expect_identifier("the function to call", name)) return false;
  at = name.at;
  NameId id = 0;
  const Binding binding = look_up(parser, name, id);
  if (binding.kind == Binding::Kind::function) {
    call.callee.kind = Operand::Kind::function;
    call.callee.index = binding.index;
    return true;
  }
  if (binding.kind == Binding::Kind::none)
    return parser.in.error(name.at, "function '{}' is not declared", name.text);
  if (binding.kind != Binding::Kind::reg)
    return parser.in.error(name.at, "'{}' is neither a function nor a register", name.text);
  call.callee.kind = Operand::Kind::reg;
  call.callee.index = binding.index;
  call.callee.type = parser.function().registers[binding.index].type;
  if (register_fits(call.callee.type, Type::u64, false) || register_fits(call.callee.type, Type::u32, false))
    return true;
  return parser.in.error(name.at, "an indirect call needs an address in a 64-bit register, not '{}'",
                         name.text);
}

/// Formal and actual have one size; a register has the formal's class too.
void check_list(Parser& parser, const Function& caller, std::string_view what, std::string_view callee,
                const std::vector<const Variable*>& formals, const std::vector<Operand>& actuals,
                Position at) {
  // An open array as last formal takes the remaining arguments, possibly none.
  const bool open =
      !formals.empty() && !formals.back()->dimensions.empty() && formals.back()->dimensions[0] == 0;
  if (formals.size() != actuals.size() && !(open && actuals.size() + 1 >= formals.size())) {
    parser.in.error(at, "'{}' has {} {}{}, the call gives {}", callee, formals.size(), what,
                    formals.size() == 1 ? "" : "s", actuals.size());
    return;
  }
  for (std::size_t i = 0; i < std::min(formals.size(), actuals.size()); ++i) {
    if (argument_fits(parser.module, caller, *formals[i], actuals[i])) continue;
    parser.in.error(at, "{} {} of the call does not fit '{}', which has a .{} of {} bytes there", what, i + 1,
                    callee, isa::type_name(formals[i]->type), formals[i]->size);
  }
}

std::vector<const Variable*> pointers(const Parser& parser, const std::vector<VariableId>& ids) {
  std::vector<const Variable*> out;
  for (const VariableId id : ids) out.push_back(&parser.module.variables[id]);
  return out;
}

std::vector<const Variable*> pointers(const std::vector<Variable>& variables) {
  std::vector<const Variable*> out;
  for (const Variable& v : variables) out.push_back(&v);
  return out;
}

/// Integers take the formal's type now that it is known.
void type_immediates(Parser& parser, const std::vector<const Variable*>& formals,
                     std::vector<Operand>& actuals, Position at) {
  for (std::size_t i = 0; i < std::min(formals.size(), actuals.size()); ++i) {
    Operand& o = actuals[i];
    if (o.kind != Operand::Kind::immediate) continue;
    Constant constant{o.type == Type::f32   ? Constant::Kind::f32
                      : o.type == Type::f64 ? Constant::Kind::f64
                                            : Constant::Kind::s64,
                      static_cast<std::uint64_t>(o.value)};
    std::uint64_t bits = 0;
    if (const Problem problem = convert_constant(constant, formals[i]->type, bits))
      parser.in.error(at, "argument {} is {}", i + 1, problem);
    o.value = static_cast<std::int64_t>(bits);
    o.type = formals[i]->type;
  }
}

const Function& signature_of(const Parser& parser, FunctionId id) {
  return id == parser.current->id ? parser.current->function : parser.module.functions[id];
}

}  // namespace

bool parse_call(Parser& parser, const OpcodePlan&, Instruction& instruction) {
  Call call;
  Position at;
  if (parser.in.accept('(')) {
    if (!parse_call_list(parser, true, call.returns) || !parser.in.expect(',', "after the results of a call"))
      return false;
  }
  if (!parse_callee(parser, call, at)) return false;
  Function& f = parser.function();
  const auto index = static_cast<std::uint32_t>(f.calls.size());
  bool has_arguments = false;
  while (parser.in.accept(',')) {
    Token name;
    if (!has_arguments && parser.in.accept('(')) {
      if (!parse_call_list(parser, false, call.arguments)) return false;
      has_arguments = true;
    } else if (parser.in.expect_identifier("a prototype or a list of targets", name)) {
      parser.current->pending.push_back(
          {PendingName::Use::call_selector, parser.names.intern(name.text), name.at, index, 0});
      break;
    } else {
      return false;
    }
  }
  if (!parser.in.token().is(';')) return parser.in.expected("';' after a call");
  instruction.extra = index;
  instruction.operands = static_cast<std::uint32_t>(f.operands.size());
  instruction.operand_count = 1;
  f.operands.push_back(call.callee);
  f.calls.push_back(std::move(call));
  parser.current->call_positions.push_back(at);
  return true;
}

void check_calls(Parser& parser) {
  Function& caller = parser.function();
  for (std::size_t i = 0; i < caller.calls.size(); ++i) {
    Call& call = caller.calls[i];
    const Position at = parser.current->call_positions[i];
    std::vector<const Variable*> returns, arguments;
    std::string_view name;
    if (call.callee.kind == Operand::Kind::function) {
      const Function& callee = signature_of(parser, call.callee.index);
      returns = pointers(parser, callee.returns), arguments = pointers(parser, callee.parameters),
      name = callee.name;
      if (callee.is_entry) parser.in.error(at, "'{}' is a kernel and cannot be called", callee.name);
    } else if (call.prototype != kNone) {
      const Prototype& prototype = caller.prototypes[call.prototype];
      returns = pointers(prototype.returns), arguments = pointers(prototype.parameters),
      name = prototype.name;
    } else if (!call.targets.empty()) {
      const Function& first = signature_of(parser, call.targets[0]);
      returns = pointers(parser, first.returns), arguments = pointers(parser, first.parameters),
      name = first.name;
    } else {
      parser.in.error(at, "an indirect call needs a prototype or a list of targets behind its arguments");
      continue;
    }
    check_list(parser, caller, "result", name, returns, call.returns, at);
    check_list(parser, caller, "argument", name, arguments, call.arguments, at);
    type_immediates(parser, arguments, call.arguments, at);
  }
}

}  // namespace raddle::ptx
