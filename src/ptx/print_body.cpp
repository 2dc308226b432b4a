// Function bodies: registers, variables, lists, then blocks of instructions.
#include <algorithm>

#include "ptx/control.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

namespace raddle::ptx {
namespace {

template <class... Args>
void add(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

void print_immediate(std::string& out, const Operand& o) {
  const auto bits = static_cast<std::uint64_t>(o.value);
  const auto type_class = isa::type_class(o.type);
  if (o.type == Type::f32)
    add(out, "0f{:08x}", bits & 0xffffffffu);
  else if (o.type == Type::f64)
    add(out, "0d{:016x}", bits);
  else if (type_class == isa::TypeClass::float_ || type_class == isa::TypeClass::packed_float)
    add(out, "{:#x}", bits);
  else if (type_class == isa::TypeClass::signed_ || type_class == isa::TypeClass::none)
    add(out, "{}", o.value);
  else if (bits >> 63)
    add(out, "{:#x}U", bits);
  else
    add(out, "{}", bits);
}

void print_offset(std::string& out, std::int64_t value) {
  if (value != 0) add(out, "+{}", value);  // ptxas reads [r+-8], not [r-8]
}

bool is_handle(const Opcode& opcode, const std::vector<isa::OperandSlot>& slots, std::size_t k) {
  for (const isa::OperandSpec& spec : opcode.row->operands)
    if (k < slots.size() && spec.name == slots[k].name) return spec.kind == isa::OperandKind::handle;
  return false;
}

class BodyPrinter {
 public:
  BodyPrinter(std::string& out, const Module& module, const Function& function)
      : out_(out), module_(module), f_(function) {}

  void run();
  void instruction(const Instruction& i);

 private:
  void registers();
  void lists();
  void location(std::uint32_t index);
  void operand(const Operand& o);
  void address(const Operand& o, bool open = false);
  void operands(const Instruction& i);
  void call(const Instruction& i);
  void call_list(const std::vector<Operand>& list);

  std::string& out_;
  const Module& module_;
  const Function& f_;
};

void BodyPrinter::operand(const Operand& o) {
  if (o.negated) out_ += "!";
  if (o.minus) out_ += "-";
  switch (o.kind) {
    case Operand::Kind::none:
      break;
    case Operand::Kind::reg:
      out_ += f_.registers[o.index].name + isa::selector_text(o.selector);
      break;
    case Operand::Kind::immediate:
      print_immediate(out_, o);
      break;
    case Operand::Kind::special:
      out_ += isa::spelling(static_cast<SpecialRegister>(o.index), o.component);
      break;
    case Operand::Kind::variable:
      out_ += module_.variables[o.index].name;
      print_offset(out_, o.value);
      break;
    case Operand::Kind::function:
      out_ += module_.functions[o.index].name;
      break;
    case Operand::Kind::label:
      out_ += o.index == kNone ? "" : f_.blocks[o.index].label;
      break;
    case Operand::Kind::address:
      address(o);
      break;
    case Operand::Kind::sink:
      out_ += "_";
      break;
    case Operand::Kind::vector:
      out_ += "{";
      for (const Operand& element : f_.elements_of(o)) {
        if (&element != f_.elements_of(o).data()) out_ += ", ";
        operand(element);
      }
      out_ += "}";
      break;
  }
}

/// @param open  more operands follow in the brackets
void BodyPrinter::address(const Operand& o, bool open) {
  out_ += "[";
  if (o.base == Operand::Base::absolute) add(out_, "{}", o.value);
  if (o.base == Operand::Base::reg) out_ += f_.registers[o.index].name;
  if (o.base == Operand::Base::variable) out_ += module_.variables[o.index].name;
  if (o.base != Operand::Base::absolute) print_offset(out_, o.value);
  if (!open) out_ += "]";
}

void BodyPrinter::call_list(const std::vector<Operand>& list) {
  out_ += "(";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out_ += ", ";
    operand(list[i]);
  }
  out_ += ")";
}

void BodyPrinter::call(const Instruction& i) {
  const Call& call = f_.calls[i.extra];
  if (!call.returns.empty()) {
    call_list(call.returns);
    out_ += ", ";
  }
  operand(call.callee);
  if (!call.arguments.empty()) {
    out_ += ", ";
    call_list(call.arguments);
  }
  if (call.prototype != kNone)
    add(out_, ", $prototype_{}", call.prototype);
  else if (!call.targets.empty())
    add(out_, ", $targets_{}", i.extra);
}

void BodyPrinter::operands(const Instruction& i) {
  const auto list = f_.operands_of(i);
  const auto& slots = i.opcode->form->operands;
  bool first = true, in_brackets = false;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const bool branch_list = list[k].kind == Operand::Kind::label && i.extra != kNone;
    if (list[k].kind == Operand::Kind::none) continue;
    if (in_brackets && !slots[k].bracketed) out_ += "]", in_brackets = false;
    if (!first) out_ += k < slots.size() && slots[k].joined ? "|" : ", ";
    first = false;
    if (is_handle(*i.opcode, slots, k)) out_ += "[", in_brackets = true;
    const bool opens = k + 1 < slots.size() && slots[k + 1].bracketed && !slots[k].bracketed;
    if (opens && list[k].kind == Operand::Kind::address)
      address(list[k], in_brackets = true);
    else if (branch_list)
      add(out_, "$branches_{}", i.extra);
    else
      operand(list[k]);
  }
  if (in_brackets) out_ += "]";
}

void BodyPrinter::instruction(const Instruction& i) {
  if (i.guard != kNone) add(out_, "@{}{} ", i.guard_negated ? "!" : "", f_.registers[i.guard].name);
  out_ += i.opcode->text;
  if (i.operand_count > 0) out_ += " ";
  if (i.extra != kNone && !ends_block(i))
    call(i);
  else
    operands(i);
  out_ += ";";
}

void BodyPrinter::registers() {
  std::vector<bool> formal(f_.registers.size(), false);
  for (const auto* ids : {&f_.parameters, &f_.returns})
    for (const VariableId id : *ids)
      if (module_.variables[id].space == Space::reg && module_.variables[id].offset < formal.size())
        formal[module_.variables[id].offset] = true;
  // In order of number, a new statement where the type changes: numbers stay the same when parsed again.
  constexpr unsigned kPerLine = 8;
  unsigned on_line = 0;
  Type type = Type::none;
  for (RegisterId r = 0; r < f_.registers.size(); ++r) {
    if (formal[r]) continue;
    const bool fresh = f_.registers[r].type != type || on_line == kPerLine;
    if (fresh && on_line > 0) out_ += ";\n";
    if (fresh) add(out_, "  .reg .{} ", isa::type_name(f_.registers[r].type)), on_line = 0;
    if (on_line++ > 0) out_ += ", ";
    out_ += f_.registers[r].name;
    type = f_.registers[r].type;
  }
  if (on_line > 0) out_ += ";\n";
}

void BodyPrinter::lists() {
  for (std::size_t i = 0; i < f_.prototypes.size(); ++i) {
    const auto pointers = [](const std::vector<Variable>& variables) {
      std::vector<const Variable*> out;
      for (const Variable& v : variables) out.push_back(&v);
      return out;
    };
    add(out_, "  $prototype_{}: .callprototype ", i);
    print_formals(out_, pointers(f_.prototypes[i].returns), true);
    out_ += " _ ";
    print_formals(out_, pointers(f_.prototypes[i].parameters), true);
    out_ += f_.prototypes[i].noreturn ? " .noreturn;\n" : ";\n";
  }
  for (std::size_t i = 0; i < f_.calls.size(); ++i) {
    const auto& targets = f_.calls[i].targets;
    for (std::size_t k = 0; k < targets.size(); ++k)
      add(out_, "{}{}", k == 0 ? fmt::format("  $targets_{}: .calltargets ", i) : ", ",
          module_.functions[targets[k]].name);
    if (!targets.empty()) out_ += ";\n";
  }
  for (std::size_t i = 0; i < f_.branch_targets.size(); ++i) {
    const auto& targets = f_.branch_targets[i];
    for (std::size_t k = 0; k < targets.size(); ++k)
      add(out_, "{}{}", k == 0 ? fmt::format("  $branches_{}: .branchtargets ", i) : ", ",
          f_.blocks[targets[k]].label);
    if (!targets.empty()) out_ += ";\n";
  }
}

void BodyPrinter::location(std::uint32_t index) {
  const Location& l = module_.locations[index];
  add(out_, "  .loc {} {} {}", l.file, l.line, l.column);
  if (l.inlined_at != kNone) {
    const Location& caller = module_.locations[l.inlined_at];
    add(out_, ", inlined_at {} {} {}", caller.file, caller.line, caller.column);
  }
  out_ += "\n";
}

void BodyPrinter::run() {
  out_ += "{\n";
  registers();
  for (const VariableId id : f_.variables) {
    const Variable& v = module_.variables[id];
    out_ += v.linkage == Linkage::extern_ ? "  .extern " : "  ";
    print_declarator(out_, v, v.name);
    out_ += ";\n";
  }
  lists();
  std::uint32_t last_location = kNone;
  for (const Block& block : f_.blocks) {
    if (!block.label.empty()) add(out_, "{}:\n", block.label);
    if (block.no_unroll) out_ += "  .pragma \"nounroll\";\n";
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction& instr = f_.instructions[i];
      if (instr.location != kNone && instr.location != last_location) location(instr.location);
      last_location = instr.location;
      out_ += "  ";
      instruction(instr);
      out_ += "\n";
    }
  }
  out_ += "}\n";
}

}  // namespace

void print_body(std::string& out, const Module& module, const Function& function) {
  BodyPrinter(out, module, function).run();
}

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  std::string out;
  BodyPrinter(out, module, function).instruction(instruction);
  return out;
}

}  // namespace raddle::ptx
