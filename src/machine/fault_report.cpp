// The path from a raw fault to a message.
#include <algorithm>
#include <bit>
#include <span>

#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "exec/routing.h"
#include "machine/address_space.h"

namespace raddle::machine {

namespace {
/// An address in the shared window of a cluster.
std::string describe_window(const Block& block, std::uint64_t address) {
  const exec::ClusterContext& cluster = block.cluster->context;
  const auto offset = static_cast<std::uint32_t>(address - reinterpret_cast<std::uint64_t>(cluster.window));
  const std::uint32_t rank = offset / exec::kSharedWindow;
  if (rank >= cluster.cta_count)
    return fmt::format("shared address {:#x}: the cluster has {} blocks", offset, cluster.cta_count);
  return fmt::format("offset {:#x} of the shared memory of block {} of the cluster, which has {:#x} bytes",
                     offset % exec::kSharedWindow, rank, cluster.shared_bytes);
}

/// An address near the block's own memory. Where shared addresses reach it may be a wrong one of either.
std::string describe_own(const Block& block, std::uint64_t address) {
  const auto describe = [](std::uint64_t offset, const char* name, std::uint64_t size) {
    return fmt::format("offset {:#x} of the block's {} memory, which has {:#x} bytes", offset, name, size);
  };
  const std::uint64_t shared = block.task->grid().shared_bytes,
                      local = block.cta.local_stride * block.cta.thread_count;
  const std::string as_local =
      describe(address - reinterpret_cast<std::uint64_t>(block.memory.local()), "local", local);
  const std::uint64_t distance = address - reinterpret_cast<std::uint64_t>(block.memory.shared());
  // The shared memory of a cluster lies elsewhere.
  if (block.cluster != nullptr || distance != exec::shared_distance(distance)) return as_local;
  const std::string text = describe(static_cast<std::uint32_t>(distance), "shared", shared);
  return local == 0 ? text : text + ", or " + as_local;
}

/// An address in the pages of launch parameters.
std::string describe_parameter(const Task& task, std::uint64_t address) {
  const auto offset =
      static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(task.grid().context.parameters));
  return fmt::format("offset {} of the launch's parameters, which are {} bytes and read-only", offset,
                     task.parameter_bytes());
}
}  // namespace

std::string AddressSpace::describe_address(const Block& block, const RawFault& raw) const {
  if (!raw.address_known) return "an address that is not canonical or not aligned";
  std::string text = raw.access_known ? (raw.is_write ? "write, " : "read, ") : "";
  if (raw.address >> 47 != 0) return text + "no address of user memory";
  if (block.cluster != nullptr && block.cluster->window()->covers(raw.address))
    return text + describe_window(block, raw.address);
  if (block.memory.covers(raw.address)) return text + describe_own(block, raw.address);
  if (tasks_.pages().are_parameters(raw.address)) return text + describe_parameter(*block.task, raw.address);
  return text + memory_.describe(raw.address);
}

