// Control flow and liveness, from blocks, rows and nothing else.
#include "ptx/cfg.h"

#include <algorithm>
#include <unordered_map>

#include "base/thread_value.h"
#include "ptx/control.h"

namespace raddle::ptx {
namespace {

/// Bit i: operand i of the opcode's form is a destination; of these: it is read, too.
struct Destinations {
  std::uint32_t all = 0, updated = 0;
};

/// Remembered per opcode: opcodes live for the process.
Destinations destinations_of(const Opcode& opcode) {
  auto& known = thread_value<std::unordered_map<const Opcode*, Destinations>, struct KnownDestinations>();
  const auto [entry, added] = known.try_emplace(&opcode);
  if (!added) return entry->second;
  const auto& slots = opcode.form->operands;
  for (std::size_t i = 0; i < slots.size() && i < 32; ++i)
    for (const isa::OperandSpec& spec : opcode.row->operands) {
      if (spec.name != slots[i].name || !spec.is_destination) continue;
      entry->second.all |= 1u << i;
      if (spec.is_updated) entry->second.updated |= 1u << i;
    }
  return entry->second;
}

void collect(const Function& function, const Operand& operand, bool destination, RegisterUses& out) {
  if (operand.kind == Operand::Kind::reg) {
    (destination ? out.definitions : out.uses).push_back(operand.index);
  } else if (operand.kind == Operand::Kind::address) {
    if (operand.base == Operand::Base::reg) out.uses.push_back(operand.index);
  } else if (operand.kind == Operand::Kind::vector) {
    for (const Operand& element : function.elements_of(operand)) collect(function, element, destination, out);
  }
}

void add_indexed(const Function& function, const Instruction& last, Cfg::Node& node) {
  node.exit = Exit::indexed;
  for (const BlockId target : function.branch_targets[last.extra])
    if (std::find(node.successors.begin(), node.successors.end(), target) == node.successors.end())
      node.successors.push_back(target);
}

void add_exit(const Function& function, BlockId block, Cfg::Node& node) {
  const Block& b = function.blocks[block];
  const bool has_next = block + 1 < function.blocks.size();
  const Instruction* last = b.end > b.begin ? &function.instructions[b.end - 1] : nullptr;
  if (!last || !ends_block(*last)) {
    node.exit = has_next ? Exit::fallthrough : Exit::end;
    if (has_next) node.successors.push_back(block + 1);
    return;
  }
  const bool guarded = last->guard != kNone;
  if (const Operand* target = branch_target(function, *last)) {
    node.exit = guarded ? Exit::conditional : Exit::branch;
    node.successors.push_back(target->index);
  } else if (last->extra != kNone) {
    add_indexed(function, *last, node);
  } else {
    node.exit = guarded ? Exit::conditional_end : Exit::end;
  }
  if (guarded && has_next) node.successors.push_back(block + 1);
}

}  // namespace

bool ends_block(const Instruction& instruction) {
  if (!instruction.opcode->is(isa::Effects::control)) return false;
  const auto& specs = instruction.opcode->row->operands;
  return std::none_of(specs.begin(), specs.end(),
                      [](const auto& spec) { return spec.kind == isa::OperandKind::call; });
}

const Operand* branch_target(const Function& function, const Instruction& instruction) {
  for (const Operand& operand : function.operands_of(instruction))
    if (operand.kind == Operand::Kind::label && operand.index != kNone) return &operand;
  return nullptr;
}

Cfg build_cfg(const Function& function) {
  Cfg cfg;
  cfg.nodes.resize(function.blocks.size());
  for (BlockId block = 0; block < cfg.nodes.size(); ++block) add_exit(function, block, cfg.nodes[block]);
  for (BlockId block = 0; block < cfg.nodes.size(); ++block) {
    for (const BlockId successor : cfg.nodes[block].successors) {
      auto& predecessors = cfg.nodes[successor].predecessors;
      if (predecessors.empty() || predecessors.back() != block) predecessors.push_back(block);
    }
  }
  return cfg;
}

std::vector<BlockId> reverse_postorder(const Cfg& cfg) {
  std::vector<BlockId> order;
  std::vector<bool> seen(cfg.nodes.size());
  std::vector<std::pair<BlockId, std::size_t>> path;  // block, successors walked
  if (!cfg.nodes.empty()) path.push_back({0, 0}), seen[0] = true;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    const auto& successors = cfg.nodes[block].successors;
    if (next == successors.size()) {
      order.push_back(block);
      path.pop_back();
      continue;
    }
    const BlockId s = successors[next++];
    if (!seen[s]) seen[s] = true, path.push_back({s, 0});
  }
  std::reverse(order.begin(), order.end());
  return order;
}

void register_uses(const Function& function, const Instruction& instruction, RegisterUses& out) {
  out.uses.clear();
  out.definitions.clear();
  if (instruction.guard != kNone) out.uses.push_back(instruction.guard);
  const Destinations destinations = destinations_of(*instruction.opcode);
  const auto operands = function.operands_of(instruction);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool destination = i < 32 && (destinations.all >> i & 1) != 0;
    collect(function, operands[i], destination, out);
    if (destination && (destinations.updated >> i & 1) != 0) collect(function, operands[i], false, out);
  }
  if (instruction.extra == kNone || ends_block(instruction)) return;
  const Call& call = function.calls[instruction.extra];
  for (const Operand& argument : call.arguments) collect(function, argument, false, out);
  for (const Operand& result : call.returns) collect(function, result, true, out);
}

