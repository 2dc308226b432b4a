// Addresses of a lane: state spaces to host memory, with the checks that each access makes.
// Generic, global and const addresses are host addresses; shared ones are offsets in the CTA's window, local
// ones in the thread's local memory, entry parameters in the launch's parameter block; private parameters
// live in local memory and are addressed generically.
#include <algorithm>

#include "base/assert.h"
#include "exec/access.h"
#include "exec/cluster.h"
#include "exec/routing.h"
#include "exec/window.h"
#include "interp/lane.h"
#include "interp/warp.h"

namespace raddle::interp {

using Kind = ptx::Operand::Kind;
using ptx::Space;

namespace {

std::uint64_t host_bits(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

/// The start of a CTA's own shared addresses in its cluster.
std::uint32_t rank_base(const exec::CtaContext& cta) { return cta.cluster_rank << exec::kRankShift; }

std::uint64_t shared_end(const exec::LaunchContext& launch) {
  std::uint64_t fixed = exec::kReservedShared + launch.static_shared;
  std::uint64_t dynamic = std::uint64_t{launch.dynamic_shared_offset} + launch.dynamic_shared;
  return std::max(fixed, launch.dynamic_shared != 0 ? dynamic : 0);
}

}  // namespace

std::byte* Lane::private_address(ptx::VariableId id, unsigned depth) const {
  const exec::CtaContext& cta = *context().cta;
  std::uint64_t offset = frames_[depth].local + warp_->module().private_offset[id];
  return cta.local + linear_thread() * cta.local_stride + offset;
}

std::uint64_t Lane::variable_address(ptx::VariableId id) const {
  const ptx::Variable& variable = warp_->module().module->variables[id];
  const exec::LaunchContext& launch = *context().cta->launch;
  switch (variable.space) {
    case Space::shared:
      return rank_base(*context().cta) + warp_->module().shared_offsets[id];
    case Space::local:
      return frames_[depth_].local + variable.offset;
    case Space::param:
      if (warp_->module().private_offset[id] != ModuleCode::kNotPrivate)
        return host_bits(private_address(id, depth_));
      return variable.offset;
    default:
      return launch.variables[id];
  }
}

std::uint64_t Lane::to_generic(Space space, std::uint64_t address) const {
  const exec::CtaContext& cta = *context().cta;
  switch (space) {
    case Space::shared:
      return host_bits(cta.shared) + address;
    case Space::local:
      return host_bits(cta.local) + linear_thread() * cta.local_stride + address;
    case Space::param:
      // Addresses inside the parameter block are entry parameters; private ones are generic already.
      return address < code_of_entry().function->parameter_bytes ? host_bits(cta.launch->parameters) + address
                                                                 : address;
    case Space::const_:
      // It has 32 bits, as PTX allows in this space: the missing ones are the same for all constants.
      return address >> 32 == 0 ? address | constant_window() : address;
    default:
      return address;
  }
}

std::uint64_t Lane::from_generic(Space space, std::uint64_t address) const {
  return space == Space::const_ ? address : address - to_generic(space, 0);
}

std::uint64_t Lane::constant_window() const {
  const ptx::VariableId id = warp_->module().module->first_constant();
  return id == ptx::kNone ? 0 : context().cta->launch->variables[id] & ~std::uint64_t{0xffffffff};
}

bool Lane::in_space(Space space, std::uint64_t generic) const {
  const exec::CtaContext& cta = *context().cta;
  auto within = [&](std::uint64_t base, std::uint64_t size) { return generic - base < size; };
  bool shared = within(host_bits(cta.shared) + rank_base(cta), exec::kSharedWindow);
  bool local = within(host_bits(cta.local) + linear_thread() * cta.local_stride, cta.local_stride);
  bool param = within(host_bits(cta.launch->parameters), code_of_entry().function->parameter_bytes);
  switch (space) {
    case Space::shared:
      return shared;
    case Space::local:
      return local;
    case Space::param:
      return param;
    case Space::const_:
      return is_constant(generic);
    default:
      return !in_cluster(generic) && !local && !param && !is_constant(generic);
  }
}

bool Lane::in_cluster(std::uint64_t generic) const {
  const exec::CtaContext& cta = *context().cta;
  return generic - host_bits(cta.shared) < cta.cluster->cta_count * exec::kSharedWindow;
}

bool Lane::is_constant(std::uint64_t generic) const {
  const auto& variables = warp_->module().module->variables;
  for (std::size_t id = 0; id < variables.size(); ++id) {
    if (variables[id].space != Space::const_ || variables[id].function != ptx::kNone) continue;
    if (generic - context().cta->launch->variables[id] < variables[id].size) return true;
  }
  return false;
}

std::uint64_t Lane::stack_pointer() const {
  return context().cta->local_stride - context().dynamic_stack[index_];
}

void Lane::set_stack_pointer(std::uint64_t pointer) {
  std::uint64_t end = context().cta->local_stride;
  if (pointer > end || pointer < frames_[depth_].local + code().local_bytes)
    fault(exec::FaultKind::stack_overflow);
  context().dynamic_stack[index_] = static_cast<std::uint32_t>(end - pointer);
}

const FunctionCode& Lane::code_of_entry() const { return *frames_[0].code; }

/// Base plus offset, in `space`, which becomes the variable's own where the instruction names none.
std::uint64_t Lane::base_address(const ptx::Operand& operand, Space& space) const {
  auto offset = static_cast<std::uint64_t>(operand.value);
  if (operand.kind != Kind::address) return raw(operand);
  switch (operand.base) {
    case ptx::Operand::Base::reg:
      return frames_[depth_].registers[operand.index] + offset;
    case ptx::Operand::Base::absolute:
      return offset;
    case ptx::Operand::Base::variable:
      break;
  }
  const ptx::Variable& variable = warp_->module().module->variables[operand.index];
  space = variable.space;
  if (space == Space::param && warp_->module().private_offset[operand.index] != ModuleCode::kNotPrivate) {
    space = Space::generic;
  }
  return variable_address(operand.index) + offset;
}

void Lane::note_access(std::uint64_t address) const {
  if (auto* listener = warp_->module().listener)
    listener->on_access(exec::access_of(*current_), index_, address);
}

std::uint64_t Lane::generic_address(unsigned k, Space space) const {
  const std::uint64_t address = base_address(operands_[k], space);
  return to_generic(space, space == Space::shared ? exec::shared_distance(address) : address);
}

std::byte* Lane::access(unsigned k, unsigned bytes) const {
  return access(k, bytes, current_->opcode->get(isa::ModKind::space));
}

std::byte* Lane::access(unsigned k, unsigned bytes, isa::Mod named) const {
  std::byte* address = host_address(k, bytes, named, {});
  note_access(host_bits(address));
  return address;
}

std::byte* Lane::access(unsigned k, unsigned bytes, isa::Mod named, exec::AccessKind kind) const {
  std::byte* address = host_address(k, bytes, named, kind);
  if (auto* listener = warp_->module().listener)
    listener->on_access(exec::access_of(*current_, kind, named, bytes), index_, host_bits(address));
  return address;
}

/// Translated and checked.
/// @param of_copy  kind of one of a copy's accesses; none: the instruction's
std::byte* Lane::host_address(unsigned k, unsigned bytes, isa::Mod named,
                              std::optional<exec::AccessKind> of_copy) const {
  Space space = ptx::space_of(named);
  std::uint64_t address = base_address(operands_[k], space);
  const exec::CtaContext& cta = *context().cta;
  if (space == Space::shared) address = exec::shared_distance(address);
  std::uint64_t generic = to_generic(space, address);
  const bool may_be_remote =
      named == isa::Mod::shared_cluster || (space == Space::generic && exec::is_in_window(cta, generic));
  std::byte* const remote = may_be_remote ? remote_address(generic, bytes) : nullptr;
  if (generic % std::min(bytes, exec::kMostAlignment) != 0)
    fault(exec::FaultKind::misaligned_address, generic);
  // The processor would not say which address it was if it is not canonical.
  if (generic >> 47 != 0) fault(exec::FaultKind::illegal_address, generic);
  if (remote != nullptr) return remote;
  std::uint64_t limit = ~std::uint64_t{0};
  if (space == Space::shared) {
    address -= rank_base(cta);
    limit = shared_end(*cta.launch);
  }
  if (space == Space::local) limit = cta.local_stride;
  const bool is_parameter = space == Space::param && generic != address;
  if (is_parameter) limit = code_of_entry().function->parameter_bytes;
  if (limit != ~std::uint64_t{0} && (address > limit || limit - address < bytes)) {
    fault(exec::FaultKind::illegal_address, generic);
  }
  if (is_parameter) return reinterpret_cast<std::byte*>(generic);  // it came with the launch
  return reached(generic, bytes, of_copy);
}

std::byte* Lane::reached(std::uint64_t generic, std::uint32_t bytes,
                         std::optional<exec::AccessKind> of_copy) const {
  if (exec::may_access(*context().cta, generic, bytes)) return reinterpret_cast<std::byte*>(generic);
  const exec::AccessKind kind = of_copy ? *of_copy : exec::access_of(*current_).kind;
  std::uint64_t addresses[exec::kWarpSize];
  addresses[index_] = generic;
  if (context().cta->launch->asid != 0) {
    services().translate(&context(), 1u << index_, addresses, bytes, static_cast<std::uint32_t>(kind),
                         current_->line);
    return reinterpret_cast<std::byte*>(addresses[index_]);
  }
  services().check_access(&context(), 1u << index_, addresses, bytes, writes(kind), current_->line);
  return reinterpret_cast<std::byte*>(generic);  // outside of the window, but the kernel may access it
}

/// Where an access to another CTA of the cluster leads; null: it goes to none. Fault: illegal_cluster_address
/// (W-19). A CTA without cluster has no others: its addresses beyond its own memory are plain illegal ones.
std::byte* Lane::remote_address(std::uint64_t generic, unsigned bytes) const {
  const exec::CtaContext& cta = *context().cta;
  const auto address = exec::shared_address_of(cta, generic);
  if (!address || cta.cluster->cta_count == 1 || exec::rank_of(*address) == cta.cluster_rank) return nullptr;
  const exec::Route route = cta.network->route(cta, context().warp_id, *address, bytes);
  if (route.problem != exec::ClusterProblem::none) fault(exec::FaultKind::illegal_cluster_address, generic);
  return route.memory;
}

}  // namespace raddle::interp