namespace {
/// What only the faulting instruction and the registers tell: the address where the processor gave none, and
/// whether it is one that engines make of misaligned ones; the lane.
void complete(RawFault& raw, const exec::Executable& executable) {
  if (raw.registers == nullptr) return;
  const auto access =
      executable.accessed(raw.code_address, *raw.registers, raw.address_known ? raw.address : 0);
  if (access && raw.warp != 0) raw.warp += access->warp;
  if (access && raw.lane != 0) raw.lane += access->behind;
  if (access && raw.lane == 0) raw.lane = access->lane;
  if (!access || raw.address_known || raw.kind != exec::FaultKind::illegal_address) return;
  raw.address = access->address;
  raw.is_write = access->is_write;
  raw.address_known = raw.access_known = true;
  const auto misaligned = exec::misaligned_from(raw.address);
  if (misaligned) raw.address = *misaligned;
  // A user address that traps without a page fault: the instruction wants it aligned.
  if (raw.address >> 47 == 0) raw.kind = exec::FaultKind::misaligned_address;
}

/// W-19: what is wrong with an access to another block of the cluster, which block it is, where in its
/// memory.
std::string describe_cluster_address(const exec::CtaContext& cta, const RawFault& raw) {
  const auto address = exec::shared_address_of(cta, raw.address);
  if (!address) return {};
  const std::uint32_t* shape = cta.launch->cluster_shape;
  const std::string cluster = fmt::format("cluster ({},{},{})", cta.ctaid[0] / shape[0],
                                          cta.ctaid[1] / shape[1], cta.ctaid[2] / shape[2]);
  const std::uint32_t rank = exec::rank_of(*address), offset = exec::offset_of(*address);
  const std::string place =
      fmt::format("offset {:#x} of the shared memory of rank {} in {}", offset, rank, cluster);
  const std::uint32_t warp = raw.warp == 0 ? 0 : raw.warp - 1;
  const bool is_known = raw.cluster_problem != exec::ClusterProblem::none;
  switch (is_known ? raw.cluster_problem : exec::route(cta, warp, *address, 1).problem) {
    case exec::ClusterProblem::no_such_rank:
      return fmt::format("{}, which has {} blocks", place, cta.cluster->cta_count);
    case exec::ClusterProblem::above_largest:
      return fmt::format("{}: no block can have more than {:#x} bytes", place, cta.launch->largest_shared);
    case exec::ClusterProblem::exited:
      return fmt::format("{}: the block has exited", place);
    case exec::ClusterProblem::released:
      return fmt::format("{}: the block has given it back, as all its warps have exited", place);
    default:  // the access begins inside
      return fmt::format("{}: the block has {:#x} bytes", place, cta.cluster->shared_bytes);
  }
}
/// What an mbarrier lacks, as its word says.
std::string describe_mbarrier(const Block& block, const WordWait& wait) {
  const auto object = exec::Mbarrier::unpack(wait.word->load(std::memory_order_relaxed));
  const auto address = exec::shared_address_of(block.cta, reinterpret_cast<std::uint64_t>(wait.word));
  return fmt::format(
      "the phase of parity {} of the mbarrier at shared address {:#x}, which lacks {} of {} arrivals and {} "
      "bytes",
      wait.value != 0 ? 1 : 0, exec::offset_of(address.value_or(0)), object.pending, object.expected,
      object.transactions);
}

/// Who waits for what, the first few of them.
std::string describe_deadlock(const Block& block) {
  constexpr std::uint32_t kMost = 8;
  const auto at_warpgroups = std::span(block.waiters).subspan(exec::kMaxBarriers);
  const bool is_of_warpgroup =
      std::ranges::any_of(at_warpgroups, [](std::uint32_t warps) { return warps != 0; });
  if (block.word_waits == 0 && !is_of_warpgroup)
    return fmt::format("{} threads wait at barriers that no other thread can complete",
                       block.cta.live_threads);
  std::string text = "nobody can run:";
  for (std::uint32_t i = 0; i < std::min(block.word_waits, kMost); ++i) {
    const auto& [wait, warps] = block.word_waiters[i];
    const auto warp = static_cast<std::uint32_t>(std::countr_zero(warps));
    const int others = std::popcount(warps) - 1;
    text += fmt::format(
        "{} warp {}{} (line {}) waits for {}", i == 0 ? "" : ";", warp,
        others != 0 ? fmt::format(" and {} more", others) : "", block.warps[warp]->context.line,
        wait.of == WordWait::Of::mbarrier ? describe_mbarrier(block, wait) : "the barrier of the cluster");
  }
  for (std::uint32_t id = 0; id < exec::kBarriers; ++id) {
    const int warps = std::popcount(block.waiters[id]);
    if (warps != 0 && id < exec::kMaxBarriers)
      text += fmt::format("; {} warps wait at barrier {}", warps, id);
    else if (warps != 0)
      text += fmt::format("; {} warps of warpgroup {} wait for the others at wgmma.wait_group", warps,
                          id - exec::kMaxBarriers);
  }
  return text;
}
}  // namespace

