// Which kernels may run their threads one by one, and which gain by it.
#include "jit/one_by_one.h"

#include <algorithm>

#include "isa/op.h"

namespace raddle::jit {

using isa::Effects;
using isa::Mod;
using isa::ModKind;
using isa::Op;
using ptx::Instruction;
using ptx::Operand;

namespace {

bool is_memory(const isa::Opcode& opcode) { return opcode.is(Effects::reads) || opcode.is(Effects::writes); }

/// Operand that says where a load, store or atomic goes.
const Operand* address_of(const FunctionPlan& plan, const Instruction& i) {
  for (const Operand& o : plan.function.operands_of(i))
    if (o.kind == Operand::Kind::address) return &o;
  return nullptr;
}

bool is_atomic(Op op) { return op == Op::atom || op == Op::atom_cas || op == Op::red; }

/// Shared memory is where threads of a block meet; local memory is laid out for vectors.
bool reaches_device_memory(const FunctionPlan& plan, const Instruction& i) {
  const ptx::Space space = ptx::space_of(i.opcode->get(ModKind::space));
  return address_of(plan, i) != nullptr && space != ptx::Space::shared && space != ptx::Space::local;
}

bool may_be_one_by_one(const FunctionPlan& plan, const Instruction& i) {
  const isa::Opcode& opcode = *i.opcode;
  for (const Operand& o : plan.function.operands_of(i)) {
    const bool names = o.kind == Operand::Kind::variable ||
                       (o.kind == Operand::Kind::address && o.base == Operand::Base::variable);
    if (!names) continue;
    const ptx::Space space = plan.module.variables[o.index].space;
    if (space == ptx::Space::shared || space == ptx::Space::local) return false;
  }
  if (opcode.row->text->scope != isa::Scope::lane || opcode.is(Effects::state) || opcode.is(Effects::stack) ||
      opcode.is(Effects::sync))
    return false;
  if (opcode.is(Effects::control))
    return i.extra == ptx::kNone && (i.op() == Op::bra || i.op() == Op::ret || i.op() == Op::exit);
  if (!is_memory(opcode)) return true;
  if (!reaches_device_memory(plan, i)) return false;
  return is_atomic(i.op()) ||
         ((i.op() == Op::ld || i.op() == Op::ldu || i.op() == Op::st) && opcode.is_weak());
}

template <class Body>
void each_instruction(const FunctionPlan& plan, const Body& body) {
  for (BlockId b : plan.order.blocks)
    for (std::uint32_t n = plan.function.blocks[b].begin; n < plan.function.blocks[b].end; ++n)
      body(b, plan.function.instructions[n]);
}

}  // namespace

bool may_run_one_by_one(const FunctionPlan& plan) {
  if (plan.is_holding() || plan.order.has_waiting_loop || plan.order.dispatched_loops != 0 ||
      plan.function.local_bytes != 0)
    return false;
  bool may = true;
  each_instruction(plan, [&](BlockId, const Instruction& i) { may = may && may_be_one_by_one(plan, i); });
  return may;
}

// ---- whether they should ----

namespace {

/// Cycles for a gather or scatter by 32 lanes, most of which find their memory in the first or second cache;
/// instructions that a core begins in a cycle; how many others a division, or a function like it, is worth;
/// cycles for a branch that goes another way than the last times; turns of a loop.
constexpr double kAddresses = 64, kAtOnce = 3, kLongInstruction = 6, kSurprise = 15, kTurns = 16;
/// Instructions of a kernel: larger ones are not looked at.
constexpr std::size_t kLargest = 2000;

/// Lanes have addresses that follow from nothing.
bool goes_by_addresses(const FunctionPlan& plan, const Instruction& i) {
  if (!is_memory(*i.opcode) || is_atomic(i.op())) return false;
  const Operand* address = address_of(plan, i);
  const Shape shape = address != nullptr ? plan.address_shape(*address) : Shape::uniform_value();
  return shape.known && !shape.affine;
}

/// An instruction with more to do than the host does in one.
bool is_long(const Instruction& i) {
  switch (i.op()) {
    case Op::div:
    case Op::rem:
    case Op::div_f:
    case Op::div_approx:
    case Op::rcp:
    case Op::rcp_approx:
    case Op::rcp_approx_f64:
    case Op::sqrt:
    case Op::sqrt_approx:
    case Op::rsqrt:
    case Op::rsqrt_approx_f64:
    case Op::sin:
    case Op::cos:
    case Op::lg2:
    case Op::ex2:
    case Op::tanh:
      return true;
    default:
      return false;
  }
}

/// Lanes leave the loop in different turns.
bool is_left_apart(const FunctionPlan& plan, const Loop& loop) {
  return std::ranges::any_of(loop.blocks, [&](BlockId b) {
    return plan.divergent(b) && std::ranges::any_of(plan.cfg.nodes[b].successors, [&](BlockId to) {
             return std::ranges::find(loop.blocks, to) == loop.blocks.end();
           });
  });
}

/// What a turn loads says where the next turn loads from: threads in a row would wait for each load, where
/// lanes wait for all of theirs at once.
bool follows_links(const FunctionPlan& plan, const Loop& loop) {
  std::vector<const Instruction*> inside;
  for (BlockId b : loop.blocks)
    for (std::uint32_t n = plan.function.blocks[b].begin; n < plan.function.blocks[b].end; ++n)
      inside.push_back(&plan.function.instructions[n]);
  ptx::RegisterUses uses;
  return std::ranges::any_of(inside, [&](const Instruction* load) {
    if (!goes_by_addresses(plan, *load) || !load->opcode->is(Effects::reads)) return false;
    std::vector<bool> follows(plan.function.registers.size());
    ptx::register_uses(plan.function, *load, uses);
    for (const auto r : uses.definitions) follows[r] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction* i : inside) {
        if (i->op() == Op::setp || is_memory(*i->opcode)) continue;  // told by a branch, or by other memory
        ptx::register_uses(plan.function, *i, uses);
        if (std::ranges::none_of(uses.uses, [&](auto r) { return follows[r]; })) continue;
        for (const auto r : uses.definitions)
          if (!follows[r]) follows[r] = changed = true;
      }
    }
    const Operand* address = address_of(plan, *load);
    return address->base == Operand::Base::reg && follows[address->index];
  });
}

