// The tables of the SMs, by themselves: random clusters come and go on a few SMs, and every access is led
// where a plain list of them says; what is wrong with an access, and who finds it.
#include "exec/routing.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

#include "exec/cluster.h"

namespace {

using namespace raddle::exec;

constexpr std::uint32_t kSms = 5, kWarps = 64, kClusters = 6, kCtas = 12, kLargest = 0x39000;

/// TPCs of two SMs; the last one has one.
SmPlace place_of(std::uint32_t sm) {
  return {.tpc = static_cast<std::uint16_t>(sm / 2), .sm = static_cast<std::uint16_t>(sm % 2)};
}

struct Sms {
  std::vector<RoutingTables> tables;
  ClusterNetwork network;

  Sms() : tables(kSms) {
    std::vector<RoutingTables*> all;
    for (RoutingTables& each : tables) {
      each = RoutingTables({.warp_slots = kWarps, .cluster_slots = kClusters, .cta_slots = kCtas});
      all.push_back(&each);
    }
    network = ClusterNetwork(std::move(all), {0, 2, 4});
  }
};

LaunchContext& launch() {
  static LaunchContext context{};
  context.largest_shared = kLargest;
  return context;
}

/// What a cluster has, told plainly.
struct Resident {
  ClusterContext context{};
  ClusterPlaces places;
  std::uint32_t warps = 0;
  std::vector<std::unique_ptr<CtaContext>> ctas;
  std::vector<std::uint32_t> base, size;
  std::vector<MemoryState> state;
  std::vector<std::uint16_t> slot, entry;

  std::uint32_t sm_of(std::size_t rank) const { return places.sm[rank].tpc * 2u + places.sm[rank].sm; }
};

class Routing : public testing::Test {
 protected:
  /// Room for CTAs of so many warps on an SM, and for a cluster.
  bool fits(std::uint32_t sm, std::uint32_t ctas, std::uint32_t warps) const {
    std::uint32_t used = 0, all = 0, clusters = 0;
    for (const auto& each : residents_) {
      bool here = false;
      for (std::size_t rank = 0; rank < each->ctas.size(); ++rank) {
        if (each->sm_of(rank) != sm) continue;
        here = true, ++all, used += each->warps;
      }
      clusters += here;
    }
    return used + ctas * warps <= kWarps && all + ctas <= kCtas && clusters < kClusters;
  }

