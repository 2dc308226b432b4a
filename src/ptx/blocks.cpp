// The end of a function body: names used ahead of their definition, and the cut into basic blocks.
#include "base/assert.h"
#include "ptx/control.h"
#include "ptx/statements.h"

namespace raddle::ptx {
namespace {

using Use = PendingName::Use;

void use_label(FunctionState& f, const PendingName& pending, std::uint32_t label) {
  f.labels[label].used = true;
  if (pending.use == Use::branch_list_item) {
    f.function.branch_targets[pending.index][pending.item] = label;
    return;
  }
  if (pending.index >= f.function.operands.size()) return;  // of an instruction that was rejected
  f.function.operands[pending.index].index = label;
  f.label_operands.push_back(pending.index);
}

/// A list, prototype or set of targets that belongs to the closing scope. False: not (yet) known.
bool use_symbol(Parser& parser, const PendingName& pending) {
  const Binding binding = parser.scopes.symbol(pending.name);
  if (binding.depth != parser.scopes.depth()) return false;
  Function& f = parser.function();
  if (pending.use == Use::branch_list) {
    if (binding.kind != Binding::Kind::branch_list) return false;
    if (pending.index < f.instructions.size()) f.instructions[pending.index].extra = binding.index;
    return true;
  }
  if (pending.index >= f.calls.size()) return true;
  if (binding.kind == Binding::Kind::prototype)
    f.calls[pending.index].prototype = binding.index;
  else if (binding.kind == Binding::Kind::call_targets)
    f.calls[pending.index].targets = parser.current->call_targets[binding.index];
  else
    return false;
  return true;
}

bool resolve(Parser& parser, const PendingName& pending) {
  if (pending.use == Use::branch_list || pending.use == Use::call_selector)
    return use_symbol(parser, pending);
  if (!parser.scopes.label_is_innermost(pending.name)) return false;
  use_label(*parser.current, pending, parser.scopes.label(pending.name));
  return true;
}

void report_unknown(Parser& parser, const PendingName& pending) {
  const std::string_view name = parser.names.text(pending.name);
  switch (pending.use) {
    case Use::label_operand:
    case Use::branch_list_item:
      parser.in.error(pending.at, "label '{}' is not defined in this function", name);
      break;
    case Use::branch_list:
      parser.in.error(pending.at, "'{}' is not a .branchtargets list of this function", name);
      break;
    case Use::call_selector:
      parser.in.error(pending.at, "'{}' is neither a .callprototype nor a .calltargets list", name);
      break;
  }
}

/// Nothing falls through it.
bool always_leaves(const Instruction& instruction) {
  return ends_block(instruction) && instruction.guard == kNone;
}

/// A body that runs off its end returns; the blocks say so with a ret of their own.
void close_open_end(FunctionState& f) {
  auto& instructions = f.function.instructions;
  const bool label_at_end =
      !f.labels.empty() && f.labels.back().used && f.labels.back().instruction == instructions.size();
  if (!label_at_end && !instructions.empty() && always_leaves(instructions.back())) return;
  const auto ret = isa::resolve("ret");
  RADDLE_ASSERT(ret.ok(), "there is no row for ret");
  Instruction instruction;
  instruction.opcode = *ret;
  instruction.operands = static_cast<std::uint32_t>(f.function.operands.size());
  instruction.line = instructions.empty() ? f.function.line : instructions.back().line;
  instruction.location = f.location;
  instructions.push_back(instruction);
}

void start_block(Parser& parser, std::uint32_t at, std::size_t& next_label) {
  FunctionState& f = *parser.current;
  if (!f.function.blocks.empty()) f.function.blocks.back().end = at;
  Block block;
  block.begin = at;
  for (; next_label < f.labels.size() && f.labels[next_label].instruction <= at; ++next_label) {
    LabelRecord& label = f.labels[next_label];
    if (!label.used) continue;
    label.block = static_cast<BlockId>(f.function.blocks.size());
    if (block.label.empty()) block.label = unique_name(parser, label.name);
  }
  f.function.blocks.push_back(std::move(block));
}

std::uint32_t next_used_label(const FunctionState& f, std::size_t& from) {
  while (from < f.labels.size() && !f.labels[from].used) ++from;
  return from < f.labels.size() ? f.labels[from].instruction : kNone;
}

void point_labels(FunctionState& f) {
  for (const std::uint32_t operand : f.label_operands) {
    Operand& o = f.function.operands[operand];
    o.index = f.labels[o.index].block;
  }
  for (auto& list : f.function.branch_targets)
    for (BlockId& target : list)
      if (target != kNone) target = f.labels[target].block;
}

}  // namespace

void resolve_pending(Parser& parser, std::size_t mark) {
  auto& pending = parser.current->pending;
  std::size_t kept = mark;
  for (std::size_t i = mark; i < pending.size(); ++i) {
    const PendingName name = pending[i];
    if (!resolve(parser, name)) pending[kept++] = name;
  }
  pending.resize(kept);
  if (parser.scopes.depth() > 1) return;
  for (const PendingName& name : pending) report_unknown(parser, name);
  pending.clear();
}

void build_blocks(Parser& parser) {
  FunctionState& f = *parser.current;
  close_open_end(f);
  const auto& instructions = f.function.instructions;
  std::size_t next_label = 0;
  bool cut = true;  // the function starts a block
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    if (cut || next_used_label(f, next_label) == i) start_block(parser, i, next_label);
    cut = ends_block(instructions[i]);
  }
  if (!f.function.blocks.empty())
    f.function.blocks.back().end = static_cast<std::uint32_t>(instructions.size());
  point_labels(f);
  std::size_t block = 0;
  for (const std::uint32_t at : f.no_unroll) {
    while (block + 1 < f.function.blocks.size() && f.function.blocks[block].end <= at) ++block;
    f.function.blocks[block].no_unroll = true;
  }
}

}  // namespace raddle::ptx
