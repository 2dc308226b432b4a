#include "jit/branch_parts.h"

#include <algorithm>

#include "isa/op.h"

namespace raddle::jit {
namespace {

using isa::Op;
using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterId;

bool contains(const std::vector<RegisterId>& registers, RegisterId r) {
  return std::ranges::find(registers, r) != registers.end();
}

/// The predicates that are combined to a guard by one operation, found from the block's end backwards.
class Parts {
 public:
  Parts(const ptx::Function& function, RegisterId guard) : function_(function), open_{guard} {}

  void pass(const Instruction& i) {
    ptx::RegisterUses here;
    ptx::register_uses(function_, i, here);
    changed_.insert(changed_.end(), here.definitions.begin(), here.definitions.end());
    for (const RegisterId defined : here.definitions)
      if (std::erase(open_, defined) != 0) take_apart(defined, i);
  }

  bool is_any() const { return operation_ == Op::or_; }
  /// Operands of which the registers are the same at the block's end.
  const std::vector<Operand>& all() const { return found_; }

 private:
  void take_apart(RegisterId combined, const Instruction& i) {
    const auto operands = function_.operands_of(i);
    const bool combines = i.guard == ptx::kNone && (i.op() == Op::or_ || i.op() == Op::and_) &&
                          operands[0].type == isa::Type::pred && (!operation_ || *operation_ == i.op()) &&
                          std::ranges::all_of(operands.subspan(1), [&](const Operand& o) {
                            return o.kind == Operand::Kind::reg && !o.negated && !contains(changed_, o.index);
                          });
    if (!combines) return;
    operation_ = i.op();
    std::erase_if(found_, [&](const Operand& o) { return o.index == combined; });
    for (const Operand& o : operands.subspan(1)) {
      found_.push_back(o);
      open_.push_back(o.index);
    }
  }

  const ptx::Function& function_;
  std::vector<RegisterId> open_, changed_;  // not yet seen how it is made; made anew behind
  std::vector<Operand> found_;
  std::optional<Op> operation_;
};

}  // namespace

std::optional<BranchParts> parts_of_branch(const FunctionPlan& plan, ptx::BlockId block) {
  const ptx::Function& f = plan.function;
  const auto instructions = std::span(f.instructions).subspan(f.blocks[block].begin);
  const auto here = instructions.first(f.blocks[block].end - f.blocks[block].begin);
  if (here.empty() || here.back().guard == ptx::kNone) return {};
  Parts parts(f, here.back().guard);
  for (std::size_t i = here.size() - 1; i-- > 0;) parts.pass(here[i]);
  BranchParts result{.uniform = {}, .by_lane = {}, .any_decides = parts.is_any()};
  for (const Operand& part : parts.all())
    (plan.operand_shape(part).uniform() ? result.uniform : result.by_lane).push_back(part);
  if (result.uniform.empty() || result.by_lane.empty()) return {};
  return result;
}

}  // namespace raddle::jit