struct Frequency {
  double turns = 1;   ///< of a block, by a warp
  double active = 1;  ///< share of its lanes
};

Frequency frequency_of(const FunctionPlan& plan, BlockId b, const std::vector<bool>& left_apart) {
  Frequency f;
  for (std::uint32_t loop = plan.order.loop_of[b]; loop != ptx::kNone; loop = plan.order.loops[loop].parent) {
    f.turns *= kTurns;
    if (left_apart[loop]) f.active /= 2;
  }
  return f;
}

}  // namespace

bool worth_running_one_by_one(const FunctionPlan& plan) {
  if (plan.function.instructions.size() > kLargest) return false;
  std::vector<bool> left_apart;
  for (const Loop& loop : plan.order.loops) left_apart.push_back(is_left_apart(plan, loop));
  if (std::ranges::count(left_apart, true) == 0) return false;
  const double parts = exec::kWarpSize / plan.part_lanes;
  double vectors = 0, threads = 0;
  for (std::uint32_t n = 0; n < plan.order.loops.size(); ++n) {
    if (!left_apart[n]) continue;
    if (follows_links(plan, plan.order.loops[n])) return false;
    const Frequency inside = frequency_of(plan, plan.order.loops[n].header, left_apart);
    threads += inside.turns / kTurns * 2 * inside.active * exec::kWarpSize * kSurprise;
  }
  each_instruction(plan, [&](BlockId b, const Instruction& i) {
    const Frequency f = frequency_of(plan, b, left_apart);
    const double size = is_long(i) ? kLongInstruction : 1;
    // What is equal for all lanes is done once, by vectors.
    ptx::RegisterUses uses;
    ptx::register_uses(plan.function, i, uses);
    const bool is_same = !uses.definitions.empty() && std::ranges::all_of(uses.definitions, [&](auto r) {
      return plan.shape(r).scalar();
    });
    const double each = goes_by_addresses(plan, i) ? kAddresses : (is_same ? 1 : parts * size) / kAtOnce;
    const double atomic = is_atomic(i.op()) ? exec::kWarpSize * f.active : 0;
    vectors += f.turns * (each + atomic);
    threads += f.turns * f.active * exec::kWarpSize * size / kAtOnce + f.turns * atomic;
  });
  return threads < vectors;
}

}  // namespace raddle::jit
