// Follows the paths that a thread can take after a "no", with the values of the registers that it decides.
#include "ptx/awaits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "isa/op.h"
#include "ptx/control.h"

namespace raddle::ptx {
namespace {

using isa::Mod;
using isa::Op;

/// Values that follow from the "no" alone.
using Known = std::map<RegisterId, std::uint64_t>;

class Paths {
 public:
  Paths(const Function& function, const Cfg& cfg, const Instruction& asked)
      : function_(function), cfg_(cfg), asked_(asked) {}

  /// @param block, index  of the instruction
  bool comes_back(BlockId block, std::uint32_t index) {
    Known known{{function_.operands_of(asked_)[0].index, 0}};
    work_.push_back({block, index + 1, std::move(known)});
    while (!work_.empty()) {
      const Place place = std::move(work_.back());
      work_.pop_back();
      if (!follow(place)) return false;
    }
    return asks_for_the_same();
  }

 private:
  struct Place {
    BlockId block;
    std::uint32_t index;
    Known known;
  };
  static constexpr std::size_t kMostPlaces = 256;

  /// To the end of the block. @returns false if something happens there that the thread would not sleep over
  bool follow(const Place& place) {
    const Block& block = function_.blocks[place.block];
    Known known = place.known;
    for (std::uint32_t n = place.index; n < block.end; ++n) {
      const Instruction& i = function_.instructions[n];
      if (&i == &asked_) return true;
      if (ends_block(i)) return branch(place.block, i, known);
      if (!is_idle(i)) return false;
      note(i, known);
    }
    return cfg_.nodes[place.block].exit == Exit::fallthrough &&
           go_to(cfg_.nodes[place.block].successors[0], known);
  }

  bool branch(BlockId block, const Instruction& i, const Known& known) {
    const Cfg::Node& node = cfg_.nodes[block];
    if (node.exit == Exit::branch) return go_to(node.successors[0], known);
    if (node.exit != Exit::conditional) return false;
    const auto guard = known.find(i.guard);
    if (guard == known.end()) return go_to(node.successors[0], known) && go_to(node.successors[1], known);
    const bool taken = (guard->second != 0) != i.guard_negated;
    return go_to(node.successors[taken ? 0 : 1], known);
  }

  bool go_to(BlockId block, const Known& known) {
    if (!seen_.insert({block, known}).second) return true;  // a loop on the way: it ends, or nobody notices
    if (seen_.size() > kMostPlaces) return false;
    work_.push_back({block, function_.blocks[block].begin, known});
    return true;
  }

  /// Nobody sees whether the thread executes it.
  static bool is_idle(const Instruction& i) {
    using isa::Effects;
    if (i.op() == Op::nanosleep) return true;
    for (const Effects effect :
         {Effects::writes, Effects::control, Effects::sync, Effects::stack, Effects::state})
      if (i.opcode->is(effect)) return false;
    return true;
  }

  void note(const Instruction& i, Known& known) {
    register_uses(function_, i, uses_);
    const bool has_value = i.guard == kNone && uses_.definitions.size() == 1;
    const std::optional<std::uint64_t> value = has_value ? value_of(i, known) : std::nullopt;
    for (const RegisterId r : uses_.definitions) {
      known.erase(r);
      changers_[r].insert(&i);
      if (value) known[r] = *value;
    }
  }

  std::optional<std::uint64_t> value_of(const Operand& o, const Known& known) const {
    std::optional<std::uint64_t> value;
    if (o.kind == Operand::Kind::immediate) value = static_cast<std::uint64_t>(o.value);
    if (o.kind == Operand::Kind::reg)
      if (const auto found = known.find(o.index); found != known.end()) value = found->second;
    if (value && o.negated) value = *value == 0;  // a predicate
    return value;
  }

  /// What compilers make of the answer before they branch on it.
  std::optional<std::uint64_t> value_of(const Instruction& i, const Known& known) const {
    const auto operands = function_.operands_of(i);
    auto in = [&](unsigned k) { return value_of(operands[k], known); };
    switch (i.op()) {
      case Op::mov:
        return in(1);
      case Op::not_:
        if (i.opcode->type() == isa::Type::pred && in(1)) return *in(1) == 0;
        return {};
      case Op::selp:
        if (const auto condition = in(3)) return *condition != 0 ? in(1) : in(2);
        return {};
      case Op::setp: {
        const auto a = in(2), b = in(3);
        const bool is_plain = operands.size() == 4 && operands[1].kind == Operand::Kind::none;
        if (!a || !b || !is_plain) return {};
        const Mod compare = i.opcode->get(isa::ModKind::compare);
        if (compare == Mod::eq) return *a == *b;
        if (compare == Mod::ne) return *a != *b;
        return {};
      }
      case Op::and_:
        if (in(1) == 0 || in(2) == 0) return 0;
        return {};
      default:
        return {};
    }
  }

  /// No register that the instruction reads becomes another on the way.
  bool asks_for_the_same() {
    register_uses(function_, asked_, uses_);
    const std::vector<RegisterId> sources = uses_.uses;
    return std::ranges::all_of(sources, [&](RegisterId r) { return stays(r, 0); });
  }

  bool stays(RegisterId r, unsigned depth) const {
    constexpr unsigned kDeepest = 8;
    const auto found = changers_.find(r);
    if (found == changers_.end()) return true;
    if (depth == kDeepest) return false;
    return std::ranges::all_of(found->second, [&](const Instruction* i) {
      if (i->guard != kNone || i->opcode->row->text->effects != isa::Effects::pure) return false;
      RegisterUses uses;
      register_uses(function_, *i, uses);
      return std::ranges::all_of(uses.uses, [&](RegisterId s) { return s != r && stays(s, depth + 1); });
    });
  }

  const Function& function_;
  const Cfg& cfg_;
  const Instruction& asked_;
  std::vector<Place> work_;
  std::set<std::pair<BlockId, Known>> seen_;
  std::map<RegisterId, std::set<const Instruction*>> changers_;
  RegisterUses uses_;
};

}  // namespace

bool asks_for_phase(const isa::Opcode& opcode) {
  auto is_answer = [](const isa::OperandSpec& o) { return o.is_destination && o.fixed == isa::Type::pred; };
  return opcode.row->uses_mbarrier() && std::ranges::any_of(opcode.row->operands, is_answer);
}

bool is_awaited(const Function& function, const Cfg& cfg, const Instruction& instruction) {
  if (instruction.guard != kNone || function.operands_of(instruction)[0].kind != Operand::Kind::reg)
    return false;
  const auto index = static_cast<std::uint32_t>(&instruction - function.instructions.data());
  const auto after = std::ranges::upper_bound(function.blocks, index, {}, &Block::begin);
  const auto block = static_cast<BlockId>(after - function.blocks.begin() - 1);
  return Paths(function, cfg, instruction).comes_back(block, index);
}

}  // namespace raddle::ptx
