// Loads or stores of shared memory behind each other, from one register and near each other, of MemoryAccess:
// the members of structures that lie side by side, pairs a power of two apart. Where their windows lie upon
// each other, one window serves all of them, at the last. Only where the host has registers of masks.
#include <algorithm>

#include "isa/op.h"
#include "jit/memory_access.h"
#include "jit/together.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using ptx::Instruction;
using ptx::Operand;

namespace {

using Instructions = std::vector<const Instruction*>;

constexpr std::int64_t kFarApart = 1 << 16;  ///< bytes

unsigned address_of(const Instruction& i) { return i.op() == isa::Op::ld ? 1 : 0; }

Type accessed_type(const Instruction& i) { return i.opcode->type(i.opcode->type_count - 1); }

}  // namespace

/// A word of each lane that runs, at constant distances in the CTA's own memory.
bool MemoryAccess::can_join(const Instruction& i) const {
  if ((i.op() != isa::Op::ld && i.op() != isa::Op::st) || i.guard != ptx::kNone || !is_plain_access(i) ||
      ptx::space_of(i.opcode->get(ModKind::space)) != ptx::Space::shared ||
      isa::byte_size(accessed_type(i)) != 4)
    return false;
  const auto operands = cursor_.function.operands_of(i);
  const Operand &at = operands[address_of(i)], &data = operands[1 - address_of(i)];
  if (at.base != Operand::Base::reg || std::abs(at.value) >= kFarApart ||
      data.kind == Operand::Kind::vector || data.kind == Operand::Kind::sink)
    return false;
  const Shape& shape = cursor_.plan.shape(at.index);
  return shape.scalar() && !shape.equal_lanes();
}

/// The second may be made with the first, as far as what lies between them allows.
bool MemoryAccess::continues(const Instruction& first, const Instruction& i) const {
  if (first.opcode->text != i.opcode->text || accessed_type(first) != accessed_type(i) || !can_join(i))
    return false;
  const auto is = cursor_.function.operands_of(first), next = cursor_.function.operands_of(i);
  const unsigned at = address_of(i);
  const bool changes_address =
      i.op() == isa::Op::ld && is[0].kind == Operand::Kind::reg && is[0].index == is[1].index;
  return is[at].index == next[at].index && !changes_address;
}

/// As one access, of which only the plan is known.
MemoryAccess::Access MemoryAccess::planned(const Instructions& some) const {
  Access a;
  const Instruction& last = *some.back();
  const auto at = [&](const Instruction& i) { return cursor_.function.operands_of(i)[address_of(i)]; };
  a.type = accessed_type(last);
  a.bytes = isa::byte_size(a.type);
  a.count = static_cast<unsigned>(some.size());
  a.ordering = llvm::AtomicOrdering::NotAtomic;
  a.address.shape = cursor_.plan.shape(at(last).index);
  for (const Instruction* i : some) {
    const std::int64_t apart = at(*i).value - at(last).value;
    if (apart % a.bytes != 0) a.count = 0;
    a.places.push_back(static_cast<int>(apart / a.bytes));
  }
  return a;
}

/// All are windows, and together fewer vectors of the host than apart.
bool MemoryAccess::gains(const Instructions& some) const {
  const Access all = planned(some), one = planned({some.back()});
  if (all.count == 0) return false;
  const auto vectors = [&](unsigned size) { return (size + code_.lanes() - 1) / code_.lanes(); };
  for (unsigned p = 0; p < code_.parts(); ++p) {
    const Window apart = window_of(one, p), joint = window_of(all, p);
    if (apart.size < code_.lanes() || joint.size == 0 ||
        vectors(joint.size) >= all.count * vectors(apart.size) ||
        (some.back()->op() == isa::Op::st && !joint.distinct))
      return false;
  }
  return true;
}

/// Those that are one with the instruction at hand; itself if there are no others.
Instructions MemoryAccess::made_together() const {
  const Instruction* here = cursor_.instruction;
  const KernelPlan& kernel = module_.kernel;
  if (kernel.windowed || kernel.modelled || kernel.clustered || module_.listener || cursor_.plan.together ||
      !code_.has_mask_registers() || code_.thread() != nullptr || !can_join(*here))
    return {here};
  const ptx::Block& block = cursor_.function.blocks[cursor_.block];
  const auto *begin = &cursor_.function.instructions[block.begin], *end = begin + (block.end - block.begin);
  const Instruction* first = here;
  while (first != begin && can_join(first[-1]) && continues(first[-1], *first)) --first;
  Instructions some{first};
  for (const Instruction* next = first + 1; next != end && continues(*some.back(), *next); ++next) {
    some.push_back(next);
    if (gains(some)) continue;
    some.pop_back();
    if (some.back() >= here) break;
    some = {next};
  }
  return some;
}

/// Whether the instruction at hand is one with others: the last makes all.
bool MemoryAccess::is_joined() {
  const Instructions some = made_together();
  if (some.size() == 1) return false;
  if (counts()) ++module_.statistics.memory_operations;
  if (some.back() == cursor_.instruction)
    cursor_.instruction->op() == isa::Op::ld ? load_joined(some) : store_joined(some);
  return true;
}

/// The last one's address, translated, serves all. Faults tell the first one's line.
MemoryAccess::Access MemoryAccess::one_access(const Instructions& some) {
  Access all = planned(some);
  const Operand& address = cursor_.operand(address_of(*some.back()));
  WarpAccess access = addresses_.begin(address);
  all.address = std::move(access.address);
  all.mask = std::move(access.lanes);
  all.operand = &address;
  for (const Instruction* i : some)
    all.elements.push_back(cursor_.function.operands_of(*i)[1 - address_of(*i)]);
  return all;
}

void MemoryAccess::load_joined(const Instructions& some) {
  const Access all = one_access(some);
  code_.at_line(some.front()->line);
  const Parts values = load_windows(all);
  code_.at_line(cursor_.instruction->line);
  for (std::size_t n = 0; n < some.size(); ++n)
    registers_.write_parts(all.elements[n], accessed_type(*some[n]), values[n]);
}

void MemoryAccess::store_joined(const Instructions& some) {
  const Access all = one_access(some);
  Parts values(some.size());
  for (std::size_t n = 0; n < some.size(); ++n) {
    const WarpValue value = registers_.read(all.elements[n]);
    for (unsigned p = 0; p < code_.parts(); ++p) values[n].push_back(element_bits(value, p, all.bytes));
  }
  code_.at_line(some.front()->line);
  store_windows(all, values, Way::through_caches);
  code_.at_line(cursor_.instruction->line);
}

/// What an element of so many bytes takes of a part of a register.
llvm::Value* MemoryAccess::element_bits(const WarpValue& value, unsigned p, unsigned bytes) {
  const Val v = values_.part(value, p);
  return ir_.CreateZExtOrTrunc(v.as(isa::bits_type(v.bits())).v, code_.vector_of(ir_.getIntNTy(bytes * 8)));
}

}  // namespace raddle::jit
