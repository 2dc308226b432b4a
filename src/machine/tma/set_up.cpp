#include "machine/tma/set_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "exec/routing.h"
#include "exec/window.h"
#include "machine/services/reach.h"

namespace raddle::machine {

using exec::BulkDirection;
using exec::BulkMode;
using exec::FaultKind;
using exec::TensorMap;

namespace {

constexpr std::uint32_t kUnit = 16;  ///< bytes: what bulk copies are multiples of

TmaProblem misaligned(std::uint64_t address, const char* note) {
  return {.fault = FaultKind::misaligned_address, .address = address, .note = note};
}

/// Judges `bytes` bytes of a CTA's shared memory, and notes in the job where that memory is.
/// @param shared  receives the shared address
TmaProblem check_shared(TmaJob& job, std::uint64_t generic, std::uint64_t bytes, bool own,
                        std::uint32_t& shared) {
  const exec::CtaContext& cta = *job.requester.cta;
  const exec::ClusterContext& cluster = *cta.cluster;
  const auto elsewhere = [&] {
    return TmaProblem{
        .fault = FaultKind::illegal_address, .address = generic, .note = "no shared memory of the block: "};
  };
  const auto address = exec::shared_address_of(cta, generic);
  if (!address) return elsewhere();
  shared = *address;
  const std::uint32_t rank = exec::rank_of(*address), offset = exec::offset_of(*address);
  const bool is_own = rank == cta.cluster_rank;
  if ((is_own && offset + bytes > cluster.shared_bytes) || (!is_own && (own || cluster.cta_count == 1)))
    return elsewhere();
  const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, exec::kSharedWindow));
  const exec::Route route = exec::route(cta, job.requester.thread / exec::kWarpSize, *address, size);
  if (route.problem != exec::ClusterProblem::none)
    return {.fault = FaultKind::illegal_cluster_address, .address = generic};
  job.memory[rank] = route.memory - offset;
  return {};
}

}  // namespace

TmaProblem TmaSetUp::wrong(std::string text, std::uint64_t address) {
  text_ = std::move(text);
  return {.fault = FaultKind::illegal_instruction, .address = address, .note = text_.c_str()};
}

bool TmaSetUp::may_read_map(const exec::CtaContext& cta, std::uint64_t address) {
  return exec::may_access(cta, address, exec::kTensorMapBytes);
}

bool TmaSetUp::may_load(TmaRequester requester, TmaJob& job) {
  job.requester = requester;
  return !check_window(job);
}

TmaProblem TmaSetUp::run(TmaRequester requester, const exec::BulkRequest& request, bool ahead) {
  ++counters_.requests;
  const bool is_linear = exec::BulkKind::from_word(request.kind).mode == BulkMode::linear;
  const TmaProblem problem = is_linear ? linear(requester, request) : tensor(requester, request, ahead);
  counters_.discarded += static_cast<bool>(problem);
  return problem;
}

TmaJob& TmaSetUp::begin(TmaRequester requester, TmaJob& job) {
  job_ = &job;
  job.requester = requester;
  job.receivers = job.barrier_ranks = 0;
  return job;
}

/// Where the block lies in shared memory, and whose that is.
inline TmaProblem TmaSetUp::place(const exec::BulkRequest& request, std::uint32_t alignment,
                                  std::uint64_t bytes, TmaJob& job) {
  const exec::CtaContext& cta = *job.requester.cta;
  const exec::ClusterContext& cluster = *cta.cluster;
  const bool loads = job.kind.direction != BulkDirection::to_global;
  const std::uint64_t window = reinterpret_cast<std::uint64_t>(cta.shared);
  const std::uint64_t offset = request.shared - window;
  if ((offset & (alignment - 1)) != 0)
    return misaligned(request.shared, "of shared memory, for a bulk copy: ");
  std::uint32_t shared = 0;
  job.receivers = 0;
  if (job.kind.multicast) {
    for (std::uint32_t rest = request.receivers; rest != 0; rest &= rest - 1) {
      const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
      const std::uint64_t there = window + exec::map_to_rank(static_cast<std::uint32_t>(offset), rank);
      if (rank >= cluster.cta_count) return {.fault = FaultKind::illegal_cluster_address, .address = there};
      if (const auto problem = check_shared(job, there, bytes, false, shared)) return problem;
    }
    job.receivers = request.receivers;
  } else {
    if (const auto problem = check_shared(job, request.shared, bytes, !loads || job.kind.own_memory, shared))
      return problem;
    job.receivers = 1u << exec::rank_of(shared);
  }
  job.shared = exec::offset_of(static_cast<std::uint32_t>(offset));
  return loads ? place_barrier(request, job) : TmaProblem{};
}

