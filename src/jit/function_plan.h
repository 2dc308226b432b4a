// What the code generator must know before it writes a line: which blocks may hold pending lanes while
// another runs (and so where inactive lanes must be kept), which registers are equal or strided over the
// warp, where control goes after each block. One fixpoint computes these, since each depends on the
// others (docs/adr/0011).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exec/executable.h"
#include "jit/in_step.h"
#include "jit/low_bits.h"
#include "jit/order.h"
#include "jit/ranges.h"
#include "jit/turns.h"
#include "jit/unseen_stores.h"
#include "ptx/awaits.h"
#include "ptx/dominators.h"
#include "ptx/layout.h"

namespace raddle::jit {

/// Constant distances of the 32 lanes from a value's base; interned, compared by address.
using Offsets = std::vector<std::int64_t>;
const Offsets* intern_offsets(Offsets offsets);

/// How a register's value varies over the lanes of a warp.
/// affine: lane l holds base + l * stride, or base + (*pattern)[l], modulo the register's width; stride 0 is
/// uniform.
struct Shape {
  bool known = false;  ///< false: no definition seen yet (bottom of the lattice)
  bool affine = false;
  bool per_part = false;  ///< one base per part of the warp instead of one per warp; never with a pattern
  bool checked = false;   ///< affine only while a run-time flag holds (a widened 32-bit index may wrap)
  LowBits low;            ///< of an affine value's base; else of every lane's value, zeros alone
  std::int64_t stride = 0;
  const Offsets* pattern = nullptr;
  /// Where shape and flag do not say so, too: each four lanes from a multiple of four on lie this far apart.
  std::optional<std::int64_t> in_fours;

  bool uniform() const { return known && equal_lanes() && !per_part && !checked; }
  bool equal_lanes() const { return affine && stride == 0 && !pattern; }
  bool scalar() const { return known && affine && !checked; }  ///< held as scalars alone
  /// Distance of a lane from the base (of its part, when per_part: then lane counts in the part).
  std::int64_t offset(unsigned lane) const { return pattern ? (*pattern)[lane] : stride * lane; }
  /// Distance of lanes within each four; none if they have no common one.
  std::optional<std::int64_t> step_in_fours() const;
  friend bool operator==(const Shape&, const Shape&) = default;

  static Shape varying(std::uint8_t aligned = 0) { return {.known = true, .low = {.count = aligned}}; }
  static Shape uniform_value() { return {.known = true, .affine = true}; }
  static Shape strided(std::int64_t stride, bool per_part = false, LowBits low = {}) {
    return {.known = true, .affine = true, .per_part = per_part, .low = low, .stride = stride};
  }
  /// Whole-warp offsets: a stride where they are regular, a pattern where not, varying where too far apart.
  static Shape with_offsets(const Offsets& offsets, bool checked, LowBits low);
};

/// Where lanes have which thread coordinates; the only thing of a block's shape that code is specialised for.
enum class LaneLayout : std::uint8_t {
  one_dimension,  ///< y = z = 1: tid.x = first + lane
  one_row,        ///< x = 32, z = 1: tid.x = lane, tid.y = warp
  short_rows,     ///< x a multiple of the SIMD width that divides 32, z = 1: each warp is whole rows
  whole_warps,    ///< x a multiple of 32: tid.x = first + lane, y and z uniform
  whole_parts,    ///< x a multiple of the SIMD width: so in each part
  general,
};

struct LayoutClass {
  LaneLayout layout = LaneLayout::general;
  bool full_warps = false;  ///< every lane of every warp exists
  unsigned row = 0;         ///< of short rows: x
  /// Largest power of two, up to kMostTogether, that divides the number of warps, if they are full; else 1.
  unsigned together = 1;
};
/// Most warps of a block that share one stream of instructions (together.h).
inline constexpr unsigned kMostTogether = 4;
LayoutClass layout_class(exec::BlockShape block, unsigned part_lanes);
/// Of short rows: how a thread's coordinate varies over a warp.
Shape shape_in_short_rows(unsigned row, unsigned component);

/// One place to which control may go after a block. A tested target is taken if any lane waits there, else
/// the next is tried.
struct Target {
  BlockId block;
  bool tested;
  bool backward;  ///< position not after the source's: poll
};

/// Whether groups of lanes are held at synchronising operations until those that they wait for have come
/// (holds.h).
enum class Holding : std::uint8_t { none, groups };

/// How control goes. Together (together.h): all lanes of one or more warps take the same way at each
/// branch; where they would part, they leave the function. One by one (one_by_one.h): there is one thread, so
/// every register is uniform.
enum class Control : std::uint8_t { by_lane, together, one_by_one };

class FunctionPlan {
 public:
  FunctionPlan(const ptx::Module& module, const ptx::Function& function, LayoutClass layout,
               unsigned part_lanes, Holding holding, bool late_wgmmas, Control control = Control::by_lane,
               unsigned warps = 1);

