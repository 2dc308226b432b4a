#include "jit/fragment_places.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "isa/op.h"
#include "jit/mma_run.h"

namespace raddle::jit {
namespace {

using ptx::BlockId;
using ptx::Instruction;
using ptx::RegisterId;

/// From a matrix's first instruction to its last, where it lives within a block.
struct MatrixLife {
  std::optional<BlockId> block;
  std::uint32_t first = 0, last = 0;
  bool is_alone = false;  ///< it shares no place
};

class FragmentPlaces {
 public:
  FragmentPlaces(const FunctionPlan& plan, const ptx::Function& function,
                 const std::vector<std::vector<RegisterId>>& matrices)
      : plan_(plan),
        function_(function),
        matrices_(matrices),
        lives_(matrices.size()),
        matrix_(function.registers.size()) {
    for (std::size_t n = 0; n < matrices.size(); ++n)
      for (const RegisterId r : matrices[n]) matrix_[r] = n, lives_[n].is_alone |= lives_elsewhere(r);
    for (BlockId b = 0; b < function.blocks.size(); ++b)
      for (std::uint32_t i = function.blocks[b].begin; i < function.blocks[b].end; ++i) note(b, i);
  }

  std::vector<std::size_t> share() {
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < lives_.size(); ++n)
      if (lives_[n].block && !lives_[n].is_alone) order.push_back(n);
    std::ranges::sort(order, {}, [this](std::size_t n) { return lives_[n].first; });
    std::vector<std::size_t> places(lives_.size()), last_in;
    std::iota(places.begin(), places.end(), 0);
    for (const std::size_t n : order) {
      const auto found = std::ranges::find_if(last_in, [&](std::size_t other) {
        return matrices_[other].size() == matrices_[n].size() && may_follow(n, other);
      });
      if (found == last_in.end()) {
        last_in.push_back(n);
      } else {
        places[n] = places[*found];
        *found = n;
      }
    }
    return places;
  }

 private:
  bool lives_elsewhere(RegisterId r) const {
    if (plan_.is_shared_with_machine(r)) return true;
    for (BlockId b = 0; b < function_.blocks.size(); ++b)
      if (plan_.live.live(b, r)) return true;
    return false;
  }

  void note(BlockId b, std::uint32_t i) {
    const Instruction& instruction = function_.instructions[i];
    ptx::register_uses(function_, instruction, uses_);
    for (const auto* all : {&uses_.uses, &uses_.definitions})
      for (const RegisterId r : *all) {
        if (!matrix_[r]) continue;
        MatrixLife& life = lives_[*matrix_[r]];
        if (!life.block) life.block = b, life.first = i;
        life.last = i;
        life.is_alone |= life.block != b || acts_elsewhere(instruction);
      }
  }
  /// Its products are made at another place, or by the machine.
  bool acts_elsewhere(const Instruction& i) const {
    const isa::Scope scope = i.opcode->row->text->scope;
    return may_join_run(function_, i) || scope == isa::Scope::warpgroup || scope == isa::Scope::async;
  }

  /// The other is dead when this one's first instruction writes it. A product may put its sums where those
  /// lay that it adds to.
  bool may_follow(std::size_t n, std::size_t other) const {
    const MatrixLife &life = lives_[n], &before = lives_[other];
    if (before.block != life.block || before.last < life.first) return true;
    return before.last == life.first && is_sum_of(life.first, n, other);
  }
  bool is_sum_of(std::uint32_t i, std::size_t d, std::size_t c) const {
    constexpr std::size_t kD = 0, kA = 1, kB = 2, kC = 3;
    const Instruction& product = function_.instructions[i];
    if (product.op() != isa::Op::mma && product.op() != isa::Op::wmma_mma) return false;
    const auto operands = function_.operands_of(product);
    return names(operands[kD], d) && names(operands[kC], c) && !names(operands[kA], c) &&
           !names(operands[kB], c);
  }
  bool names(const ptx::Operand& operand, std::size_t n) const {
    return std::ranges::any_of(function_.elements_of(operand), [&](const ptx::Operand& element) {
      return element.kind == ptx::Operand::Kind::reg && matrix_[element.index] == n;
    });
  }

  const FunctionPlan& plan_;
  const ptx::Function& function_;
  const std::vector<std::vector<RegisterId>>& matrices_;
  std::vector<MatrixLife> lives_;
  std::vector<std::optional<std::size_t>> matrix_;  ///< of each register
  ptx::RegisterUses uses_;
};

}  // namespace

std::vector<std::size_t> fragment_places(const FunctionPlan& plan, const ptx::Function& function,
                                         const std::vector<std::vector<RegisterId>>& matrices) {
  return FragmentPlaces(plan, function, matrices).share();
}

}  // namespace raddle::jit
