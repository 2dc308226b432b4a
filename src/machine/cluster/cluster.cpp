// Birth and end of clusters.
#include "machine/cluster/cluster.h"

namespace raddle::machine {

void Cluster::launch(const ClusterLaunch& launch) {
  context.window = nullptr;
  context.cta_count = places_.ctas = launch.ctas;
  context.local_id = places_.local_id = launch.local_id;
  context.gpc = launch.gpc;
  context.shared_bytes = launch.shared_bytes;
  context.cluster_memory = 0;
  context.live.store(0, std::memory_order_relaxed);
  for (auto& traffic : context.traffic) traffic.store(0, std::memory_order_relaxed);
  context.barrier = launch.barrier;
  context.barrier->store(exec::cluster_barrier_start(launch.ctas), std::memory_order_relaxed);
  warps_per_cta_ = launch.warps_per_cta;
  heard_ = 0;
  stuck_.store(0, std::memory_order_relaxed);
}

void Cluster::hear(std::uint32_t sm, exec::SmPlace place, const exec::ClusterNetwork& network) {
  seats_[heard_].sm = sm;
  places_.sm[heard_] = place;
  if (++heard_ == context.cta_count) fill_tables(network);
}

/// SM by SM. The CTAs' memories lie in the window where their ranks' addresses point: compiled code, which
/// does not walk the tables, counts on it.
void Cluster::fill_tables(const exec::ClusterNetwork& network) {
  for (std::uint32_t rest = (2u << (context.cta_count - 1)) - 1; rest != 0;) {
    const std::uint32_t sm = seats_[static_cast<std::uint32_t>(std::countr_zero(rest))].sm;
    exec::RoutingTables& tables = network.of(sm);
    const std::uint16_t slot = tables.add_cluster(places_);
    std::uint32_t here = 0;
    for (std::uint32_t rank = 0; rank < context.cta_count; ++rank) {
      if (seats_[rank].sm != sm) continue;
      here |= 1u << rank;
      seats_[rank].cluster_slot = slot;
      seats_[rank].entry = tables.add_cta(slot, rank, warps_per_cta_,
                                          {.base = rank << exec::kRankShift, .size = context.shared_bytes});
    }
    rest &= ~here;
    context.live.fetch_or(here, std::memory_order_release);
    exec::tables_are_in_place(context, static_cast<std::uint32_t>(std::popcount(here)));
  }
}

void Cluster::close_memory(std::uint32_t rank, exec::MemoryState state, const exec::ClusterNetwork& network) {
  network.of(seats_[rank].sm).set_state(seats_[rank].entry, state);
  context.live.fetch_and(~(1u << rank), std::memory_order_acq_rel);
}

void Cluster::new_stuck_round() {
  std::uint64_t seen = stuck_.load(std::memory_order_relaxed);
  while (!stuck_.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
  }
}

bool Cluster::open(WindowPool& windows, std::uint64_t space) {
  if (open_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(mutex_);
  if (open_.load(std::memory_order_relaxed)) return true;
  if (!window_) window_ = windows.take();
  window_->hand_to(space);
  if (!window_->require(context.cta_count, context.shared_bytes)) return false;
  context.window = window_->base();
  open_.store(true, std::memory_order_release);
  return true;
}

void Cluster::close(WindowPool& windows) {
  if (window_) windows.put(std::move(window_));
  open_.store(false, std::memory_order_relaxed);
  launch_number_.fetch_add(1, std::memory_order_release);
}

Cluster* ClusterPool::take() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Cluster>());
    free_.reserve(all_.size());
    return all_.back().get();
  }
  Cluster* cluster = free_.back();
  free_.pop_back();
  return cluster;
}

}  // namespace raddle::machine
