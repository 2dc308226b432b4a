// Birth and end of clusters.
#include "machine/cluster/cluster.h"

namespace raddle::machine {

void Cluster::launch(std::uint32_t ctas, std::uint64_t shared_bytes, std::uint32_t gpc,
                     std::uint32_t local_id) {
  context.window = nullptr;
  context.cta_count = ctas;
  context.local_id = local_id;
  context.gpc = gpc;
  context.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  context.cluster_memory = 0;
  context.live.store((2u << (ctas - 1)) - 1, std::memory_order_relaxed);
  context.traffic.store(0, std::memory_order_relaxed);
  context.barrier.store(exec::cluster_barrier_start(ctas), std::memory_order_relaxed);
  stuck_.store(0, std::memory_order_relaxed);
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
