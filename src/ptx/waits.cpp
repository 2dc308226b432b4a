// A backward slice from a loop's exits, per exit. Loops in which nothing could be waited for are dismissed
// first, so ordinary kernels pay next to nothing.
#include "ptx/waits.h"

#include <algorithm>

#include "ptx/control.h"
#include "ptx/device_services.h"
#include "ptx/layout.h"
#include "ptx/parser.h"

namespace raddle::ptx {
namespace {

bool is_call(const Instruction& i) { return i.extra != kNone && !ends_block(i); }

bool is_block_barrier(const Instruction& i) {
  const isa::Scope scope = i.opcode->row->text->scope;
  return (scope == isa::Scope::cta || scope == isa::Scope::cluster) && i.opcode->is(isa::Effects::sync);
}

Space space_read(const Instruction& i) { return space_of(i.opcode->get(isa::ModKind::space)); }

}  // namespace

Waits::Looks Waits::looks_of(const Instruction& instruction) {
  const isa::Opcode& opcode = *instruction.opcode;
  if (opcode.observes()) return Looks::at_others;
  if (opcode.row->text->observes == isa::Observes::never) return Looks::nowhere;
  if (opcode.has(isa::Mod::nc)) return Looks::nowhere;  // memory that nobody writes
  const Space space = space_read(instruction);
  const bool is_common = space == Space::generic || space == Space::global || space == Space::shared;
  return is_common ? Looks::plainly : Looks::nowhere;
}

Waits::Looks Waits::looks_of(const Module& module, FunctionId function) {
  Looks most = Looks::nowhere;
  for (const FunctionId id : call_closure(module, function)) {
    const Function& f = module.functions[id];
    if (f.is_declaration && !find_device_service(module, f)) return Looks::at_others;
    for (const Instruction& i : f.instructions) most = std::max(most, looks_of(i));
  }
  return most;
}

Waits::Looks Waits::looks(const Instruction& instruction) {
  if (!is_call(instruction)) return looks_of(instruction);
  auto& known = calls_[instruction.extra];
  if (!known) {
    const Operand& callee = function_.calls[instruction.extra].callee;
    known = callee.kind == Operand::Kind::function ? looks_of(module_, callee.index) : Looks::at_others;
  }
  return *known;
}

const Liveness& Waits::live() {
  if (!live_) live_ = liveness(function_, cfg_);
  return *live_;
}

/// What one exit of a loop depends on.
class Waits::Slice {
 public:
  /// @param most  the most that an instruction of the loop looks at
  Slice(Waits& waits, const Loop& loop, const std::vector<bool>& inside, Looks most, bool may_spin)
      : waits_(waits),
        loop_(loop),
        inside_(inside),
        most_(most),
        may_spin_(may_spin),
        wanted_(waits.function_.registers.size()),
        controlled_(waits.cfg_.nodes.size()) {}

  bool waits_at(BlockId exit) {
    want_branch(exit);
    bool moves = false;  // something changes from turn to turn
    while (!work_.empty()) {
      const RegisterId reg = work_.back();
      work_.pop_back();
      for (const auto& [block, index] : waits_.definitions_[reg]) {
        if (!inside_[block]) continue;
        if (may_spin_) moves = moves || waits_.live().live(loop_.header, reg);
        if (follow(block, waits_.function_.instructions[index])) return true;
      }
    }
    return spins_ && !moves;
  }

 private:
  /// @returns whether other threads decide the instruction's result
  bool follow(BlockId block, const Instruction& instruction) {
    const Looks looks = waits_.looks(instruction);
    if (looks == Looks::at_others) return true;
    const Space space = space_read(instruction);
    const bool reads =
        instruction.opcode->is(isa::Effects::reads) && !is_call(instruction) && !reads_parameter(instruction);
    // A value read from others may come through the thread's own memory.
    if (most_ == Looks::at_others && reads && (space == Space::local || space == Space::param)) return true;
    if (may_spin_ && looks == Looks::plainly)
      spins_ = spins_ || is_call(instruction) || is_fixed(instruction);
    if (may_spin_ && reads && space == Space::param) follow_arguments();
    register_uses(waits_.function_, instruction, uses_);
    const std::vector<RegisterId> sources = uses_.uses;
    for (const RegisterId r : sources) want(r);
    want_controllers(block);
    return false;
  }

  /// An argument of the function itself, which does not change.
  bool reads_parameter(const Instruction& load) const {
    for (const Operand& o : waits_.function_.operands_of(load))
      if (o.kind == Operand::Kind::address && o.base == Operand::Base::variable)
        return waits_.module_.variables[o.index].is_parameter;
    return false;
  }

