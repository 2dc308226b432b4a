// Preparation of a kernel for the interpreter; see code.h.
#include "interp/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/assert.h"
#include "base/round_up.h"
#include "interp/joins.h"
#include "ptx/awaits.h"
#include "ptx/call_depth.h"
#include "ptx/device_services.h"
#include "ptx/fences.h"
#include "ptx/layout.h"
#include "ptx/waits.h"

namespace raddle::interp {
namespace {

InstructionCode prepare_instruction(const ptx::Instruction& instruction) {
  InstructionCode code;
  const isa::Opcode& opcode = *instruction.opcode;
  code.reference = reference_of(opcode.op);
  code.control = opcode.is(isa::Effects::control);
  code.gathers = isa::is_of_warps(opcode.row->text->scope) && opcode.is(isa::Effects::sync);
  code.cta = opcode.row->text->scope == isa::Scope::cta;
  return code;
}

void mark_waiting_loops(const ptx::Module& module, FunctionCode& code) {
  const ptx::Function& function = *code.function;
  const ptx::Cfg cfg = ptx::build_cfg(function);
  ptx::Waits waits(module, function, cfg);
  for (const ptx::Loop& loop : ptx::find_loops(cfg)) {
    if (!waits.may_wait(loop)) continue;
    for (const ptx::BlockId b : loop.body)
      for (std::uint32_t i = function.blocks[b].begin; i < function.blocks[b].end; ++i)
        code.instructions[i].in_waiting_loop = true;
  }
}

/// Loops that are nothing but a wait for a phase of an mbarrier.
void mark_awaited(FunctionCode& code) {
  const auto& instructions = code.function->instructions;
  std::optional<ptx::Cfg> cfg;
  for (std::size_t n = 0; n < instructions.size(); ++n) {
    if (!ptx::asks_for_phase(*instructions[n].opcode)) continue;
    if (!cfg) cfg = ptx::build_cfg(*code.function);
    code.instructions[n].is_awaited = ptx::is_awaited(*code.function, *cfg, instructions[n]);
  }
}

void mark_fenced(FunctionCode& code) {
  const std::vector<bool> fenced = ptx::fenced_wgmmas(*code.function);
  for (std::size_t n = 0; n < fenced.size(); ++n) code.instructions[n].is_fenced = fenced[n];
}

void place_registers(FunctionCode& code) {
  const auto& registers = code.function->registers;
  code.frame_words = static_cast<std::uint32_t>(registers.size());
  code.register_bits.reserve(registers.size());
  code.high.assign(registers.size(), ptx::kNone);
  for (std::size_t r = 0; r < registers.size(); ++r) {
    unsigned bits = isa::bit_size(registers[r].type);
    code.register_bits.push_back(static_cast<std::uint8_t>(bits));
    if (bits > 64) code.high[r] = code.frame_words++;
  }
}

/// .param variables that are not an entry's formal parameters live in the frame, above the .local ones.
void place_private(const ptx::Module& module, FunctionCode& code, std::vector<std::uint64_t>& offsets) {
  const ptx::Function& function = *code.function;
  std::uint64_t end = ptx::frame_bytes(function.local_bytes);
  auto place = [&](ptx::VariableId id) {
    const ptx::Variable& variable = module.variables[id];
    if (variable.space != ptx::Space::param || offsets[id] != ModuleCode::kNotPrivate) return;
    if (variable.is_parameter && function.is_entry) return;
    end = round_up(end, std::max<std::uint64_t>(variable.align, 1));
    offsets[id] = end;
    end += std::max<std::uint64_t>(variable.size, 1);
  };
  for (ptx::VariableId id : function.returns) place(id);
  for (ptx::VariableId id : function.parameters) place(id);
  for (ptx::VariableId id : function.variables) place(id);
  // Never empty, so that endless recursion ends at the end of local memory.
  code.local_bytes = ptx::frame_bytes(std::max<std::uint64_t>(end, 1));
}

std::unique_ptr<FunctionCode> prepare_function(ModuleCode& module, ptx::FunctionId id) {
  auto code = std::make_unique<FunctionCode>();
  code->function = &module.module->functions[id];
  code->id = id;
  if (code->function->is_declaration) {
    if (const auto service = ptx::find_device_service(*module.module, *code->function))
      code->built_in = built_in(*service);
    return code;
  }
  code->instructions.reserve(code->function->instructions.size());
  for (const auto& instruction : code->function->instructions) {
    code->instructions.push_back(prepare_instruction(instruction));
  }
  mark_waiting_loops(*module.module, *code);
  mark_awaited(*code);
  mark_fenced(*code);
  place_registers(*code);
  place_private(*module.module, *code, module.private_offset);
  place_joins(*code);
  return code;
}

ptx::FunctionId resolve_alias(const ptx::Module& module, ptx::FunctionId id) {
  while (id < module.functions.size() && module.functions[id].alias_of != ptx::kNone)
    id = module.functions[id].alias_of;
  return id;
}

bool has_open_stack(const FunctionCode& code) {
  const auto& calls = code.function->calls;
  const auto& instructions = code.function->instructions;
  if (std::any_of(instructions.begin(), instructions.end(),
                  [](const auto& i) { return i.opcode->is(isa::Effects::stack); }))
    return true;
  return std::any_of(calls.begin(), calls.end(),
                     [](const ptx::Call& call) { return call.callee.kind != ptx::Operand::Kind::function; });
}

/// One error that names everything that is missing, so that a user sees all of it at once (K-17).
Result<void> check_supported(const ModuleCode& code) {
  std::string missing;
  for (const auto& function : code.functions) {
    if (!function) continue;
    const ptx::Function& source = *function->function;
    if (source.is_declaration && function->built_in == nullptr) {
      missing += fmt::format("\n  function '{}' has no body and is no device service with these parameters",
                             source.name);
    }
    for (const auto& item : source.unsupported) {
      missing += fmt::format("\n  {}: {} (line {}, {} times): {}", source.name, item.what, item.first_line,
                             item.count, item.reason);
    }
  }
  if (missing.empty()) return {};
  return Error::unsupported("kernel '{}' cannot be executed:{}", code.module->functions[code.kernel].name,
                            missing);
}

}  // namespace

const FunctionCode* ModuleCode::find(ptx::FunctionId id) const {
  id = resolve_alias(*module, id);
  return id < functions.size() ? functions[id].get() : nullptr;
}

Result<std::unique_ptr<ModuleCode>> prepare(const ptx::Module& module, ptx::FunctionId kernel,
                                            std::uint32_t stack_bytes) {
  RADDLE_ASSERT(kernel < module.functions.size(), "no such function");
  auto code = std::make_unique<ModuleCode>();
  code->module = &module;
  code->kernel = resolve_alias(module, kernel);
  code->functions.resize(module.functions.size());
  code->private_offset.assign(module.variables.size(), ModuleCode::kNotPrivate);
  code->shared_offsets = ptx::shared_layout(module, code->kernel).offset;
  bool open_depth = false;
  for (ptx::FunctionId id : ptx::call_closure(module, code->kernel)) {
    code->functions[id] = prepare_function(*code, id);
    open_depth |= has_open_stack(*code->functions[id]);
  }
  TRY(check_supported(*code));
  const ptx::CallDepth depth = ptx::call_depth(
      module, code->kernel, [&](ptx::FunctionId id) { return code->functions[id]->local_bytes; });
  open_depth |= depth.is_recursive;
  code->local_bytes = static_cast<std::uint32_t>(depth.bytes + (open_depth ? stack_bytes : 0));
  return code;
}

}  // namespace raddle::interp