inline TmaProblem TmaSetUp::place_barrier(const exec::BulkRequest& request, TmaJob& job) {
  const exec::CtaContext& cta = *job.requester.cta;
  const exec::ClusterContext& cluster = *cta.cluster;
  const std::uint64_t offset = request.barrier - reinterpret_cast<std::uint64_t>(cta.shared);
  if (offset % exec::kMbarrierBytes != 0) return misaligned(request.barrier, "of an mbarrier: ");
  std::uint32_t shared = 0;
  job.barrier = exec::offset_of(static_cast<std::uint32_t>(offset));
  if (job.kind.multicast) {
    // Ranks were judged with the data; what remains is where in their memory it lies, all alike.
    if (offset >> 32 != 0 || job.barrier + exec::kMbarrierBytes > cluster.shared_bytes)
      return {.fault = FaultKind::illegal_address,
              .address = request.barrier,
              .note = "no shared memory of the block: "};
    job.barrier_ranks = job.receivers;
    return {};
  }
  if (const auto problem =
          check_shared(job, request.barrier, exec::kMbarrierBytes, job.kind.own_memory, shared))
    return problem;
  job.barrier_ranks = 1u << exec::rank_of(shared);
  return {};
}

TmaProblem TmaSetUp::linear(TmaRequester requester, const exec::BulkRequest& request) {
  TmaJob& job = begin(requester, planned_);
  job.kind = exec::BulkKind::from_word(request.kind);
  job.reduce = nullptr;
  job.bytes = job.row_bytes = job.end = request.bytes;
  job.begin = job.dimensions = job.pixels.dimensions = 0;
  job.swizzle = TensorMap::Swizzle::none;
  job.element_bytes = 1;
  job.converts = false;
  job.global = request.global;
  if (request.bytes % kUnit != 0)
    return wrong(fmt::format("a bulk copy of {} bytes, which is no multiple of 16", request.bytes));
  if (job.kind.direction != BulkDirection::shared_to_shared && request.global % kUnit != 0)
    return misaligned(request.global, "of global memory, for a bulk copy: ");
  if (job.kind.direction == BulkDirection::to_cache || request.bytes == 0) return {};
  if (job.kind.direction != BulkDirection::shared_to_shared &&
      !may_copy(*requester.cta, request.global, request.bytes))
    return {.fault = FaultKind::illegal_address, .address = request.global};
  if (const auto problem = place(request, kUnit, request.bytes, job)) return problem;
  if (job.kind.reduction != exec::BulkReduction::none)
    job.reduce = reduction_of(job.kind.reduction, job.kind.element);
  if (job.kind.direction != BulkDirection::shared_to_shared) return {};
  const std::uint64_t window = reinterpret_cast<std::uint64_t>(job.requester.cta->shared);
  if ((request.source - window) % kUnit != 0)
    return misaligned(request.source, "of shared memory, for a bulk copy: ");
  if (const auto problem = check_shared(job, request.source, request.bytes, true, job.source)) return problem;
  job.global = request.source;  // it is read as memory is
  return {};
}

TmaProblem TmaSetUp::check_map(const exec::BulkRequest& request, const TensorMap& map, const TmaJob& job) {
  const bool im2col = map.mode == TensorMap::Mode::im2col;
  if (im2col != (job.kind.mode == BulkMode::im2col))
    return wrong(fmt::format("the instruction wants a tensor map for {} mode; this one is for {} mode",
                             im2col ? "tile" : "im2col", im2col ? "im2col" : "tile"));
  if (map.rank != job.kind.rank)
    return wrong(fmt::format("the instruction wants a tensor of rank {}; the map's has rank {}",
                             job.kind.rank, map.rank));
  if (const auto problem = check_start(request, map, job)) return problem;
  if (!im2col || job.kind.direction == BulkDirection::to_global) return {};
  const std::uint32_t most = map.rank == 3 ? 0xffff : map.rank == 4 ? 255 : 31;
  for (unsigned i = 0; i < map.rank - 2; ++i)
    if (request.offsets[i] > most)
      return wrong(fmt::format("im2col offset {} is {}; it must be at most {}", i, request.offsets[i], most));
  return {};
}

