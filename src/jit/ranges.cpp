#include "jit/ranges.h"

#include <algorithm>
#include <bit>

#include "isa/special_registers/special_registers.h"

namespace raddle::jit {
namespace {

using isa::Affine;
using isa::Mod;
using isa::ModKind;
using ptx::Instruction;
using ptx::Operand;
using ptx::RegisterId;

constexpr unsigned kDeepest = 64;            ///< definitions that are followed one behind the other
constexpr std::int64_t kMostThreads = 1024;  ///< of a block, in each direction
constexpr Range kAll;

/// All numbers where it has wrapped.
Range unless_wrapped(std::int64_t least, std::int64_t most) {
  return least < kAll.least || most > kAll.most ? kAll : Range{least, most};
}

Range either(Range a, Range b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }

Range below(std::int64_t end) { return {0, end - 1}; }

bool is_number(isa::Type type) {
  return type == isa::Type::s32 || type == isa::Type::u32 || type == isa::Type::b32;
}

Affine affine_of(const Instruction& i) { return i.opcode->row->text->affine; }

}  // namespace

Ranges::Ranges(const ptx::Function& function, const ptx::Cfg& cfg, const ptx::Liveness& live)
    : function_(function),
      cfg_(cfg),
      live_(live),
      registers_(function.registers.size()),
      block_of_(function.instructions.size(), ptx::kNone) {
  ptx::RegisterUses uses;
  for (ptx::BlockId b = 0; b < function.blocks.size(); ++b)
    for (std::uint32_t n = function.blocks[b].begin; n < function.blocks[b].end; ++n) {
      block_of_[n] = b;
      ptx::register_uses(function, at(n), uses);
      for (const RegisterId r : uses.definitions) registers_[r].definitions.push_back(n);
    }
  for (RegisterId r = 0; r < registers_.size(); ++r) known(r);  // in the order of the text: chains stay short
}

Range Ranges::known(RegisterId r) {
  Register& about = registers_[r];
  if (about.is_known || !is_followed(r) || depth_ == kDeepest) return about.range;
  about.is_known = true;  // until it is found: all numbers
  ++depth_;
  const Range found = find(r);
  --depth_;
  return about.range = found;
}

Range Ranges::known(const Operand& o) {
  if (o.minus || o.negated || o.selector != 0 || !is_number(o.type)) return kAll;
  if (o.kind == Operand::Kind::reg) return known(o.index);
  if (o.kind == Operand::Kind::special) return special(o);
  if (o.kind != Operand::Kind::immediate) return kAll;
  const auto value = static_cast<std::int32_t>(o.value);
  return {value, value};
}

/// What no thread has written is zero, and functions' parameters are written by nobody.
bool Ranges::is_followed(RegisterId r) const {
  return is_number(function_.registers[r].type) && !registers_[r].definitions.empty() && !live_.live(0, r);
}

Range Ranges::find(RegisterId r) {
  const auto& definitions = registers_[r].definitions;
  Step step;
  if (definitions.size() > 1)
    for (const std::uint32_t n : definitions)
      if (step.at == ptx::kNone) step = step_of(r, n);
  Range all{kAll.most, kAll.least};
  for (const std::uint32_t n : definitions)
    if (n != step.at) all = either(all, result(n));
  if (step.at == ptx::kNone) return all;
  return unless_wrapped(all.least, std::max(all.most, step.most_before) + step.addend);
}

/// `add r, r, c` or `add t, r, c; mov r, t` in a block that goes back only where r, before or after that, is
/// below a constant; elsewhere it goes to where r has no use.
Ranges::Step Ranges::step_of(RegisterId r, std::uint32_t n) const {
  const Instruction* sum = &at(n);
  const ptx::BlockId b = block_of_[n];
  if (sum->guard != ptx::kNone) return {};
  const auto operands_of = [&](const Instruction* i) { return function_.operands_of(*i); };
  RegisterId after = r;
  std::uint32_t made = n;  // the sum
  if (affine_of(*sum) == Affine::move && operands_of(sum).size() == 2 &&
      operands_of(sum)[1].kind == Operand::Kind::reg) {
    after = operands_of(sum)[1].index;
    made = only_definition(operands_of(sum)[1]);
    if (made == ptx::kNone || block_of_[made] != b || made > n) return {};
    sum = &at(made);
  }
  const auto operands = operands_of(sum);
  if (affine_of(*sum) != Affine::add || sum->guard != ptx::kNone || sum->opcode->has(Mod::sat) ||
      !is_number(operands[0].type) || operands[1].kind != Operand::Kind::reg || operands[1].index != r ||
      operands[2].kind != Operand::Kind::immediate || operands[2].minus)
    return {};
  const auto addend = std::int64_t{static_cast<std::int32_t>(operands[2].value)};
  const Instruction& branch = at(function_.blocks[b].end - 1);
  const auto& node = cfg_.nodes[b];
  if (addend <= 0 || node.exit != ptx::Exit::conditional) return {};
  if (live_.live(node.successors[1], r) || node.successors[0] == node.successors[1]) return {};
  // Only one definition of r is in the block, lest the sum be of another one.
  for (const std::uint32_t other : registers_[r].definitions)
    if (other != n && block_of_[other] == b) return {};
  std::uint32_t compared_at = 0;
  if (const auto limit = limit_of(branch, r, compared_at); limit != 0)
    return {n, addend, compared_at < n ? limit - 1 + addend : limit - 1};
  if (after == r) return {};
  if (const auto limit = limit_of(branch, after, compared_at); limit != 0 && compared_at > made)
    return {n, addend, limit - 1};
  return {};
}

/// The constant that a register is below where the branch is taken; 0 if there is none.
/// @param n  the comparison
std::int64_t Ranges::limit_of(const Instruction& branch, RegisterId compared, std::uint32_t& n) const {
  const auto& definitions = registers_[branch.guard].definitions;
  const auto begin = static_cast<std::uint32_t>(&branch - function_.instructions.data());
  if (branch.guard_negated || definitions.size() != 1 || block_of_[definitions[0]] != block_of_[begin])
    return 0;
  n = definitions[0];
  const Instruction& i = at(n);
  const auto a = i.opcode->form->operand("a"), b = i.opcode->form->operand("b"),
             c = i.opcode->form->operand("c");
  if (affine_of(i) != Affine::compare || i.guard != ptx::kNone || !a || !b || c) return 0;
  const auto operands = function_.operands_of(i);
  const Operand &x = operands[*a], &limit = operands[*b];
  if (operands[0].index != branch.guard || x.kind != Operand::Kind::reg || x.index != compared || x.minus ||
      !is_number(x.type) || limit.kind != Operand::Kind::immediate)
    return 0;
  const Mod relation = i.opcode->get(ModKind::compare);
  const auto value = std::int64_t{static_cast<std::int32_t>(limit.value)};  // below 0: large if unsigned
  if (relation != Mod::lt && relation != Mod::le) return 0;
  return std::max<std::int64_t>(0, relation == Mod::lt ? value : value + 1);
}

Range Ranges::result(std::uint32_t n) {
  const Instruction& i = at(n);
  const isa::Opcode& opcode = *i.opcode;
  const auto operands = function_.operands_of(i);
  if (i.guard != ptx::kNone || i.extra != ptx::kNone || opcode.has(Mod::sat) || opcode.has(Mod::hi) ||
      operands.empty() || operands[0].kind != Operand::Kind::reg || !is_number(operands[0].type))
    return kAll;
  const auto amount = [&] {
    return operands[2].kind == Operand::Kind::immediate && operands[2].value >= 0 && operands[2].value < 32
               ? static_cast<int>(operands[2].value)
               : -1;
  };
  const auto sum = [](Range a, Range b) { return unless_wrapped(a.least + b.least, a.most + b.most); };
  switch (affine_of(i)) {
    case Affine::move:
      return operands.size() == 2 ? known(operands[1]) : kAll;
    case Affine::add:
      return sum(known(operands[1]), known(operands[2]));
    case Affine::subtract: {
      if (std::int64_t divisor = 0; is_remainder(n, divisor)) return below(divisor);
      const Range a = known(operands[1]), b = known(operands[2]);
      return unless_wrapped(a.least - b.most, a.most - b.least);
    }
    case Affine::multiply:
      return product(operands[1], operands[2]);
    case Affine::multiply_add:
      return sum(product(operands[1], operands[2]), known(operands[3]));
    case Affine::shift_left: {
      const Range a = known(operands[1]);
      return amount() < 0 ? kAll : unless_wrapped(a.least * (1ll << amount()), a.most * (1ll << amount()));
    }
    case Affine::shift_right: {
      const Range a = known(operands[1]);
      if (amount() < 0) return kAll;
      if (isa::is_signed(opcode.type(0)) || a.least >= 0) return {a.least >> amount(), a.most >> amount()};
      return amount() == 0 ? kAll : below(std::int64_t{1} << (32 - amount()));
    }
    case Affine::mask: {
      const Range a = known(operands[1]), b = known(operands[2]);
      if (a.least >= 0 && b.least >= 0) return {0, std::min(a.most, b.most)};
      return a.least >= 0 ? Range{0, a.most} : b.least >= 0 ? Range{0, b.most} : kAll;
    }
    case Affine::flip:
    case Affine::join: {
      const Range a = known(operands[1]), b = known(operands[2]);
      if (a.least < 0 || b.least < 0) return kAll;
      return below(std::int64_t{1} << std::bit_width(static_cast<std::uint64_t>(std::max(a.most, b.most))));
    }
    default:
      return kAll;
  }
}

/// Of both, the low half.
Range Ranges::product(const Operand& a, const Operand& b) {
  if (!is_number(a.type)) return kAll;
  const Range x = known(a), y = known(b);
  const auto ends = {x.least * y.least, x.least * y.most, x.most * y.least, x.most * y.most};
  return unless_wrapped(std::min(ends), std::max(ends));
}

Range Ranges::special(const Operand& o) const {
  switch (isa::kSpecialRegisters[o.index].scope) {
    case isa::RegisterScope::thread:
      return below(kMostThreads);
    case isa::RegisterScope::extent:
      return {0, kMostThreads};
    default:
      return kAll;
  }
}

/// `x - (x & -c)` with a power of two: the last bits of x, whatever its sign.
bool Ranges::is_remainder(std::uint32_t n, std::int64_t& divisor) {
  const auto operands = function_.operands_of(at(n));
  std::uint32_t mask = only_definition(operands[2]);
  if (mask == ptx::kNone || mask > n || block_of_[mask] != block_of_[n]) return false;
  const Instruction& i = at(mask);
  const auto masked = function_.operands_of(i);
  if (affine_of(i) != Affine::mask || i.guard != ptx::kNone || masked[2].kind != Operand::Kind::immediate)
    return false;
  divisor = -std::int64_t{static_cast<std::int32_t>(masked[2].value)};
  if (divisor <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(divisor))) return false;
  const Operand x = same_as(operands[1], n), y = same_as(masked[1], mask);
  return x.kind == Operand::Kind::reg && y.kind == Operand::Kind::reg && x.index == y.index &&
         only_definition(x) != ptx::kNone && block_of_[only_definition(x)] == block_of_[n] &&
         only_definition(x) < std::min(n, mask);
}

/// What a register's only definition, of the same block before the instruction, has copied or added 0 to.
/// @param before  the instruction that reads the operand; then the definition
Operand Ranges::same_as(const Operand& o, std::uint32_t& before) {
  const std::uint32_t n = only_definition(o);
  if (n == ptx::kNone || n > before || block_of_[n] != block_of_[before]) return o;
  const Instruction& i = at(n);
  const auto operands = function_.operands_of(i);
  if (i.guard != ptx::kNone || affine_of(i) != Affine::add || i.opcode->has(Mod::sat)) return o;
  for (const unsigned k : {1u, 2u})
    if (known(operands[3 - k]) == Range{0, 0}) {
      before = n;
      return same_as(operands[k], before);
    }
  return o;
}

std::uint32_t Ranges::only_definition(const Operand& o) const {
  const bool is_plain = o.kind == Operand::Kind::reg && !o.minus && !o.negated && o.selector == 0;
  return is_plain && registers_[o.index].definitions.size() == 1 ? registers_[o.index].definitions[0]
                                                                 : ptx::kNone;
}

}  // namespace raddle::jit
