// Operand access and special registers of a lane; see lane.h.
#include "interp/lane.h"

#include <algorithm>

#include "base/assert.h"
#include "exec/cluster.h"
#include "exec/executable.h"
#include "interp/warp.h"

namespace raddle::interp {

using Kind = ptx::Operand::Kind;

exec::WarpContext& Lane::context() const { return warp_->context(); }
std::uint32_t Lane::linear_thread() const { return context().warp_id * exec::kWarpSize + index_; }

void Lane::fault(exec::FaultKind kind, std::uint64_t address) const { warp_->fault(kind, address, index_); }

unsigned Lane::count(unsigned k) const { return operands_[k].kind == Kind::vector ? operands_[k].count : 1; }

const ptx::Operand& Lane::element(unsigned k, unsigned i) const {
  const ptx::Operand& operand = operands_[k];
  if (operand.kind != Kind::vector) return operand;
  return code().function->elements[operand.index + i];
}

std::uint64_t Lane::raw(const ptx::Operand& operand) const {
  std::uint64_t bits = 0;
  switch (operand.kind) {
    case Kind::reg:
      bits = frames_[depth_].registers[operand.index];
      break;
    case Kind::immediate:
      bits = static_cast<std::uint64_t>(operand.value);
      break;
    case Kind::special:
      bits = special(static_cast<ptx::SpecialRegister>(operand.index), operand.component);
      break;
    case Kind::variable:
      bits = variable_address(operand.index) + static_cast<std::uint64_t>(operand.value);
      break;
    case Kind::function:
      bits = exec::function_handle(operand.index);
      break;
    case Kind::none:
    case Kind::sink:
      break;
    default:
      RADDLE_UNREACHABLE("operand has no value");
  }
  return operand.negated ? (bits & 1) ^ 1 : bits;
}

Bits128 Lane::raw128(const ptx::Operand& operand) const {
  Bits128 bits = raw(operand);
  std::uint32_t high = operand.is_register() ? code().high[operand.index] : ptx::kNone;
  if (high != ptx::kNone) bits |= static_cast<Bits128>(frames_[depth_].registers[high]) << 64;
  return bits;
}

void Lane::store(const ptx::Operand& operand, std::uint64_t bits) {
  if (operand.kind == Kind::sink || operand.kind == Kind::none) return;
  RADDLE_ASSERT(operand.kind == Kind::reg, "destination is no register");
  unsigned width = code().register_bits[operand.index];
  frames_[depth_].registers[operand.index] = width < 64 ? bits & ((std::uint64_t{1} << width) - 1) : bits;
}

namespace {

std::uint32_t axis(const std::uint32_t (&values)[3], unsigned component) {
  return component < 3 ? values[component] : 0;
}

std::uint32_t thread_coordinate(const exec::LaunchContext& launch, std::uint32_t linear, unsigned component) {
  std::uint32_t x = launch.ntid[0], y = launch.ntid[1];
  switch (component) {
    case 0:
      return linear % x;
    case 1:
      return linear / x % y;
    case 2:
      return linear / x / y;
    default:
      return 0;
  }
}

std::uint32_t clusters_along(const exec::LaunchContext& launch, unsigned component) {
  if (component >= 3) return 0;
  return launch.nctaid[component] / launch.cluster_shape[component];
}

}  // namespace

std::uint64_t Lane::special(ptx::SpecialRegister which, unsigned component) const {
  using S = ptx::SpecialRegister;
  exec::WarpContext& warp = context();
  const exec::CtaContext& cta = *warp.cta;
  const exec::LaunchContext& launch = *cta.launch;
  std::uint32_t lane_bit = 1u << index_;
  switch (which) {
    case S::tid:
      return thread_coordinate(launch, linear_thread(), component);
    case S::ntid:
      return axis(launch.ntid, component);
    case S::laneid:
      return index_;
    case S::warpid:
      return warp.warp_id;
    case S::nwarpid:
      return cta.warp_count;
    case S::ctaid:
      return axis(cta.ctaid, component);
    case S::nctaid:
      return axis(launch.nctaid, component);
    case S::smid:
      return cta.smid;
    case S::nsmid:
      return launch.nsmid;
    case S::gridid:
      return launch.grid_id;
    case S::is_explicit_cluster:
      return launch.explicit_cluster;
    case S::clusterid:
      return component < 3 ? cta.ctaid[component] / launch.cluster_shape[component] : 0;
    case S::nclusterid:
      return clusters_along(launch, component);
    case S::cluster_ctaid:
      return component < 3 ? cta.ctaid[component] % launch.cluster_shape[component] : 0;
    case S::cluster_nctaid:
      return axis(launch.cluster_shape, component);
    case S::cluster_ctarank:
      return cta.cluster_rank;
    case S::cluster_nctarank:
      return launch.cluster_shape[0] * launch.cluster_shape[1] * launch.cluster_shape[2];
    case S::lanemask_eq:
      return lane_bit;
    case S::lanemask_lt:
      return lane_bit - 1;
    case S::lanemask_le:
      return lane_bit | (lane_bit - 1);
    case S::lanemask_gt:
      return ~(lane_bit | (lane_bit - 1));
    case S::lanemask_ge:
      return ~(lane_bit - 1);
    case S::clock:
      return static_cast<std::uint32_t>(services().clock(&warp));
    case S::clock_hi:
      return services().clock(&warp) >> 32;
    case S::clock64:
      return services().clock(&warp);
    case S::globaltimer:
      return services().globaltimer(&warp);
    case S::globaltimer_lo:
      return static_cast<std::uint32_t>(services().globaltimer(&warp));
    case S::globaltimer_hi:
      return services().globaltimer(&warp) >> 32;
    case S::total_smem_size:
    case S::aggr_smem_size:
      return exec::kReservedShared + launch.static_shared + launch.dynamic_shared;
    case S::dynamic_smem_size:
      return launch.dynamic_shared;
    case S::reserved_smem_offset_begin:
    case S::reserved_smem_offset_0:
    case S::reserved_smem_offset_1:
      return cta.cluster_rank << exec::kRankShift;
    case S::reserved_smem_offset_end:
      return (cta.cluster_rank << exec::kRankShift) + exec::kReservedShared;
    case S::reserved_smem_offset_cap:
      return exec::kReservedShared;
    case S::current_graph_exec:
      return 0;
    case S::envreg:
      if (component == 1) return static_cast<std::uint32_t>(launch.grid_workspace >> 32);
      return component == 2 ? static_cast<std::uint32_t>(launch.grid_workspace) : 0;
    case S::pm:
    case S::pm64:
      return 0;
    case S::count:
      break;
  }
  RADDLE_UNREACHABLE("special register");
}

void Lane::start(Warp& warp, unsigned index, const FunctionCode& kernel) {
  warp_ = &warp;
  index_ = index;
  depth_ = 0;
  state_ = State::running;
  carry = false;
  join_count_ = 0;
  frames_.resize(std::max<std::size_t>(frames_.size(), 1));
  context().dynamic_stack[index_] = 0;
  enter(kernel, 0);
}

void Lane::enter(const FunctionCode& code, std::uint64_t local) {
  Frame& frame = frames_[depth_];
  frame.code = &code;
  frame.registers.assign(code.frame_words, 0);
  frame.local = local;
  frame.dynamic_stack = context().dynamic_stack[index_];
  pc_ = 0;
}

void Lane::begin(const ptx::Instruction& instruction) {
  current_ = &instruction;
  operands_ = code().function->operands.data() + instruction.operands;
  operand_count_ = instruction.operand_count;
}

bool Lane::guard(const ptx::Instruction& instruction) const {
  if (instruction.guard == ptx::kNone) return true;
  bool holds = (frames_[depth_].registers[instruction.guard] & 1) != 0;
  return holds != instruction.guard_negated;
}

void Lane::push_join(std::uint32_t pc) {
  Join join{depth_, pc, &code()};
  if (join_count_ != 0 && joins_[join_count_ - 1] == join) return;
  if (join_count_ == joins_.size()) {  // the outermost hint is lost
    std::copy(joins_.begin() + 1, joins_.end(), joins_.begin());
    --join_count_;
  }
  joins_[join_count_++] = join;
}

bool Lane::pop_joins_here() {
  bool popped = false;
  while (join_count_ != 0 && joins_[join_count_ - 1] == Join{depth_, pc_, &code()}) {
    --join_count_;
    popped = true;
  }
  return popped;
}

}  // namespace raddle::interp
