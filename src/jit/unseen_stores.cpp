#include "jit/unseen_stores.h"

#include "isa/op.h"

namespace raddle::jit {
namespace {

using isa::Effects;

bool may_be_device_memory(const isa::Opcode& opcode) {
  const isa::Mod space = opcode.get(isa::ModKind::space);
  return space == isa::Mod::global || space == isa::Mod::none;
}

/// A barrier of the CTA or its cluster.
bool ends_a_region(const isa::Opcode& opcode) {
  const isa::Scope scope = opcode.row->text->scope;
  return scope == isa::Scope::cta || scope == isa::Scope::cluster;
}

/// Whether another warp may learn by it what this one has stored before.
bool tells_others(const isa::Opcode& opcode) {
  const bool reads = opcode.is(Effects::reads), writes = opcode.is(Effects::writes);
  const isa::Scope scope = opcode.row->text->scope;
  return opcode.is(Effects::orders) || (scope != isa::Scope::lane && scope != isa::Scope::warp) ||
         (reads && writes) || ((reads || writes) && !opcode.is_weak());
}

unsigned stored_bytes(const ptx::Function& kernel, const ptx::Instruction& i) {
  if (i.op() != isa::Op::st || !may_be_device_memory(*i.opcode)) return 0;
  const ptx::Operand& value = kernel.operands_of(i)[1];
  const bool is_vector = value.kind == ptx::Operand::Kind::vector;
  return static_cast<unsigned>(is_vector ? kernel.elements_of(value).size() : 1) *
         isa::byte_size(i.opcode->type(i.opcode->type_count - 1));
}

}  // namespace

UnseenStores::UnseenStores(const ptx::Function& function, const ptx::Cfg& cfg)
    : at_begin_(function.blocks.size()), unseen_(function.instructions.size()) {
  std::vector<ptx::BlockId> order = ptx::reverse_postorder(cfg);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = order.size(); k-- > 0;) {
      const ptx::Block& block = function.blocks[order[k]];
      Ahead ahead = behind(cfg, order[k]);
      for (std::uint32_t n = block.end; n-- > block.begin;) {
        unseen_[n] = function.instructions[n].opcode->is_weak() && !ahead.orders && !ahead.reads_late;
        ahead = before(function.instructions[n], ahead);
      }
      changed |= !(ahead == at_begin_[order[k]]);
      at_begin_[order[k]] = ahead;
    }
  }
}

UnseenStores::Ahead UnseenStores::before(const ptx::Instruction& i, Ahead behind) {
  const isa::Opcode& opcode = *i.opcode;
  if (ends_a_region(opcode)) {
    const Ahead barrier{
        .orders = false, .reads = behind.reads, .reads_late = behind.reads || behind.reads_late};
    return i.guard == ptx::kNone ? barrier : barrier | behind;
  }
  if (i.op() == isa::Op::call) return {.orders = true, .reads = true, .reads_late = true};
  behind.orders |= tells_others(opcode);
  behind.reads |= opcode.is(Effects::reads) && may_be_device_memory(opcode);
  return behind;
}

UnseenStores::Ahead UnseenStores::behind(const ptx::Cfg& cfg, ptx::BlockId block) const {
  Ahead ahead;
  for (const ptx::BlockId next : cfg.nodes[block].successors) ahead = ahead | at_begin_[next];
  return ahead;
}

std::uint32_t stored_bytes(const ptx::Function& kernel, const Order& order) {
  constexpr std::uint32_t kTurns = 8;
  std::uint32_t bytes = 0;
  for (const ptx::BlockId b : order.blocks) {
    const std::uint32_t times = order.loop_of[b] == ptx::kNone ? 1 : kTurns;
    for (std::uint32_t n = kernel.blocks[b].begin; n < kernel.blocks[b].end; ++n)
      bytes += times * stored_bytes(kernel, kernel.instructions[n]);
  }
  return bytes;
}

}  // namespace raddle::jit
