// A tensor memory unit with a cluster around it and nothing else of a machine: CTAs with memory, a tensor in
// host memory, requests by hand.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "exec/routing.h"
#include "machine/tma/tma_unit.h"

namespace raddle::machine {

class TmaTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kShared = 192u << 10;  ///< bytes that each CTA has
  static constexpr std::uint32_t kBarrier = 1024;       ///< offset of an mbarrier
  static constexpr std::uint32_t kBlock = 2048;         ///< offset of where blocks land

  TmaTest() {
    constexpr std::size_t kBytes = exec::kMaxClusterSize * exec::kSharedWindow;
    void* raw =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cluster_.window = static_cast<std::byte*>(raw);
    cluster_.shared_bytes = kShared;
    launch_.largest_shared = 228u << 10;
    set_cluster(1);
  }
  ~TmaTest() override { munmap(cluster_.window, exec::kMaxClusterSize * exec::kSharedWindow); }

  void set_cluster(std::uint32_t ctas) {
    cluster_.cta_count = ctas;
    tables_ = exec::RoutingTables();
    const std::uint16_t slot = tables_.add_cluster({.local_id = 3, .ctas = ctas});
    for (std::uint32_t rank = 0; rank < exec::kMaxClusterSize; ++rank) {
      entries_[rank] = tables_.add_cta(slot, rank, 1, {.base = rank << exec::kRankShift, .size = kShared});
      ctas_[rank].launch = &launch_;
      ctas_[rank].cluster = &cluster_;
      ctas_[rank].shared = cluster_.window;
      ctas_[rank].cluster_rank = rank;
      ctas_[rank].network = &network_;
      ctas_[rank].warp_slots = tables_.warp_slots(entries_[rank]);
    }
  }
  void exit(std::uint32_t rank) { tables_.set_state(entries_[rank], exec::MemoryState::absent); }

  std::byte* shared(std::uint32_t offset, std::uint32_t rank = 0) {
    return cluster_.window + rank * exec::kSharedWindow + offset;
  }
  std::uint64_t at(std::uint32_t offset, std::uint32_t rank = 0) {
    return reinterpret_cast<std::uint64_t>(shared(offset, rank));
  }
  static std::uint64_t address(const void* place) { return reinterpret_cast<std::uint64_t>(place); }
  std::atomic<std::uint64_t>& barrier(std::uint32_t rank = 0) {
    return exec::mbarrier_at(shared(kBarrier, rank));
  }
  /// One arrival and these bytes are missing.
  void expect_bytes(std::uint32_t bytes, std::uint32_t rank = 0) {
    exec::init_mbarrier(barrier(rank), 1);
    exec::arrive_at_mbarrier(barrier(rank), {.count = 1, .transactions = bytes});
  }
  bool is_over(std::uint32_t rank = 0) { return exec::is_over(barrier(rank).load(), false); }

  TmaRequester thread(std::uint32_t rank = 0, std::uint32_t number = 0) {
    return {.cta = &ctas_[rank], .thread = number, .line = 7};
  }
  exec::BulkRequest load(const void* from, std::uint32_t bytes) {
    return {.kind = exec::BulkKind{.direction = exec::BulkDirection::to_shared}.word(),
            .bytes = bytes,
            .global = address(from),
            .shared = at(kBlock),
            .barrier = at(kBarrier)};
  }
  exec::BulkRequest store(void* to, std::uint32_t bytes) {
    return {.kind = exec::BulkKind{.direction = exec::BulkDirection::to_global}.word(),
            .bytes = bytes,
            .global = address(to),
            .shared = at(kBlock)};
  }
  static void set_kind(exec::BulkRequest& request, auto change) {
    exec::BulkKind kind = exec::BulkKind::from_word(request.kind);
    change(kind);
    request.kind = kind.word();
  }
  static std::vector<std::uint8_t> numbers(std::size_t count) {
    std::vector<std::uint8_t> values(count + 128);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + 1);
    return values;
  }
  /// The first place in a vector with that alignment.
  template <class T>
  static T* aligned(std::vector<T>& values, std::size_t to = 128) {
    return reinterpret_cast<T*>((address(values.data()) + to - 1) / to * to);
  }

  exec::LaunchContext launch_{};
  exec::ClusterContext cluster_{};
  exec::RoutingTables tables_;  // of the only SM
  const exec::ClusterNetwork network_{{&tables_}, {0}};
  std::uint16_t entries_[exec::kMaxClusterSize] = {};
  exec::CtaContext ctas_[exec::kMaxClusterSize]{};
  TmaUnit unit_;
};

}  // namespace raddle::machine