 private:
  const std::unique_ptr<const ptx::Function> split_;  ///< holding: has a block for every such operation

 public:
  const ptx::Module& module;
  const ptx::Function& function;  ///< as it is compiled: the module's own, or its blocks split for holding
  const LayoutClass layout;
  const unsigned part_lanes;
  const bool together, one_by_one;
  const unsigned warps;  ///< that the function runs, 1 unless together
  const ptx::Cfg cfg;
  const ptx::Liveness live;
  const Order order;
  const Turns turns;
  const UnseenStores unseen;

  const Shape& shape(ptx::RegisterId r) const { return shapes_[r]; }
  /// The machine reads and writes the register while the function runs: wgmmas that end late name it.
  bool is_shared_with_machine(ptx::RegisterId r) const { return !shared_.empty() && shared_[r]; }
  /// A uniform register has one value for all warps that run together.
  bool same_in_all_warps(ptx::RegisterId r) const { return warps == 1 || same_[r]; }
  /// Together: whether all go the same way after b is known only at run time.
  bool may_part(BlockId b) const;
  bool same_in_all_warps(const ptx::Operand& o) const;
  /// The instruction computes such values, so that one warp does it for all that run together.
  bool is_for_all(const ptx::Instruction& i) const;
  bool divergent(BlockId b) const { return divergent_[b]; }  ///< its branch may split the warp
  /// Blocks at which other lanes may be waiting while b runs.
  const std::vector<BlockId>& pending(BlockId b) const { return pending_[b]; }
  /// Lanes that wait elsewhere may still read r: a definition in b must keep their values.
  bool must_blend(BlockId b, ptx::RegisterId r) const;
  bool is_holding() const { return split_ != nullptr; }
  /// b starts with an operation at which a group may have to wait for lanes that are pending elsewhere.
  bool holds(BlockId b) const { return holds_[b] && !pending_[b].empty(); }
  /// A lane comes to one of the two just once, and only then to the other: those that wait at the one are
  /// never members of a group at the other.
  bool in_turn(BlockId a, BlockId b) const {
    return (!in_cycle_[a] && dominators_.dominates(a, b)) || (!in_cycle_[b] && dominators_.dominates(b, a));
  }
  /// Holding: lanes at the operations that a and b begin with may wait for each other (in_step.h).
  bool may_meet(BlockId a, BlockId b) const { return in_step_.may_meet(a, b); }
  /// Every lane that the function was entered with runs b: none waits elsewhere, none has left.
  bool runs_all(BlockId b) const { return !lanes_vanish_ && pending_[b].empty(); }
  /// b may be entered with no lane waiting at it.
  bool may_be_empty(BlockId b) const { return may_be_empty_[b]; }