namespace {

void collect_places(Function& function, Operand& operand, RegisterPlace place,
                    std::vector<RegisterPlace>& out) {
  place.name = &operand.index;
  if (operand.kind == Operand::Kind::reg) out.push_back(place);
  if (operand.kind == Operand::Kind::address && operand.base == Operand::Base::reg)
    out.push_back({&operand.index, true, false});
  if (operand.kind != Operand::Kind::vector) return;
  for (std::uint32_t k = 0; k < operand.count; ++k)
    collect_places(function, function.elements[operand.index + k], place, out);
}

}  // namespace

void register_places(Function& function, Instruction& instruction, std::vector<RegisterPlace>& out) {
  constexpr RegisterPlace kRead{nullptr, true, false}, kWritten{nullptr, false, true};
  out.clear();
  if (instruction.guard != kNone) out.push_back({&instruction.guard, true, false});
  Call* call =
      instruction.extra != kNone && !ends_block(instruction) ? &function.calls[instruction.extra] : nullptr;
  if (call) {
    collect_places(function, call->callee, kRead, out);
    for (Operand& argument : call->arguments) collect_places(function, argument, kRead, out);
  }
  const Destinations destinations = destinations_of(*instruction.opcode);
  for (const bool written : {false, true})
    for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
      if ((i < 32 && (destinations.all >> i & 1) != 0) != written) continue;
      const bool is_read = !written || (destinations.updated >> i & 1) != 0;
      collect_places(function, function.operands[instruction.operands + i], {nullptr, is_read, written}, out);
    }
  if (!call) return;
  for (Operand& result : call->returns) collect_places(function, result, kWritten, out);
}

namespace {

class LivenessSolver {
 public:
  LivenessSolver(const Function& function, const Cfg& cfg) : function_(function), cfg_(cfg) {
    words_ = (function.registers.size() + 63) / 64;
    killed_.assign(words_ * cfg.nodes.size(), 0);
    live_.assign(words_ * cfg.nodes.size(), 0);
    for (BlockId block = 0; block < cfg.nodes.size(); ++block) summarise(block);
  }

  Liveness run() {
    std::vector<BlockId> work;
    std::vector<bool> queued(cfg_.nodes.size(), true);
    for (BlockId block = 0; block < cfg_.nodes.size(); ++block) work.push_back(block);
    while (!work.empty()) {
      const BlockId block = work.back();
      work.pop_back();
      queued[block] = false;
      if (!update(block)) continue;
      for (const BlockId predecessor : cfg_.nodes[block].predecessors) {
        if (queued[predecessor]) continue;
        queued[predecessor] = true;
        work.push_back(predecessor);
      }
    }
    return {words_, std::move(live_)};
  }

 private:
  /// Used before defined -> live at entry; defined without a guard -> killed.
  void summarise(BlockId block) {
    std::uint64_t* killed = killed_.data() + block * words_;
    for (std::uint32_t i = function_.blocks[block].begin; i < function_.blocks[block].end; ++i) {
      const Instruction& instruction = function_.instructions[i];
      register_uses(function_, instruction, uses_);
      for (const RegisterId r : uses_.uses) use(block, r);
      if (instruction.guard != kNone) continue;  // the old value survives where the guard is false
      for (const RegisterId r : uses_.definitions) killed[r / 64] |= 1ull << (r % 64);
    }
    const Exit exit = cfg_.nodes[block].exit;
    if (exit == Exit::end || exit == Exit::conditional_end)
      for (const RegisterId r : function_.return_registers) use(block, r);
  }

  void use(BlockId block, RegisterId r) {
    const std::size_t word = block * words_ + r / 64;
    live_[word] |= (1ull << (r % 64)) & ~killed_[word];
  }

  bool update(BlockId block) {
    bool changed = first_visit(block);
    for (const BlockId successor : cfg_.nodes[block].successors) {
      for (std::size_t w = 0; w < words_; ++w) {
        std::uint64_t& mine = live_[block * words_ + w];
        const std::uint64_t more = mine | (live_[successor * words_ + w] & ~killed_[block * words_ + w]);
        changed |= more != mine;
        mine = more;
      }
    }
    return changed;
  }

  /// A block's own uses count as a change the first time.
  bool first_visit(BlockId block) {
    if (visited_.empty()) visited_.assign(cfg_.nodes.size(), false);
    const bool first = !visited_[block];
    visited_[block] = true;
    return first;
  }

  const Function& function_;
  const Cfg& cfg_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> killed_, live_;
  std::vector<bool> visited_;
  RegisterUses uses_;
};

}  // namespace

Liveness liveness(const Function& function, const Cfg& cfg) { return LivenessSolver(function, cfg).run(); }

}  // namespace raddle::ptx