std::string AddressSpace::name() const {
  return fmt::format("address space {}", pages_ ? pages_->asid() : id_);
}

exec::Fault AddressSpace::describe_fault(Block& block, RawFault raw) const {
  exec::Fault fault;
  const GridWork& grid = block.task->grid();
  complete(raw, *grid.executable);
  fault.kind = raw.kind;
  fault.kernel = *grid.name;
  std::copy_n(block.cta.ctaid, 3, fault.ctaid);
  fault.address = raw.address;
  fault.address_known = raw.address_known;
  fault.ptx_line = raw.line;
  if (raw.code_address != 0) {
    if (const auto line = grid.executable->line_of(raw.code_address)) fault.ptx_line = *line;
  }
  if (fault.ptx_line != 0 && grid.source_of != nullptr)
    fault.source = grid.source_of(grid.owner, fault.ptx_line);
  if (raw.warp != 0 && raw.lane != 0) {
    const std::uint32_t thread = (raw.warp - 1) * exec::kWarpSize + raw.lane - 1;
    fault.thread_known = true;
    fault.tid[0] = thread % grid.context.ntid[0];
    fault.tid[1] = thread / grid.context.ntid[0] % grid.context.ntid[1];
    fault.tid[2] = thread / grid.context.ntid[0] / grid.context.ntid[1];
  }
  if (raw.kind == exec::FaultKind::illegal_address || raw.kind == exec::FaultKind::misaligned_address) {
    const bool note_says_all = !raw.address_known && *raw.note != '\0';
    fault.detail = name() + ": ";
    fault.detail += note_says_all ? raw.note : raw.note + describe_address(block, raw);
  } else if (raw.kind == exec::FaultKind::illegal_cluster_address) {
    fault.detail = describe_cluster_address(block.cta, raw);
  } else if (raw.kind == exec::FaultKind::invalid_handle || raw.kind == exec::FaultKind::illegal_barrier ||
             raw.kind == exec::FaultKind::illegal_instruction) {
    fault.detail = raw.note;
  } else if (raw.kind == exec::FaultKind::deadlock) {
    fault.detail = describe_deadlock(block);
  } else if (raw.kind == exec::FaultKind::unsupported && raw.address != 0) {
    fault.detail = fmt::format(
        "the operation names lanes {:#x}, which wait outside the function; only the interpreter lets them "
        "meet",
        raw.address);
  }
  if (raw.warp != 0 && raw.lane == 0) {
    fault.detail = fmt::format("warp {}{}{}", raw.warp - 1, fault.detail.empty() ? "" : ": ", fault.detail);
  }
  return fault;
}

exec::Fault AddressSpace::out_of_memory_fault(const Task& task) {
  exec::Fault fault;
  fault.kind = exec::FaultKind::out_of_memory;
  fault.detail = fmt::format(
      "the host has no memory for a block: {} bytes of shared, {} bytes of local memory, and stacks",
      task.grid().shared_bytes, task.grid().local_stride * task.grid().threads_per_block);
  return fault;
}

void AddressSpace::locate_stop(Block& block, const RawFault& where) {
  Task& task = *block.task;
  exec::Fault located = describe_fault(block, where);
  std::lock_guard lock(failure_mutex_);
  if (task.fault.kind != exec::FaultKind::timeout || task.fault.block_known) return;
  const bool kept = failed() && failure_.kind == task.fault.kind && failure_.detail == task.fault.detail;
  located.detail += (located.detail.empty() ? "" : ": ") + task.fault.detail;
  task.fault = std::move(located);
  if (kept) failure_ = task.fault;
}

}  // namespace raddle::machine
