#include "jit/wgmma_run.h"

#include <algorithm>

#include "isa/op.h"
#include "jit/matrix_warpgroup.h"
#include "ptx/cfg.h"
#include "ptx/fences.h"

namespace raddle::jit {
namespace {

using ptx::Instruction;
using ptx::Operand;

/// The runs of a block, in order.
class RunFinder {
 public:
  explicit RunFinder(const ptx::Function& function) : function_(function) {}

  WgmmaRun run_of(const ptx::Block& block, const Instruction& wanted) {
    for (std::uint32_t n = block.begin; n < block.end; ++n) {
      const Instruction& i = function_.instructions[n];
      if (ptx::is_wgmma(i) ? !continues(i) : !may_stand_between(i)) {
        if (is_found_) break;
        run_.clear();
      }
      if (ptx::is_wgmma(i)) run_.push_back(&i);
      if (&i == &wanted) is_found_ = true;
    }
    const auto place = std::ranges::find(run_, &wanted);
    return {static_cast<unsigned>(place - run_.begin()), static_cast<unsigned>(run_.size())};
  }

 private:
  /// The same product of the same D. Where D is rounded or clamped after each, a sum of several is another.
  bool continues(const Instruction& i) const {
    if (run_.empty() || run_.size() == kMostSteps) return false;
    const Instruction& first = *run_[0];
    return i.opcode->text == first.opcode->text && i.op() == isa::Op::wgmma_mma_async &&
           i.opcode->type(0) != isa::Type::f16 && !i.opcode->has(isa::Mod::satfinite) &&
           i.guard == ptx::kNone && first.guard == ptx::kNone && has_same_operands(i, first);
  }

  /// D and the constants; A is in registers of both or of none.
  bool has_same_operands(const Instruction& x, const Instruction& y) const {
    constexpr std::size_t kConstants = 4;  // behind D, A, B and scale-d
    const auto of_x = function_.operands_of(x), of_y = function_.operands_of(y);
    const auto is_same_constant = [](const Operand& a, const Operand& b) {
      return a.kind == b.kind && a.value == b.value;
    };
    return (of_x[1].kind == Operand::Kind::vector) == (of_y[1].kind == Operand::Kind::vector) &&
           std::ranges::equal(function_.elements_of(of_x[0]), function_.elements_of(of_y[0]), is_same) &&
           std::ranges::equal(of_x.subspan(kConstants), of_y.subspan(kConstants), is_same_constant);
  }
  static bool is_same(const Operand& a, const Operand& b) {
    return a.kind == Operand::Kind::reg && b.kind == Operand::Kind::reg && a.index == b.index;
  }

  /// It only computes in registers, none of them D's.
  bool may_stand_between(const Instruction& i) {
    if (run_.empty()) return true;
    if (i.opcode->row->text->effects != isa::Effects::pure) return false;
    ptx::register_uses(function_, i, now_);
    const auto d = function_.elements_of(function_.operands_of(*run_[0])[0]);
    const auto is_of_d = [&](ptx::RegisterId r) {
      return std::ranges::any_of(
          d, [&](const Operand& o) { return o.kind == Operand::Kind::reg && o.index == r; });
    };
    return std::ranges::none_of(now_.uses, is_of_d) && std::ranges::none_of(now_.definitions, is_of_d);
  }

  const ptx::Function& function_;
  std::vector<const Instruction*> run_;
  bool is_found_ = false;
  ptx::RegisterUses now_;
};

}  // namespace

WgmmaRun wgmma_run(const ptx::Function& function, const ptx::Block& block, const Instruction& wgmma) {
  return RunFinder(function).run_of(block, wgmma);
}

}  // namespace raddle::jit
