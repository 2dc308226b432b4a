// Pending sets and control transitions; the shapes half lies in shapes.cpp.
#include "jit/function_plan.h"

#include <algorithm>
#include <bit>

#include "jit/holds.h"
#include "ptx/fences.h"
#include "ptx/loops.h"

namespace raddle::jit {
namespace {

using ptx::Exit;

bool merge_into(std::vector<BlockId>& set, const std::vector<BlockId>& more, BlockId except) {
  bool changed = false;
  for (BlockId b : more) {
    if (b == except) continue;
    auto at = std::lower_bound(set.begin(), set.end(), b);
    if (at != set.end() && *at == b) continue;
    set.insert(at, b);
    changed = true;
  }
  return changed;
}

std::vector<BlockId> joined(std::vector<BlockId> set, std::initializer_list<BlockId> more) {
  for (BlockId x : more) {
    auto at = std::lower_bound(set.begin(), set.end(), x);
    if (at == set.end() || *at != x) set.insert(at, x);
  }
  return set;
}

}  // namespace

LayoutClass layout_class(exec::BlockShape block, unsigned part_lanes) {
  LayoutClass result;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  result.full_warps = threads % exec::kWarpSize == 0;
  if (result.full_warps && threads != 0)
    result.together = std::min(kMostTogether, 1u << std::countr_zero(threads / exec::kWarpSize));
  if (block.y == 1 && block.z == 1)
    result.layout = LaneLayout::one_dimension;
  else if (block.x == exec::kWarpSize && block.z == 1)
    result.layout = LaneLayout::one_row;
  else if (block.x % exec::kWarpSize == 0)
    result.layout = LaneLayout::whole_warps;
  else if (block.x % part_lanes == 0 && exec::kWarpSize % block.x == 0 && block.z == 1)
    result.layout = LaneLayout::short_rows, result.row = block.x;
  else if (block.x % part_lanes == 0)
    result.layout = LaneLayout::whole_parts;
  return result;
}

Shape shape_in_short_rows(unsigned row, unsigned component) {
  if (component == 1) return Shape::strided(0, true);
  if (component != 0) return Shape::uniform_value();
  Offsets columns;
  for (unsigned l = 0; l < exec::kWarpSize; ++l) columns.push_back(l % row);
  return Shape::with_offsets(columns, false, LowBits::zeros(5));
}

FunctionPlan::FunctionPlan(const ptx::Module& m, const ptx::Function& f, LayoutClass l, unsigned lanes,
                           Holding holding, bool late_wgmmas, Control control, unsigned number)
    : split_(holding == Holding::groups ? std::make_unique<const ptx::Function>(split_at_holds(f)) : nullptr),
      module(m),
      function(split_ ? *split_ : f),
      layout(l),
      part_lanes(lanes),
      together(control == Control::together),
      one_by_one(control == Control::one_by_one),
      warps(number),
      cfg(ptx::build_cfg(function)),
      live(ptx::liveness(function, cfg)),
      order(linear_order(m, function, cfg)),
      turns(function, order),
      unseen(function, cfg),
      ranges_(function, cfg, live),
      shapes_(function.registers.size()),
      dominators_(cfg),
      in_cycle_(function.blocks.size()),
      divergent_(function.blocks.size()),
      may_be_empty_(function.blocks.size()),
      holds_(function.blocks.size()),
      pending_(function.blocks.size()) {
  for (const ptx::Loop& loop : ptx::find_loops(cfg))
    for (BlockId b : loop.body) in_cycle_[b] = true;
  if (is_holding())
    for (BlockId b : order.blocks)
      holds_[b] = function.blocks[b].begin != function.blocks[b].end &&
                  holds_lanes(*function.instructions[function.blocks[b].begin].opcode);
  find_constants();
  if (is_holding()) in_step_ = lanes_in_step(*this);
  if (late_wgmmas) share_registers_of_wgmmas();
  for (ptx::VariableId id : function.parameters)  // .reg formals of a function: written by the prologue
    if (m.variables[id].space == ptx::Space::reg) shapes_[m.variables[id].offset] = Shape::varying();
  do {
    find_pending();
    while (update_shapes()) {
    }
  } while (update_divergence() || define_unwritten());
  if (warps > 1) find_same_values();
}

/// Registers that are read but never hold a value computed from defined ones: zero in all lanes. True if
/// there were any.
bool FunctionPlan::define_unwritten() {
  bool any = false;
  for (Shape& shape : shapes_)
    if (!shape.known) shape = Shape::uniform_value(), any = true;
  return any;
}

const std::vector<BlockId>& FunctionPlan::pending_behind(BlockId b) const {
  static const std::vector<BlockId> none;
  return gathers_all(*this, b) ? none : pending_[b];
}

std::vector<BlockId> FunctionPlan::with(BlockId b, std::initializer_list<BlockId> more) const {
  return joined(pending_behind(b), more);
}

std::vector<BlockId> FunctionPlan::staying(BlockId b) const { return joined(pending_[b], {b}); }

bool FunctionPlan::must_blend(BlockId b, ptx::RegisterId r) const {
  return std::any_of(pending_[b].begin(), pending_[b].end(), [&](BlockId x) { return live.live(x, r); });
}

std::vector<Target> FunctionPlan::targets(BlockId b, const std::vector<BlockId>& set) const {
  std::vector<Target> result;
  std::vector<BlockId> rest = set;
  std::sort(rest.begin(), rest.end(),
            [&](BlockId x, BlockId y) { return order.position[x] < order.position[y]; });
  std::uint32_t here = order.position[b];
  for (std::uint32_t loop = order.loop_of[b]; loop != ptx::kNone; loop = order.loops[loop].parent) {
    const Loop& l = order.loops[loop];
    for (BlockId x : rest)
      if (order.position[x] > here && order.position[x] < l.end) {
        result.push_back({x, false, false});
        return result;
      }
    if (auto header = std::find(rest.begin(), rest.end(), l.header); header != rest.end()) {
      rest.erase(header);
      result.push_back({l.header, !rest.empty(), true});
    }
    here = l.end - 1;
  }
  for (BlockId x : rest)
    if (order.position[x] > here) {
      result.push_back({x, false, false});
      return result;
    }
  // Only blocks behind us are left: lanes of waiting or irreducible loops. Sweep from the start (fair
  // dispatch by pc). All are tested: when every lane has exited, none waits anywhere and the function ends.
  for (BlockId x : rest) result.push_back({x, true, true});
  return result;
}

bool FunctionPlan::add_transition(BlockId from, const std::vector<BlockId>& set, bool sure) {
  bool changed = false;
  std::vector<BlockId> rest = set;
  for (const Target& t : targets(from, set)) {
    changed |= merge_into(pending_[t.block], rest, t.block);
    if (!t.tested && !(sure && set.size() == 1)) {
      changed |= !may_be_empty_[t.block];
      may_be_empty_[t.block] = true;
    }
    rest.erase(std::find(rest.begin(), rest.end(), t.block));
  }
  return changed;
}

/// Each lies in memory as its lanes' words.
void FunctionPlan::share_registers_of_wgmmas() {
  shared_.resize(function.registers.size());
  fenced_ = ptx::fenced_wgmmas(function);
  for (const ptx::Instruction& i : function.instructions) {
    if (!ptx::is_wgmma(i)) continue;
    for (const ptx::Operand& matrix : function.operands_of(i).first(2))
      if (matrix.kind == ptx::Operand::Kind::vector)
        for (const ptx::Operand& element : function.elements_of(matrix)) {
          if (element.kind != ptx::Operand::Kind::reg) continue;
          shared_[element.index] = true;
          shapes_[element.index] = Shape::varying();
        }
  }
}

void FunctionPlan::find_constants() {
  constants_.assign(function.registers.size(), nullptr);
  writers_.assign(function.registers.size(), nullptr);
  std::vector<std::uint32_t> definitions(function.registers.size());
  ptx::RegisterUses uses;
  for (const auto& i : function.instructions) {
    ptx::register_uses(function, i, uses);
    for (auto r : uses.definitions) ++definitions[r], writers_[r] = &i;
    auto operands = function.operands_of(i);
    if (i.opcode->row->text->affine != isa::Affine::move || i.guard != ptx::kNone || operands.size() != 2)
      continue;
    if (operands[0].kind == ptx::Operand::Kind::reg && operands[1].kind == ptx::Operand::Kind::immediate)
      constants_[operands[0].index] = &operands[1];
  }
  for (ptx::RegisterId r = 0; r < definitions.size(); ++r)
    if (definitions[r] != 1) constants_[r] = nullptr, writers_[r] = nullptr;
}

bool FunctionPlan::awaits_phases() const {
  return std::ranges::any_of(function.instructions,
                             [](const ptx::Instruction& i) { return ptx::asks_for_phase(*i.opcode); });
}

const ptx::Operand* FunctionPlan::constant(const ptx::Operand& o) const {
  if (o.kind == ptx::Operand::Kind::immediate) return &o;
  return o.kind == ptx::Operand::Kind::reg && !o.negated ? constants_[o.index] : nullptr;
}

void FunctionPlan::find_pending() {
  // Lanes may leave by ret while others wait: then not even a sole waiting block is sure to have lanes.
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId b : order.blocks) {
      const auto& node = cfg.nodes[b];
      bool ends = node.exit == Exit::end || node.exit == Exit::conditional_end;
      if (ends && !pending_behind(b).empty() && !lanes_vanish_) lanes_vanish_ = changed = true;
      if (node.exit == Exit::conditional_end && divergent_[b] && !lanes_vanish_)
        lanes_vanish_ = changed = true;
      bool sure = !lanes_vanish_;
      if (divergent_[b] || node.exit == Exit::end) {
        std::vector<BlockId> set = pending_behind(b);
        for (BlockId s : node.successors)
          if (!std::binary_search(set.begin(), set.end(), s))
            set.insert(std::lower_bound(set.begin(), set.end(), s), s);
        changed |= add_transition(b, set, sure && !ends);
      } else {
        for (BlockId s : node.successors) changed |= add_transition(b, with(b, {s}), true);
        if (node.exit == Exit::conditional_end) changed |= add_transition(b, pending_behind(b), false);
      }
      if (holds(b)) changed |= add_transition(b, staying(b), sure);
      if (may_leave_some(*this, b)) changed |= merge_into(pending_[b], {b}, ptx::kNone);
      if (may_be_empty_[b]) changed |= add_transition(b, pending_[b], sure);
    }
  }
}

bool FunctionPlan::update_divergence() {
  bool changed = false;
  if (together) return false;
  for (BlockId b : order.blocks) {
    if (divergent_[b]) continue;
    Exit exit = cfg.nodes[b].exit;
    if (exit != Exit::conditional && exit != Exit::conditional_end && exit != Exit::indexed) continue;
    const auto& last = function.instructions[function.blocks[b].end - 1];
    bool uniform = last.guard == ptx::kNone || !shapes_[last.guard].known || shapes_[last.guard].uniform();
    if (exit == Exit::indexed) {
      Shape index = operand_shape(function.operands_of(last)[0]);
      uniform = uniform && (!index.known || index.uniform());
    }
    if (!uniform) divergent_[b] = changed = true;
  }
  return changed;
}

}  // namespace raddle::jit
