#include "jit/turns.h"

#include "jit/holds.h"

namespace raddle::jit {

using isa::Affine;
using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterId;

namespace {

constexpr std::uint32_t kSeveral = ptx::kNone - 1;
constexpr unsigned kLongestWalk = 64;  // instructions from an address to what a turn adds

TurnStep sum(TurnStep a, const TurnStep& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}

TurnStep product(TurnStep step, const TurnStep::Term& by) {
  for (TurnStep::Term& term : step.terms) {
    term.times *= by.times;
    term.factors.insert(term.factors.end(), by.factors.begin(), by.factors.end());
  }
  return step;
}

bool is_block_barrier(const Instruction& i) {
  return holds_lanes(*i.opcode) && i.opcode->row->text->scope == isa::Scope::cta;
}

}  // namespace

/// From a register back to what the turn adds.
class Turns::Walk {
 public:
  Walk(const ptx::Function& function, const std::vector<std::uint32_t>& writers)
      : function_(function), writers_(writers) {}

  std::optional<TurnStep> of(RegisterId r) {
    if (writers_[r] == ptx::kNone) return TurnStep();
    if (writers_[r] == kSeveral || ++walked_ > kLongestWalk) return {};
    const Instruction& i = function_.instructions[writers_[r]];
    if (i.guard != ptx::kNone) return {};
    const auto operands = function_.operands_of(i);
    switch (i.opcode->row->text->affine) {
      case Affine::move:
      case Affine::convert:
        return of(operands[1]);
      case Affine::add:
        for (unsigned k : {1, 2})
          if (is(operands[k], r)) return fixed_step(operands[3 - k], 1);
        return added(of(operands[1]), of(operands[2]));
      case Affine::subtract:
        if (is(operands[1], r)) return fixed_step(operands[2], -1);
        return added(of(operands[1]), times(of(operands[2]), TurnStep::Term{-1, {}}));
      case Affine::multiply:
        return multiplied(operands[1], operands[2]);
      case Affine::multiply_add:
        return added(multiplied(operands[1], operands[2]), of(operands[3]));
      case Affine::shift_left:
        if (operands[2].kind != Operand::Kind::immediate || operands[2].value < 0 || operands[2].value > 62)
          return {};
        return times(of(operands[1]), TurnStep::Term{std::int64_t{1} << operands[2].value, {}});
      default:
        return {};
    }
  }

 private:
  using Step = std::optional<TurnStep>;

  static bool is(const Operand& o, RegisterId r) {
    return o.kind == Operand::Kind::reg && o.index == r && !o.negated;
  }
  static Step added(const Step& a, const Step& b) { return a && b ? Step(sum(*a, *b)) : Step(); }
  static Step times(const Step& step, const std::optional<TurnStep::Term>& by) {
    return step && by ? Step(product(*step, *by)) : Step();
  }

  Step of(const Operand& o) {
    if (o.kind == Operand::Kind::reg) return o.negated ? Step() : of(o.index);
    return TurnStep();
  }
  /// The same in each turn.
  std::optional<TurnStep::Term> fixed(const Operand& o) const {
    if (o.kind == Operand::Kind::immediate) return TurnStep::Term{o.value, {}};
    if (o.kind != Operand::Kind::reg || o.negated || writers_[o.index] != ptx::kNone) return {};
    return TurnStep::Term{1, {&o}};
  }
  Step fixed_step(const Operand& o, std::int64_t sign) const {
    auto term = fixed(o);
    if (!term) return {};
    term->times *= sign;
    return TurnStep{{*term}};
  }
  Step multiplied(const Operand& a, const Operand& b) {
    const auto by = fixed(b);
    return by ? times(of(a), by) : times(of(b), fixed(a));
  }

  const ptx::Function& function_;
  const std::vector<std::uint32_t>& writers_;
  unsigned walked_ = 0;
};

Turns::Turns(const ptx::Function& function, const Order& order)
    : function_(function), order_(order), writers_(order.loops.size()) {
  ptx::RegisterUses uses;
  for (std::size_t n = 0; n < order.loops.size(); ++n) {
    bool has_barrier = false;
    for_instructions(function, order.loops[n],
                     [&](const Instruction& i) { has_barrier = has_barrier || is_block_barrier(i); });
    if (!has_barrier) continue;
    writers_[n].assign(function.registers.size(), ptx::kNone);
    for_instructions(function, order.loops[n], [&](const Instruction& i) {
      ptx::register_uses(function, i, uses);
      const auto number = static_cast<std::uint32_t>(&i - function.instructions.data());
      for (RegisterId r : uses.definitions) writers_[n][r] = writers_[n][r] == ptx::kNone ? number : kSeveral;
    });
  }
}

std::optional<TurnStep> Turns::step(BlockId b, RegisterId r) const {
  const std::uint32_t loop = order_.loop_of[b];
  if (loop == ptx::kNone || writers_[loop].empty()) return {};
  return Walk(function_, writers_[loop]).of(r);
}

}  // namespace raddle::jit