  /// A result of a call depends on the arguments of the loop's calls.
  void follow_arguments() {
    for (const BlockId b : loop_.body)
      for (std::uint32_t n = waits_.function_.blocks[b].begin; n < waits_.function_.blocks[b].end; ++n) {
        const Instruction& i = waits_.function_.instructions[n];
        if (is_call(i)) spins_ = spins_ || waits_.looks(i) == Looks::plainly;
        if (!i.opcode->is(isa::Effects::writes) || space_read(i) != Space::param) continue;
        register_uses(waits_.function_, i, uses_);
        const std::vector<RegisterId> sources = uses_.uses;
        for (const RegisterId r : sources) want(r);
      }
  }

  /// The address is the same in every turn.
  bool is_fixed(const Instruction& load) const {
    for (const Operand& o : waits_.function_.operands_of(load))
      if (o.kind == Operand::Kind::address && o.base == Operand::Base::reg && !stays(o.index, 0))
        return false;
    return true;
  }

  bool stays(RegisterId reg, unsigned depth) const {
    constexpr unsigned kDeepest = 8;
    if (depth == kDeepest) return false;
    RegisterUses uses;
    for (const auto& [block, index] : waits_.definitions_[reg]) {
      if (!inside_[block]) continue;
      const Instruction& i = waits_.function_.instructions[index];
      if (i.guard != kNone || i.opcode->row->text->effects != isa::Effects::pure) return false;
      register_uses(waits_.function_, i, uses);
      const std::vector<RegisterId> sources = uses.uses;
      for (const RegisterId r : sources)
        if (r == reg || !stays(r, depth + 1)) return false;
    }
    return true;
  }

  void want(RegisterId reg) {
    if (wanted_[reg]) return;
    wanted_[reg] = true;
    work_.push_back(reg);
  }

  /// The condition of the block's branch, and the conditions for reaching the block.
  void want_branch(BlockId block) {
    const Block& b = waits_.function_.blocks[block];
    if (b.end == b.begin) return;
    register_uses(waits_.function_, waits_.function_.instructions[b.end - 1], uses_);
    const std::vector<RegisterId> conditions = uses_.uses;
    for (const RegisterId r : conditions) want(r);
    want_controllers(block);
  }

  /// Branches of the loop from which one way leads to `block` within a turn and another does not.
  void want_controllers(BlockId block) {
    if (controlled_[block]) return;
    controlled_[block] = true;
    std::vector<bool> leads(waits_.cfg_.nodes.size());
    std::vector<BlockId> work{block};
    leads[block] = true;
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      if (at == loop_.header) continue;
      for (const BlockId p : waits_.cfg_.nodes[at].predecessors) {
        if (!inside_[p] || leads[p]) continue;
        leads[p] = true;
        work.push_back(p);
      }
    }
    for (const BlockId b : loop_.body) {
      const auto& successors = waits_.cfg_.nodes[b].successors;
      std::size_t yes = 0;
      for (const BlockId s : successors) yes += inside_[s] && s != loop_.header && leads[s];
      if (yes != 0 && yes != successors.size()) want_branch(b);
    }
  }

  Waits& waits_;
  const Loop& loop_;
  const std::vector<bool>& inside_;
  const Looks most_;
  const bool may_spin_;
  bool spins_ = false;
  std::vector<bool> wanted_, controlled_;
  std::vector<RegisterId> work_;
  RegisterUses uses_;
};

void Waits::find_definitions() {
  if (!definitions_.empty()) return;
  definitions_.resize(function_.registers.size());
  RegisterUses uses;
  for (BlockId b = 0; b < function_.blocks.size(); ++b)
    for (std::uint32_t i = function_.blocks[b].begin; i < function_.blocks[b].end; ++i) {
      register_uses(function_, function_.instructions[i], uses);
      for (const RegisterId r : uses.definitions) definitions_[r].push_back({b, i});
    }
}

bool Waits::may_wait(const Loop& loop) {
  Looks most = Looks::nowhere;
  bool barrier = false;
  for (const BlockId b : loop.body)
    for (std::uint32_t i = function_.blocks[b].begin; i < function_.blocks[b].end; ++i) {
      most = std::max(most, looks(function_.instructions[i]));
      barrier = barrier || is_block_barrier(function_.instructions[i]);
    }
  const bool may_spin = most != Looks::nowhere && !barrier;  // with a barrier each turn waits for the others
  if (most != Looks::at_others && !may_spin) return false;
  find_definitions();
  std::vector<bool> inside(cfg_.nodes.size());
  for (const BlockId b : loop.body) inside[b] = true;
  return std::any_of(loop.body.begin(), loop.body.end(), [&](BlockId b) {
    const Cfg::Node& node = cfg_.nodes[b];
    const bool leaves =
        node.exit == Exit::conditional_end || node.exit == Exit::end ||
        std::any_of(node.successors.begin(), node.successors.end(), [&](BlockId s) { return !inside[s]; });
    return leaves && Slice(*this, loop, inside, most, may_spin).waits_at(b);
  });
}

bool Waits::any() {
  const std::vector<Loop> loops = find_loops(cfg_);
  return std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) { return may_wait(loop); });
}

}  // namespace raddle::ptx
