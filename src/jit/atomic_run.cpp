#include "jit/atomic_run.h"

#include <algorithm>

#include "isa/op.h"
#include "jit/mma_run.h"

namespace raddle::jit {
namespace {

using isa::Mod;
using isa::ModKind;
using ptx::Instruction;

/// What a word holds after several of them does not depend on their order. Sums of floats do.
bool may_change_order(const isa::Opcode& opcode) {
  if (isa::is_float(opcode.type(opcode.type_count - 1))) return false;
  switch (opcode.get(ModKind::operation)) {
    case Mod::add:
    case Mod::and_:
    case Mod::or_:
    case Mod::xor_:
    case Mod::min:
    case Mod::max:
      return true;
    default:
      return false;
  }
}

bool is_relaxed(const isa::Opcode& opcode) {
  return opcode.is_weak() || opcode.get(ModKind::semantics) == Mod::relaxed;
}

/// The runs of a block, in order.
class AtomicRunFinder {
 public:
  AtomicRunFinder(const FunctionPlan& plan, BlockId block)
      : plan_(plan), function_(plan.function), block_(block) {}

  std::vector<const Instruction*> run_of(const Instruction& wanted) {
    if (!may_join(wanted)) return {&wanted};
    const ptx::Block& block = function_.blocks[block_];
    bool is_found = false;
    for (std::uint32_t n = block.begin; n < block.end; ++n) {
      const Instruction& i = function_.instructions[n];
      const bool joins = may_join(i);
      if (joins ? !continues(i) : !may_stand_between(i)) {
        if (is_found) break;
        run_.clear();
      }
      if (joins) run_.push_back(&i);
      is_found |= &i == &wanted;
    }
    return run_;
  }

 private:
  bool may_join(const Instruction& i) const {
    const isa::Opcode& opcode = *i.opcode;
    const bool has_result = i.op() == isa::Op::atom;
    if (i.op() != isa::Op::red && !has_result) return false;
    return ptx::space_of(opcode.get(ModKind::space)) == ptx::Space::shared && is_relaxed(opcode) &&
           may_change_order(opcode) && !(has_result && is_read(plan_, block_, i, 0));
  }
  /// The same operation of the same lanes.
  bool continues(const Instruction& i) const {
    if (run_.empty()) return true;
    const Instruction& first = *run_[0];
    return run_.size() < kMostAtomics && i.opcode->text == first.opcode->text && i.guard == first.guard &&
           i.guard_negated == first.guard_negated;
  }
  /// It neither sees shared memory nor changes the guard.
  bool may_stand_between(const Instruction& i) {
    if (run_.empty()) return true;
    if (i.opcode->row->text->effects != isa::Effects::pure && !(is_plain_load(i) && is_elsewhere(i)))
      return false;
    ptx::register_uses(function_, i, now_);
    return std::ranges::find(now_.definitions, run_[0]->guard) == now_.definitions.end();
  }
  static bool is_elsewhere(const Instruction& i) {
    const ptx::Space space = ptx::space_of(i.opcode->get(ModKind::space));
    return space == ptx::Space::global || space == ptx::Space::const_ || space == ptx::Space::local;
  }

  const FunctionPlan& plan_;
  const ptx::Function& function_;
  const BlockId block_;
  std::vector<const Instruction*> run_;
  ptx::RegisterUses now_;
};

}  // namespace

std::vector<const Instruction*> atomic_run(const FunctionPlan& plan, BlockId b, const Instruction& atomic) {
  return AtomicRunFinder(plan, b).run_of(atomic);
}

bool is_read(const FunctionPlan& plan, BlockId b, const Instruction& instruction, unsigned k) {
  const ptx::Function& f = plan.function;
  const ptx::Operand& written = f.operands_of(instruction)[k];
  if (written.kind == ptx::Operand::Kind::sink) return false;
  if (written.kind != ptx::Operand::Kind::reg) return true;
  ptx::RegisterUses uses;
  for (const Instruction* i = &instruction + 1; i != f.instructions.data() + f.blocks[b].end; ++i) {
    ptx::register_uses(f, *i, uses);
    if (std::ranges::find(uses.uses, written.index) != uses.uses.end()) return true;
    const bool overwrites = std::ranges::find(uses.definitions, written.index) != uses.definitions.end();
    if (overwrites && i->guard == ptx::kNone) return false;
  }
  const ptx::Cfg::Node& node = plan.cfg.nodes[b];
  const bool may_return = node.exit == ptx::Exit::end || node.exit == ptx::Exit::conditional_end;
  if (may_return && std::ranges::find(f.return_registers, written.index) != f.return_registers.end())
    return true;
  return std::ranges::any_of(node.successors,
                             [&](BlockId next) { return plan.live.live(next, written.index); });
}

}  // namespace raddle::jit