/// Where a block may begin. The manuals say it of negative coordinates of stores only; an H200 says the rest.
TmaProblem TmaSetUp::check_start(const exec::BulkRequest& request, const TensorMap& map, const TmaJob& job) {
  const std::int32_t* at = request.coordinates;
  const bool sliced = is_sliced(map);
  const std::int64_t row = std::int64_t{at[0]} * element_bytes(map.element);
  if (!sliced && row % kRowStart != 0)
    return wrong(fmt::format("coordinate 0 is {}: {} bytes; a copy begins at multiples of 16", at[0], row));
  if (job.kind.direction == BulkDirection::to_global) {
    const auto* const negative = std::find_if(at, at + map.rank, [](std::int32_t c) { return c < 0; });
    if (negative != at + map.rank)
      return wrong(fmt::format("coordinate {} is {}; the coordinates of a store must not be negative",
                               negative - at, *negative));
  }
  if (map.mode != TensorMap::Mode::im2col) return {};
  for (unsigned i = 0; i < spatial_dimensions(map); ++i) {
    const unsigned dimension = first_spatial(map) + i;
    if (at[dimension] < map.lower[i] || at[dimension] > last_base(map, i))
      return wrong(fmt::format("coordinate {} is {}; the first filter base must be one of {} to {}",
                               dimension, at[dimension], map.lower[i], last_base(map, i)));
  }
  return {};
}

TmaProblem TmaSetUp::reduction_in(const TensorMap& map, TmaJob& job) {
  job.reduce = reduction_of(job.kind.reduction, map.element);
  if (job.reduce != nullptr) return {};
  return wrong(fmt::format("there is no such reduction for the tensor map's element type {}",
                           static_cast<unsigned>(map.element)));
}

TmaProblem TmaSetUp::tensor(TmaRequester requester, const exec::BulkRequest& request, bool ahead) {
  if (request.global % exec::kTensorMapAlignment != 0) return misaligned(request.global, "of a tensor map: ");
  if (request.global >> 47 != 0) return {.fault = FaultKind::illegal_address, .address = request.global};
  const Translated place_of_map =
      reach(*requester.cta, request.global, exec::kTensorMapBytes, exec::AccessKind::load);
  if (place_of_map.problem != MmuProblem::none)
    return {.fault = FaultKind::illegal_address,
            .address = request.global,
            .note = note_of(place_of_map.problem)};
  Descriptor* const descriptor =
      descriptors_.fetch(reinterpret_cast<std::uint64_t>(place_of_map.host), ahead, counters_);
  if (descriptor == nullptr)
    return wrong(fmt::format("tensor map at {:#x}: {}", request.global, descriptors_.problem()));
  InsidePlan& inside = descriptor->inside;
  std::uint64_t occupied = 0;
  if (const std::uint64_t first_row = inside.first_row(request)) {
    begin(requester, inside.job(first_row));
    occupied = inside.occupied();
  } else if (const auto problem = plan(requester, request, *descriptor, occupied)) {
    return problem;
  }
  if (job_->kind.direction == BulkDirection::to_cache) return {};
  if (const auto problem = check_window(*job_)) return problem;
  return place(request, kTensorAlignment, occupied, *job_);
}

/// A map may name more than the kernel may touch; what counts is where this block's rows lie. Pages tell when
/// the rows move.
TmaProblem TmaSetUp::check_window(const TmaJob& job) {
  const exec::AddressRange& window = job.requester.cta->launch->window;
  if (window.is_everything() || job.requester.cta->launch->asid != 0) return {};
  TmaGenerator rows_of;
  rows_of.begin(job);
  for (TmaRows rows; rows_of.next(rows);) {
    if (!rows.inside || job.begin == job.end) continue;
    const std::uint64_t first = rows.global + job.begin;
    const std::uint64_t last = first + static_cast<std::uint64_t>(rows.stride) * (rows.count - 1);
    for (const std::uint64_t row : {first, last})
      if (!may_copy(*job.requester.cta, row, job.end - job.begin))
        return {.fault = FaultKind::illegal_address, .address = row};
  }
  return {};
}

TmaProblem TmaSetUp::plan(TmaRequester requester, const exec::BulkRequest& request, Descriptor& descriptor,
                          std::uint64_t& occupied) {
  const TensorMap& map = descriptor.map;
  TmaJob& job = begin(requester, planned_);
  job.kind = exec::BulkKind::from_word(request.kind);
  job.reduce = nullptr;
  if (const auto problem = check_map(request, map, job)) return problem;
  if (job.kind.reduction != exec::BulkReduction::none) {
    if (const auto problem = reduction_in(map, job)) return problem;
  }
  occupied = plan_walk(map, request, job);
  descriptor.inside.keep(map, request.kind, job, occupied);
  return {};
}

}  // namespace raddle::machine