  /// Lanes may be waiting at `set`; where does control go after `b`? After the last tested one the function
  /// ends.
  std::vector<Target> targets(BlockId b, const std::vector<BlockId>& set) const;
  /// Blocks at which other lanes may be waiting when b ends: none behind a barrier to which all have come.
  const std::vector<BlockId>& pending_behind(BlockId b) const;
  /// pending_behind(b) plus the given successors, sorted.
  std::vector<BlockId> with(BlockId b, std::initializer_list<BlockId> more) const;
  /// pending(b) and b itself, where a group waits.
  std::vector<BlockId> staying(BlockId b) const;

  /// Lanes for which an instruction of this function gives false do nothing but wait (ptx/awaits.h).
  bool is_awaited(const ptx::Instruction& i) const { return ptx::is_awaited(function, cfg, i); }
  bool awaits_phases() const;
  /// Of a wgmma that may end late (ptx/fences.h).
  bool is_fenced(const ptx::Instruction& i) const {
    return fenced_[static_cast<std::size_t>(&i - function.instructions.data())];
  }

  /// The immediate that a register holds wherever it is read: its only definition moves it there. Null if
  /// there is none.
  const ptx::Operand* constant(const ptx::Operand& o) const;
  /// Of a register whose lanes lie a common distance apart but for those that a limit (min, max, selp) holds
  /// back: that distance (limits.cpp).
  std::optional<std::int64_t> step_within_limits(const ptx::Operand& o) const;
  /// Shape of an operand where the instruction reads it.
  Shape operand_shape(const ptx::Operand& o) const;
  /// Shape of the address of a load or store, in its own space.
  Shape address_shape(const ptx::Operand& address) const;
  /// Power of two (its logarithm) that divides every lane's address, as far as is known; host addresses are
  /// no less aligned than those in their space, up to 16 bytes.
  unsigned address_alignment(const ptx::Operand& address, isa::Mod space) const;
  /// Shape of what an instruction writes to its destination k, before guard and blending.
  Shape result_shape(const ptx::Instruction& i) const;
  /// The shape in which a plain lane instruction is computed: its result's, but vectors if base and flag
  /// would not be kept.
  Shape computed_shape(const ptx::Instruction& i) const;

 private:
  void find_constants();
  void find_same_values();
  bool masks_known_bits(const ptx::Instruction& i) const;
  bool gives_same_value(const ptx::Instruction& i) const;
  void share_registers_of_wgmmas();
  void find_pending();
  bool add_transition(BlockId from, const std::vector<BlockId>& set, bool sure);
  bool update_shapes();
  bool define_unwritten();
  bool update_divergence();
  Shape special_shape(const ptx::Operand& o) const;
  Shape as_run(const Shape& shape) const;
  Shape affine_result(const ptx::Instruction& i) const;
  bool compares_alike(const ptx::Instruction& i) const;
  std::uint8_t result_alignment(const ptx::Instruction& i) const;
  std::uint8_t value_alignment(const ptx::Operand& o) const;
  std::optional<std::int64_t> step_in_fours(const ptx::Instruction& i) const;
  Shape with_facts(const ptx::Instruction& i, Shape shape) const;
  bool do_not_wrap(const ptx::Operand& o, const Shape& shape) const;

  const Ranges ranges_;
  std::vector<Shape> shapes_;
  std::vector<bool> shared_;  // by register; empty: none is
  std::vector<bool> fenced_;  // by instruction, where wgmmas may end late
  std::vector<bool> same_;    // by register, where warps run together
  std::vector<const ptx::Operand*> constants_;
  std::vector<const ptx::Instruction*> writers_;  // by register: its only definition
  const ptx::Dominators dominators_;
  InStep in_step_;
  std::vector<bool> in_cycle_;
  bool lanes_vanish_ = false;  ///< lanes may leave while others go on
  std::vector<bool> divergent_, may_be_empty_, holds_;
  std::vector<std::vector<BlockId>> pending_;
};

}  // namespace raddle::jit
