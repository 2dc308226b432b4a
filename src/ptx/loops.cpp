// Natural loops and the backward slice from a loop's exits to the reads that other threads answer.
// Loops without such a read are dismissed first, so ordinary kernels pay next to nothing.
#include "ptx/loops.h"

#include <algorithm>

#include "ptx/control.h"

namespace raddle::ptx {

bool is_waiting_read(const Instruction& instruction) {
  const Opcode& opcode = *instruction.opcode;
  if (!opcode.is(isa::Effects::reads)) return false;
  if (opcode.is(isa::Effects::writes)) return true;
  const isa::Mod semantics = opcode.get(isa::ModKind::semantics), cache = opcode.get(isa::ModKind::cache);
  if (semantics != isa::Mod::none && semantics != isa::Mod::weak) return true;
  return cache == isa::Mod::cg || cache == isa::Mod::cv || opcode.is(isa::Effects::sync);
}

namespace {

/// Retreating edges of a depth-first walk from block 0, without recursion.
std::vector<std::pair<BlockId, BlockId>> retreating_edges(const Cfg& cfg) {
  enum : std::uint8_t { fresh, open, closed };
  std::vector<std::uint8_t> state(cfg.nodes.size(), fresh);
  std::vector<std::pair<BlockId, std::size_t>> stack;
  std::vector<std::pair<BlockId, BlockId>> edges;
  for (BlockId root = 0; root < cfg.nodes.size(); ++root) {
    if (state[root] != fresh) continue;
    stack.push_back({root, 0});
    state[root] = open;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const auto& successors = cfg.nodes[block].successors;
      if (next == successors.size()) {
        state[block] = closed;
        stack.pop_back();
        continue;
      }
      const BlockId successor = successors[next++];
      if (state[successor] == open) edges.push_back({block, successor});
      if (state[successor] != fresh) continue;
      state[successor] = open;
      stack.push_back({successor, 0});
    }
  }
  return edges;
}

Loop loop_of(const Cfg& cfg, BlockId source, BlockId header) {
  std::vector<bool> inside(cfg.nodes.size(), false);
  std::vector<BlockId> work;
  inside[header] = true;
  if (!inside[source]) work.push_back(source);
  inside[source] = true;
  while (!work.empty()) {
    const BlockId block = work.back();
    work.pop_back();
    for (const BlockId p : cfg.nodes[block].predecessors) {
      if (inside[p]) continue;
      inside[p] = true;
      work.push_back(p);
    }
  }
  Loop loop{header, {}};
  for (BlockId b = 0; b < cfg.nodes.size(); ++b)
    if (inside[b]) loop.body.push_back(b);
  return loop;
}

/// Follows dependences backwards from the loop's exits.
class Slice {
 public:
  Slice(const Function& function, const Cfg& cfg, const Loop& loop, bool call_waits)
      : function_(function),
        cfg_(cfg),
        loop_(loop),
        call_waits_(call_waits),
        inside_(cfg.nodes.size(), false) {
    for (const BlockId b : loop.body) inside_[b] = true;
  }

  bool reaches_waiting_read() {
    if (!any_waiting_read()) return false;
    collect_definitions();
    for (const BlockId b : loop_.body)
      for (const BlockId s : cfg_.nodes[b].successors)
        if (!inside_[s]) want_branch(b);
    for (const BlockId b : loop_.body)  // leaving by ret or exit
      if (cfg_.nodes[b].exit == Exit::conditional_end || cfg_.nodes[b].exit == Exit::end) want_branch(b);
    while (!work_.empty() && !found_) {
      const RegisterId reg = work_.back();
      work_.pop_back();
      for (const auto& [block, instruction] : definitions_[reg])
        follow(block, function_.instructions[instruction]);
    }
    return found_;
  }

 private:
  bool waits(const Instruction& i) const {
    if (i.extra != kNone && !ends_block(i)) return call_waits_;
    return is_waiting_read(i);
  }

  bool any_waiting_read() const {
    for (const BlockId b : loop_.body)
      for (std::uint32_t i = function_.blocks[b].begin; i < function_.blocks[b].end; ++i)
        if (waits(function_.instructions[i])) return true;
    return false;
  }

  void collect_definitions() {
    definitions_.resize(function_.registers.size());
    wanted_.resize(function_.registers.size(), false);
    controlled_.resize(cfg_.nodes.size(), false);
    for (const BlockId b : loop_.body) {
      for (std::uint32_t i = function_.blocks[b].begin; i < function_.blocks[b].end; ++i) {
        register_uses(function_, function_.instructions[i], uses_);
        for (const RegisterId r : uses_.definitions) definitions_[r].push_back({b, i});
      }
    }
  }

  void want(RegisterId reg) {
    if (wanted_[reg]) return;
    wanted_[reg] = true;
    work_.push_back(reg);
  }

  /// The condition of the block's branch, and what decides whether it is reached.
  void want_branch(BlockId block) {
    const Block& b = function_.blocks[block];
    if (b.end == b.begin) return;
    register_uses(function_, function_.instructions[b.end - 1], uses_);
    const std::vector<RegisterId> conditions = uses_.uses;
    for (const RegisterId r : conditions) want(r);
    want_controllers(block);
  }

  void follow(BlockId block, const Instruction& instruction) {
    // What a call returns comes back through memory, so a load of a parameter may be a call's result.
    found_ |= waits(instruction) ||
              (call_waits_ && instruction.opcode->get(isa::ModKind::space) == isa::Mod::param);
    register_uses(function_, instruction, uses_);
    const std::vector<RegisterId> sources = uses_.uses;
    for (const RegisterId r : sources) want(r);
    want_controllers(block);
  }

  /// Branches of the loop from which one way leads to `block` within an iteration and another does not.
  void want_controllers(BlockId block) {
    if (controlled_[block]) return;
    controlled_[block] = true;
    std::vector<bool> leads(cfg_.nodes.size(), false);
    std::vector<BlockId> work{block};
    leads[block] = true;
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      if (at == loop_.header) continue;
      for (const BlockId p : cfg_.nodes[at].predecessors) {
        if (!inside_[p] || leads[p]) continue;
        leads[p] = true;
        work.push_back(p);
      }
    }
    for (const BlockId b : loop_.body) {
      const auto& successors = cfg_.nodes[b].successors;
      unsigned yes = 0;
      for (const BlockId s : successors) yes += inside_[s] && s != loop_.header && leads[s];
      if (yes == 0 || yes == successors.size()) continue;
      want_branch(b);
    }
  }

  const Function& function_;
  const Cfg& cfg_;
  const Loop& loop_;
  bool call_waits_, found_ = false;
  std::vector<bool> inside_, wanted_, controlled_;
  std::vector<std::vector<std::pair<BlockId, std::uint32_t>>> definitions_;  // by register, in the loop
  std::vector<RegisterId> work_;
  RegisterUses uses_;
};

}  // namespace

std::vector<Loop> find_loops(const Cfg& cfg) {
  std::vector<Loop> loops;
  for (const auto& [source, header] : retreating_edges(cfg)) loops.push_back(loop_of(cfg, source, header));
  return loops;
}

bool may_wait(const Function& function, const Cfg& cfg, const Loop& loop, bool call_waits) {
  return Slice(function, cfg, loop, call_waits).reaches_waiting_read();
}

}  // namespace raddle::ptx