  void come() {
    auto cluster = std::make_unique<Resident>();
    const std::uint32_t ctas = 2 + random_() % 6;
    cluster->warps = 1 + random_() % 4;
    cluster->places = {.local_id = next_id_++, .ctas = ctas};
    for (std::uint32_t rank = 0; rank < ctas; ++rank) {
      const std::uint32_t sm = random_() % kSms;
      if (!fits(sm, ctas, cluster->warps)) return;
      cluster->places.sm[rank] = place_of(sm);
    }
    cluster->context.cta_count = ctas;
    cluster->context.window = reinterpret_cast<std::byte*>(std::uintptr_t{next_id_} << 32);
    std::uint16_t slots[kSms];
    std::uint32_t known = 0;
    for (std::uint32_t rank = 0; rank < ctas; ++rank) {
      const std::uint32_t sm = cluster->sm_of(rank);
      if ((known >> sm & 1) == 0) slots[sm] = sms_.tables[sm].add_cluster(cluster->places);
      known |= 1u << sm;
      cluster->base.push_back(rank << kRankShift);
      cluster->size.push_back(0x440 + random_() % 0x1000);
      cluster->slot.push_back(slots[sm]);
      cluster->entry.push_back(sms_.tables[sm].add_cta(slots[sm], rank, cluster->warps,
                                                       {cluster->base[rank], cluster->size[rank]}));
      cluster->state.push_back(MemoryState::there);
      CtaContext& cta = *cluster->ctas.emplace_back(std::make_unique<CtaContext>());
      cta = {.launch = &launch(),
             .shared = cluster->context.window,
             .smid = sm,
             .cluster_rank = rank,
             .cluster = &cluster->context,
             .network = &sms_.network,
             .warp_slots = sms_.tables[sm].warp_slots(cluster->entry[rank])};
    }
    residents_.push_back(std::move(cluster));
  }
  void go() {
    const auto which = residents_.begin() + static_cast<std::ptrdiff_t>(random_() % residents_.size());
    Resident& cluster = **which;
    for (std::uint32_t rank = 0; rank < cluster.ctas.size(); ++rank)
      sms_.tables[cluster.sm_of(rank)].complete_cta(cluster.entry[rank]);
    for (std::uint32_t rank = 0; rank < cluster.ctas.size(); ++rank)
      sms_.tables[cluster.sm_of(rank)].flush_done(cluster.slot[rank], rank);
    residents_.erase(which);
  }
  void change() {
    Resident& cluster = any();
    const std::uint32_t rank = random_() % cluster.places.ctas;
    RoutingTables& tables = sms_.tables[cluster.sm_of(rank)];
    if (random_() % 3 != 0) {
      cluster.base[rank] = static_cast<std::uint32_t>(random_() & 0xff'fffc);
      tables.move(cluster.entry[rank], cluster.base[rank]);
    } else if (cluster.state[rank] != MemoryState::absent) {
      cluster.state[rank] =
          cluster.state[rank] == MemoryState::there ? MemoryState::released : MemoryState::absent;
      tables.set_state(cluster.entry[rank], cluster.state[rank]);
    }
  }
  Resident& any() { return *residents_[random_() % residents_.size()]; }

  void access() {
    Resident& cluster = any();
    const std::uint32_t from = random_() % cluster.places.ctas, to = random_() % (cluster.places.ctas + 1),
                        offset = random_() % 0x1800, bytes = 1u << random_() % 5;
    const CtaContext& cta = *cluster.ctas[from];
    const Route found = route(cta, random_() % cluster.warps, map_to_rank(offset, to), bytes);
    ClusterProblem expected = ClusterProblem::none;
    std::byte* place = cluster.context.window + (std::uint64_t{to} << kRankShift) + offset;
    if (to == cluster.places.ctas) {
      expected = ClusterProblem::no_such_rank;
    } else if (to != from) {
      place = cluster.context.window + cluster.base[to] + offset;
      if (cluster.state[to] == MemoryState::absent)
        expected = ClusterProblem::exited;
      else if (cluster.state[to] == MemoryState::released)
        expected = ClusterProblem::released;
      else if (offset + bytes > cluster.size[to])
        expected = ClusterProblem::beyond_allocation;
    }
    ASSERT_EQ(found.problem, expected) << from << " to " << to << ", " << offset;
    if (expected == ClusterProblem::none) ASSERT_EQ(found.memory, place) << from << " to " << to;
    ++seen_[static_cast<int>(expected)];
  }

  std::mt19937 random_{17};
  Sms sms_;
  std::deque<std::unique_ptr<Resident>> residents_;
  std::uint32_t next_id_ = 0;
  int seen_[6] = {};
};

// proves: W-17a, W-17b, W-17c, W-17d, W-17f
TEST_F(Routing, LeadsEveryAccessWhereItsCtaIs) {
  for (int step = 0; step < 60000; ++step) {
    const unsigned what = random_() % 16;
    if (what < 3 || residents_.empty())
      come();
    else if (what == 3)
      go();
    else if (what < 6)
      change();
    else
      access();
    if (HasFatalFailure()) return;
  }
  for (int each : {0, 1, 3, 4, 5}) EXPECT_GT(seen_[each], 100) << each;
  while (!residents_.empty()) go();
  for (const RoutingTables& tables : sms_.tables) EXPECT_TRUE(tables.is_empty());
}

/// Rank r of four on SM r; rank 3 has exited, rank 2 has given its memory back.
class RoutingErrors : public Routing {
 protected:
  RoutingErrors() {
    context_.cta_count = places_.ctas = 4;
    context_.window = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 32);
    for (std::uint32_t rank = 0; rank < 4; ++rank) places_.sm[rank] = place_of(rank);
    std::uint16_t entry[4];
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      entry[rank] = sms_.tables[rank].add_cta(sms_.tables[rank].add_cluster(places_), rank, 1,
                                              {rank << kRankShift, 0x440});
    sms_.tables[2].set_state(entry[2], MemoryState::released);
    sms_.tables[3].set_state(entry[3], MemoryState::absent);
    cta_ = {.launch = &launch(),
            .shared = context_.window,
            .smid = 1,
            .cluster_rank = 1,
            .cluster = &context_,
            .network = &sms_.network,
            .warp_slots = sms_.tables[1].warp_slots(entry[1])};
  }
  ClusterProblem judge(std::uint32_t rank, std::uint32_t offset, std::uint32_t bytes) const {
    return route(cta_, 0, map_to_rank(0x5000000 | offset, rank), bytes).problem;
  }
  ClusterContext context_{};
  ClusterPlaces places_;
  CtaContext cta_{};
};

// proves: W-19a, W-19b, W-19c, W-19d, W-19e, W-19f, W-20b
TEST_F(RoutingErrors, AreFoundAtTheSourceAndAtTheTarget) {
  EXPECT_EQ(judge(0, 0x400, 4), ClusterProblem::none);
  EXPECT_EQ(judge(0, 0x43c, 4), ClusterProblem::none);
  EXPECT_EQ(judge(0, 0x43c, 8), ClusterProblem::beyond_allocation);
  EXPECT_EQ(judge(0, 0x38fff, 1), ClusterProblem::beyond_allocation);
  EXPECT_EQ(judge(0, 0x39000, 1), ClusterProblem::above_largest);
  EXPECT_EQ(judge(2, 0x400, 4), ClusterProblem::released);
  EXPECT_EQ(judge(3, 0x400, 4), ClusterProblem::exited);
  EXPECT_EQ(judge(4, 0x400, 4), ClusterProblem::no_such_rank);
  EXPECT_EQ(judge(258, 0x400, 4), ClusterProblem::no_such_rank) << "2 in eight bits";
  EXPECT_EQ(judge(1, 0x39000, 4), ClusterProblem::none) << "the CTA's own memory is not judged";
}

}  // namespace
