// Launch controllers: what the distributor launched is handed to workers in runs, once each; SMs move to
// workers that have nothing to do; stopped tasks leave nothing behind; clusters end after their last CTA.
// Long, as all tests drive one harness.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "exec/cluster.h"
#include "machine/launch/launch_controllers.h"
#include "machine/launch/recorder.h"

namespace raddle::machine {
namespace {

/// Code that nobody runs.
struct NoCode final : exec::Executable {
  void run_block(exec::CtaContext&) override {}
  void run_warp(exec::WarpContext&) override {}
};
NoCode no_code;

std::unique_ptr<Task> grid_of(std::uint32_t blocks, std::uint32_t threads = 1024) {
  static LaunchPages pages;
  auto task = std::make_unique<Task>(pages);
  GridWork& grid = task->work.emplace<GridWork>();
  grid.executable = &no_code;
  grid.threads_per_block = threads;
  grid.blocks = blocks;
  grid.context.nctaid[0] = blocks;
  grid.context.nctaid[1] = grid.context.nctaid[2] = 1;
  return task;
}

std::unique_ptr<Task> clusters_of(std::uint32_t size, std::uint32_t blocks, std::uint32_t threads = 1024) {
  auto task = grid_of(blocks, threads);
  GridWork& grid = task->grid();
  grid.kind.depth = 1;
  grid.kind.levels[0].extent[0] = size;
  grid.context.cluster_shape[0] = size;
  grid.shared_bytes = 4096;
  return task;
}

std::unique_ptr<Policy> lake() {
  auto policy = make_policy("lake");
  return std::move(*policy);
}

/// The controllers and the state that a worker would keep.
struct Launches {
  explicit Launches(const char* name, unsigned workers = 1, DistributorOptions options = {})
      : shape(*preset_shape(name, 2)), controllers(shape, workers, lake(), options) {}

  std::vector<CtaRun> exchange(unsigned worker, std::vector<CtaRun> finished = {}) {
    std::vector<CtaRun> grants(LaunchControllers::kGrants);
    std::array<Task*, 32> done{};
    std::size_t count = 0;
    grants.resize(controllers.exchange(worker, finished, grants, done, count));
    for (std::size_t i = 0; i < count; ++i) ++completed[done[i]];
    return grants;
  }
  bool tables_are_empty() const {
    for (std::uint32_t sm = 0; sm < shape.sm_count(); ++sm)
      if (!controllers.sm(sm).routing.is_empty()) return false;
    return true;
  }
  MachineShape shape;
  LaunchControllers controllers;
  std::map<Task*, int> completed;
};

std::vector<CtaRun> single_ctas(const std::vector<CtaRun>& runs) {
  std::vector<CtaRun> ctas;
  for (CtaRun run : runs) {
    for (; run.count != 0; run.drop_first()) {
      ctas.push_back(run);
      ctas.back().count = 1;
    }
  }
  return ctas;
}

TEST(LaunchControllers, OneLayerOfCtasIsOneRun) {
  Launches launches("h200");
  auto task = grid_of(132);
  EXPECT_EQ(launches.controllers.add(*task).workers, 1u);
  const auto runs = launches.exchange(0);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].first, 0u);
  EXPECT_EQ(runs[0].sm, 0u);
  EXPECT_EQ(runs[0].index_step, 1u);
  EXPECT_EQ(runs[0].sm_step, 1u);
  EXPECT_EQ(runs[0].count, 32u);
  EXPECT_TRUE(launches.controllers.has_more());
}

// Every CTA is handed out once, on the SM of its slot, whichever worker asks; the task completes once.
// proves: W-5i
TEST(LaunchControllers, EveryCtaOnceAndNoSmAboveItsSlots) {
  constexpr unsigned kWorkers = 2;
  Launches launches("tiny", kWorkers);
  auto task = grid_of(100);
  launches.controllers.add(*task);
  std::set<std::uint64_t> seen;
  std::map<std::uint32_t, int> on_sm;
  std::vector<CtaRun> running[kWorkers];
  while (launches.completed.empty()) {
    for (unsigned worker = 0; worker < kWorkers; ++worker) {
      for (const CtaRun& run : running[worker]) on_sm[run.sm] -= 1;
      running[worker] = single_ctas(launches.exchange(worker, running[worker]));
      for (const CtaRun& run : running[worker]) {
        EXPECT_TRUE(seen.insert(run.first).second) << run.first;
        EXPECT_LE(++on_sm[run.sm], 2) << "SM " << run.sm;
      }
    }
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(launches.completed.at(task.get()), 1);
}

// Its blocks wait for one another: a part of them would keep SMs from the rest.
// proves: K-7e
TEST(LaunchControllers, ACooperativeGridIsPlacedWholeOrNotAtAll) {
  Launches launches("tiny");  // two SMs of two such CTAs
  auto before = grid_of(2), task = grid_of(3);
  task->grid().cooperative = true;
  const auto all = [&](std::vector<CtaRun> finished = {}) {
    std::vector<CtaRun> ctas = single_ctas(launches.exchange(0, std::move(finished)));
    while (launches.controllers.has_more())
      for (const CtaRun& cta : single_ctas(launches.exchange(0))) ctas.push_back(cta);
    return ctas;
  };
  launches.controllers.add(*before);
  const std::vector<CtaRun> running = all();
  EXPECT_EQ(running.size(), 2u);
  launches.controllers.add(*task);
  EXPECT_EQ(all().size(), 0u) << "two slots are free";
  EXPECT_EQ(all(running).size(), 3u);
}

// Credits, though there are more than enough, make the distributor take every decision the long way.
// proves: W-9e
TEST(LaunchControllers, TheShortWayOfAFullMachineDecidesAsTheLongOne) {
  // A grid that comes later waits behind the first, or goes before it.
  for (const auto& [shape, priority] :
       {std::pair{"h200", 0}, std::pair{"tiny", 0}, std::pair{"h200", -1}, std::pair{"tiny", -1}}) {
    Launches quick(shape), slow(shape, 1, {.credits = 1u << 30});
    std::vector<CtaRun> launched[2];
    int i = 0;
    for (Launches* launches : {&quick, &slow}) {
      auto task = grid_of(3000, 256), late = grid_of(100, 128);
      late->priority = priority;
      launches->controllers.add(*task);
      std::vector<CtaRun> running;
      for (int round = 0; launches->completed.size() < 2; ++round) {
        if (round == 40) launches->controllers.add(*late);
        std::vector<CtaRun> ended;  // one run at a time, the last first now and then
        if (!running.empty() && round % 3 == 0) std::swap(running.front(), running.back());
        if (!running.empty()) ended.assign(1, running.front()), running.erase(running.begin());
        for (const CtaRun& run : launches->exchange(0, ended)) {
          running.push_back(run);
          for (const CtaRun& cta : single_ctas({run})) launched[i].push_back(cta);
        }
      }
      ++i;
    }
    ASSERT_EQ(launched[0].size(), 3100u) << shape;
    ASSERT_EQ(launched[0].size(), launched[1].size());
    for (std::size_t k = 0; k < launched[0].size(); ++k) {
      ASSERT_EQ(launched[0][k].first, launched[1][k].first) << shape << ", " << k;
      ASSERT_EQ(launched[0][k].sm, launched[1][k].sm) << shape << ", " << k;
    }
  }
}

using Places = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>;  // grid, CTA: SM

/// A listener: checks where each CTA went, and that no SM gives back more than it has.
class Listener final : public LaunchRecorder, public DecisionLog {
 public:
  void added(const Grid&, const std::uint32_t*, std::string_view, std::uint64_t) override {}
  void ended(const Grid&, std::uint64_t, std::uint32_t, const CtaTime&) override {}
  DecisionLog* decisions() override { return this; }
  void record(const Decision& decision) override {
    EXPECT_EQ(decision.sequence, decisions_++);
    for (std::size_t i = 0; i < decision.sms.size(); ++i) {
      int& resident = resident_[{decision.grid, decision.sms[i]}];
      if (decision.kind == Decision::Kind::complete) EXPECT_GE(--resident, 0);
      if (decision.kind != Decision::Kind::launch) continue;
      ++resident;
      EXPECT_TRUE(places.emplace(std::pair(decision.grid, decision.first + i), decision.sms[i]).second);
    }
  }
  Places places;

 private:
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> resident_;  // by grid and SM
  std::uint64_t decisions_ = 0;
};

/// Plain grids and one of clusters on three workers, which report up to eight runs at a time, in any order.
Places places_of_random_work(Launches& launches) {
  constexpr unsigned kWorkers = 3;
  std::uint32_t state = 1;
  const auto draw = [&](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
  };
  auto first = grid_of(6000, 256), clusters = clusters_of(4, 400, 128), last = grid_of(700, 512);
  launches.controllers.add(*first);
  Places places;
  std::vector<CtaRun> running[kWorkers];
  for (int round = 0; launches.completed.size() < 3; ++round) {
    if (round == 900) launches.controllers.add(*clusters);
    if (round == 1000) launches.controllers.add(*last);
    const std::size_t worker = draw(kWorkers);
    std::vector<CtaRun>& mine = running[worker];
    std::vector<CtaRun> ended;
    for (std::size_t count = draw(9); count != 0 && !mine.empty(); --count) {
      const auto one = mine.begin() + static_cast<std::ptrdiff_t>(draw(mine.size()));
      ended.push_back(*one);
      mine.erase(one);
    }
    for (const CtaRun& run : launches.exchange(static_cast<unsigned>(worker), ended)) {
      mine.push_back(run);
      for (const CtaRun& cta : single_ctas({run}))
        EXPECT_TRUE(places.emplace(std::pair(cta.task->distribution.id, cta.first), cta.sm).second);
    }
  }
  EXPECT_EQ(places.size(), 7100u);
  return places;
}

// proves: W-21a
TEST(LaunchControllers, RecordingChangesNothing) {
  for (const char* shape : {"h200", "tiny"}) {
    Listener listener;
    Launches alone(shape, 3), heard(shape, 3);
    heard.controllers.record(&listener);
    const Places places = places_of_random_work(alone);
    EXPECT_EQ(places_of_random_work(heard), places) << shape;
    EXPECT_EQ(listener.places, places) << shape;
  }
}

TEST(LaunchControllers, AnIdleWorkerTakesAnSmOfWhichNothingStarted) {
  Launches launches("tiny", 2);
  auto task = grid_of(4);
  launches.controllers.add(*task);
  std::set<std::uint32_t> sms;
  for (int i = 0; i < 4; ++i)
    for (const CtaRun& run : single_ctas(launches.exchange(0))) sms.insert(run.sm);
  EXPECT_EQ(sms.size(), 2u);
  EXPECT_TRUE(launches.exchange(1).empty());
}

// Of a kernel without loops, whose blocks always take as long. The first launch shows how long.
TEST(LaunchControllers, OneWorkerHasAllOfAGridThatIsSoonOver) {
  constexpr std::uint32_t kBlocks = 100;
  for (const auto& [block_ns, goes_on, is_tiny] :
       {std::tuple(20u, true, true), {200u, true, false}, {20u, false, false}}) {
    NoCode code;
    code.goes_on = goes_on;
    Launches launches("h200", 2);
    const auto launch = [&] {
      auto task = grid_of(kBlocks, 64);
      task->grid().executable = &code;
      return task;
    };
    auto first = launch();
    EXPECT_EQ(launches.controllers.add(*first).workers, 2u) << "nothing is known of it yet";
    std::vector<CtaRun> held;
    for (int i = 0; i < 100 && launches.completed.empty(); ++i) {
      for (CtaRun& run : held) run.took_ns = block_ns;
      held = launches.exchange(0, held);
    }
    ASSERT_EQ(launches.completed.size(), 1u);
    auto next = launch();
    EXPECT_EQ(launches.controllers.add(*next).workers, is_tiny ? 1u : 2u);
    for (const unsigned worker : {0u, 1u}) {  // whoever comes first
      std::uint32_t ctas = 0;
      for (const CtaRun& run : launches.exchange(worker)) ctas += run.count;
      if (is_tiny) EXPECT_EQ(ctas, worker == 0 ? kBlocks : 0);
      if (!is_tiny) EXPECT_LE(ctas, kBlocks / 2);
    }
  }
}

/// Launches of little grids on two workers, the first of which has run all of them.
struct LittleGrids : Launches {
  LittleGrids() : Launches("h200", 2) {
    code.goes_on = true;
    for (int i = 0; i < 8; ++i) run_one(20);
  }
  std::unique_ptr<Task> grid(std::uint32_t blocks = 100) {
    auto task = grid_of(blocks, 64);
    task->grid().executable = &code;
    return task;
  }
  void run_one(std::uint32_t block_ns) {
    auto task = grid();
    controllers.add(*task);
    std::vector<CtaRun> held;
    do {
      for (CtaRun& run : held) run.took_ns = block_ns;
      held = exchange(0, held);
    } while (!held.empty());
    EXPECT_EQ(completed[task.get()], 1);
    completed.clear();
  }
  NoCode code;
};

TEST(LaunchControllers, OneThatWasDisturbedDoesNotMakeTheNextGridALargeOne) {
  LittleGrids launches;
  launches.run_one(1'000'000);
  auto next = launches.grid();
  EXPECT_EQ(launches.controllers.add(*next).workers, 1u);
}

TEST(LaunchControllers, ALittleGridIsLoneWhereNothingElseIsToBeRun) {
  LittleGrids launches;
  auto first = launches.grid(), second = launches.grid(), third = launches.grid();
  EXPECT_TRUE(launches.controllers.add(*first).is_lone);
  EXPECT_FALSE(launches.controllers.add(*second).is_lone) << "the first one waits";
  std::vector<CtaRun> held = launches.exchange(0);
  EXPECT_FALSE(launches.controllers.add(*third).is_lone);
  while (!held.empty()) held = launches.exchange(0, held);
  auto large = launches.grid(1000);
  EXPECT_FALSE(launches.controllers.add(*large).is_lone) << "two workers could run it";
}

TEST(LaunchControllers, ALittleGridHandsItsPlaceOnWhereItIsAlone) {
  LittleGrids launches;
  auto first = launches.grid(), second = launches.grid(), third = launches.grid(), other = launches.grid(50);
  LaunchControllers& controllers = launches.controllers;
  controllers.add(*first);
  std::vector<CtaRun> held = launches.exchange(0);
  ASSERT_TRUE(controllers.succeed(held, second.get()));
  EXPECT_TRUE(first->distribution.finished());
  EXPECT_FALSE(controllers.has_news());
  for (CtaRun& run : held) run.task = second.get();
  EXPECT_FALSE(controllers.succeed(held, other.get())) << "it has other blocks, and is to be added";
  EXPECT_TRUE(second->distribution.finished()) << "reported all the same";
  EXPECT_EQ(other->distribution.task, nullptr);
  controllers.add(*third);
  held = launches.exchange(0);
  ASSERT_FALSE(held.empty());
  controllers.add(*other);
  EXPECT_FALSE(controllers.succeed(held, launches.grid().get())) << "somebody else has come";
  held = launches.exchange(0);
  ASSERT_FALSE(held.empty());
  EXPECT_EQ(held[0].task, other.get());
  EXPECT_FALSE(controllers.succeed(held, nullptr));
  for (const std::uint32_t ctas : controllers.activity().ctas) EXPECT_EQ(ctas, 0u);
  EXPECT_TRUE(launches.completed.empty()) << "who hands on completes";
}

// A large grid comes while a small one is one worker's, which holds CTAs of every SM whenever the other
// looks.
TEST(LaunchControllers, ALargeGridAfterASmallOneIsNotOneWorkersForEver) {
  NoCode code;
  code.goes_on = true;
  Launches launches("h200", 2);
  const auto launch = [&](std::uint32_t blocks) {
    auto task = grid_of(blocks, 64);
    task->grid().executable = &code;
    launches.controllers.add(*task);
    return task;
  };
  const auto ctas_of = [](const std::vector<CtaRun>& runs) {
    return std::accumulate(runs.begin(), runs.end(), 0u,
                           [](unsigned n, const CtaRun& r) { return n + r.count; });
  };
  std::vector<CtaRun> held;
  const auto report = [&] {  // worker 0 ends what it has and takes more
    for (CtaRun& run : held) run.took_ns = 20;
    held = launches.exchange(0, held);
  };
  const auto first = launch(132);
  while (launches.completed.empty()) report();
  const auto small = launch(132);
  report();
  ASSERT_EQ(ctas_of(held), 132u);
  const auto large = launch(100'000);
  report();
  EXPECT_EQ(ctas_of(launches.exchange(1)), 0u) << "worker 0 runs CTAs of every SM";
  report();
  EXPECT_GT(ctas_of(launches.exchange(1)), 100u) << "half of the SMs are worker 1's";
  report();
  EXPECT_GT(ctas_of(held), 100u);
}

TEST(LaunchControllers, AnSmThatHasStartedStays) {
  Launches launches("tiny", 2);
  auto task = grid_of(4);
  launches.controllers.add(*task);
  const auto first = launches.exchange(1);  // worker 1 owns SM 1
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].sm, 1u);
  for (int i = 0; i < 3; ++i)
    for (const CtaRun& run : launches.exchange(0)) EXPECT_EQ(run.sm, 0u);
  EXPECT_EQ(launches.exchange(1).size(), 1u);
}

TEST(LaunchControllers, HighPriorityGoesFirst) {
  Launches launches("tiny");
  auto low = grid_of(4), high = grid_of(2);
  low->priority = 1;
  launches.controllers.add(*low);
  launches.controllers.add(*high);
  const auto runs = launches.exchange(0);
  ASSERT_FALSE(runs.empty());
  EXPECT_EQ(runs[0].task, high.get());
}

// proves: A-4e, A-4f, A-4h
TEST(LaunchControllers, HighPriorityTakesTheSlotOfALowerOneBetweenItsCtas) {
  Launches launches("tiny", 1, {.task_slots = 1});
  auto low = grid_of(10), high = grid_of(2);
  low->priority = 1;
  launches.controllers.add(*low);
  std::vector<CtaRun> running;
  std::vector<std::pair<bool, std::uint64_t>> began;  // high, launch index
  const auto start = [&](std::vector<CtaRun> finished) {
    do {
      for (const CtaRun& cta : single_ctas(launches.exchange(0, finished))) {
        running.push_back(cta);
        began.emplace_back(cta.task == high.get(), cta.first);
      }
      finished.clear();
    } while (launches.controllers.has_more());
  };
  start({});
  EXPECT_EQ(began.size(), 4u);
  launches.controllers.add(*high);
  while (!running.empty()) {
    const CtaRun oldest = running.front();
    running.erase(running.begin());
    start({oldest});
  }
  const std::vector<std::pair<bool, std::uint64_t>> expected = {
      {false, 0}, {false, 1}, {false, 2}, {false, 3}, {true, 0},  {true, 1},
      {false, 4}, {false, 5}, {false, 6}, {false, 7}, {false, 8}, {false, 9}};
  EXPECT_EQ(began, expected);
  EXPECT_EQ(launches.completed[low.get()], 1);
  EXPECT_EQ(launches.completed[high.get()], 1);
}

/// What was parked before it began comes back to an SM that cannot move, as its owner has a parked block
/// there; that owner may sleep.
TEST(LaunchControllers, TheOwnerHearsOfEveryCtaThatOnlyItCanTake) {
  constexpr int kLow = 1;
  Launches launches("tiny", 2, {.task_slots = 1, .preemptive = true});  // an SM of each, two such CTAs
  LaunchControllers& controllers = launches.controllers;
  auto parent = grid_of(2), child = grid_of(2), urgent = grid_of(1), more_urgent = grid_of(1);
  parent->priority = child->priority = kLow;

  controllers.add(*parent);
  CtaRun waits = launches.exchange(0).at(0), parks = launches.exchange(1).at(0);
  ASSERT_EQ(parks.sm, 1u);
  controllers.add(*urgent);
  EXPECT_TRUE(launches.exchange(0).empty()) << "the parent has the slot";
  controllers.suspend(waits);
  parks.past = CtaRun::Past::stopped, parks.parks = true;
  launches.exchange(1, {parks});
  launches.exchange(0, launches.exchange(0));  // the urgent one ends
  ASSERT_EQ(launches.completed[urgent.get()], 1);

  controllers.add(*child);
  const std::vector<CtaRun> first = launches.exchange(0);
  EXPECT_EQ(first.at(0).sm, 0u);
  EXPECT_TRUE(launches.exchange(0).empty()) << "the other CTA is on the SM that cannot move";
  controllers.add(*more_urgent);
  EXPECT_TRUE(launches.exchange(0).empty());
  const std::vector<CtaRun> last = launches.exchange(0, first);
  ASSERT_EQ(last.at(0).task, more_urgent.get());
  controllers.recalled();
  EXPECT_TRUE(launches.exchange(0, last).empty());
  EXPECT_TRUE(controllers.recalled());
  EXPECT_EQ(launches.exchange(1).at(0).first, 1u);
}

TEST(LaunchControllers, AStoppedTaskLeavesNothing) {
  Launches launches("tiny");
  auto stopped = grid_of(100), other = grid_of(1);
  launches.controllers.add(*stopped);
  const auto taken = launches.exchange(0);
  ASSERT_FALSE(taken.empty());
  stopped->stop.store(1);
  EXPECT_FALSE(launches.controllers.stop(*stopped)) << "some of it still runs";
  EXPECT_FALSE(launches.controllers.has_more());
  EXPECT_TRUE(launches.exchange(0, taken).empty());
  EXPECT_EQ(launches.completed[stopped.get()], 1);
  launches.controllers.add(*other);
  EXPECT_EQ(launches.exchange(0).size(), 1u);
}

TEST(LaunchControllers, ATaskStoppedBeforeItStartsIsOverAtOnce) {
  Launches launches("tiny");
  auto before = grid_of(8), after = grid_of(8);
  before->stop.store(1);
  EXPECT_EQ(launches.controllers.add(*before).workers, 0u);
  launches.controllers.add(*after);
  after->stop.store(1);
  EXPECT_TRUE(launches.controllers.stop(*after));
  EXPECT_TRUE(launches.exchange(0).empty());
  EXPECT_TRUE(launches.completed.empty());
}

// proves: W-4d, W-16d, W-16e, W-20c, W-20d, W-20e, W-20f, W-20g, W-20h
TEST(LaunchControllers, AClusterEndsWhenAllItsCtasHave) {
  Launches launches("tiny");
  auto task = clusters_of(2, 6);
  launches.controllers.add(*task);
  std::vector<CtaRun> ctas;
  while (launches.controllers.has_more() || ctas.empty())
    for (const CtaRun& cta : single_ctas(launches.exchange(0))) ctas.push_back(cta);
  ASSERT_EQ(ctas.size(), 4u) << "two clusters of two fit";
  std::map<Cluster*, std::set<std::uint32_t>> sms;
  for (const CtaRun& cta : ctas) sms[cta.cluster].insert(cta.sm);
  EXPECT_EQ(sms.size(), 2u);
  // One CTA of each has ended: room for two CTAs, but no cluster is over.
  Cluster* first = ctas[0].cluster;
  std::vector<CtaRun> ended, rest;
  std::set<Cluster*> seen;
  for (const CtaRun& cta : ctas) (seen.insert(cta.cluster).second ? ended : rest).push_back(cta);
  for (auto& traffic : first->context.traffic) traffic.store(1);  // of the CTAs that are about to end
  for (const CtaRun& cta : single_ctas(launches.exchange(0, ended))) rest.push_back(cta);
  std::vector<CtaRun> last = launches.exchange(0, rest);
  for (int i = 0; i < 4; ++i) last = launches.exchange(0, last);
  EXPECT_TRUE(last.empty());
  EXPECT_TRUE(launches.completed.empty()) << "all CTAs have ended, but the first cluster has traffic";
  EXPECT_FALSE(launches.tables_are_empty()) << "its cluster slots are taken until it is flushed";
  first->context.traffic[0].store(0);
  launches.exchange(0);
  EXPECT_TRUE(launches.completed.empty()) << "one CTA has not been flushed";
  first->context.traffic[1].store(0);
  launches.exchange(0);
  EXPECT_EQ(launches.completed[task.get()], 1);
  EXPECT_TRUE(launches.tables_are_empty());
}

/// A resident CTA finds each other one of its cluster, as the tables say, and nobody else.
void check_tables(const Launches& launches, const CtaRun& run) {
  static const exec::LaunchContext context = [] {
    exec::LaunchContext largest{};
    largest.largest_shared = 228u << 10;
    return largest;
  }();
  const std::uint32_t size = run.task->grid().cluster_size();
  const auto rank = static_cast<std::uint32_t>(run.first % size);
  const exec::ClusterNetwork& network = launches.controllers.network();
  exec::ClusterContext& cluster = run.cluster->context;
  cluster.window = reinterpret_cast<std::byte*>(std::uintptr_t{0x10'0000'0000});
  const exec::CtaContext cta{.launch = &context,
                             .shared = cluster.window,
                             .smid = run.sm,
                             .cluster_rank = rank,
                             .cluster = &cluster,
                             .network = &network,
                             .warp_slots = run.cluster->warp_slots(rank, network)};
  for (std::uint32_t to = 0; to < size + 1; ++to) {
    const exec::Route route = exec::route(cta, 0, exec::map_to_rank(1028, to), 4);
    ASSERT_EQ(route.problem, to < size ? exec::ClusterProblem::none : exec::ClusterProblem::no_such_rank);
    if (to < size) EXPECT_EQ(route.memory, cluster.window + (std::uint64_t{to} << exec::kRankShift) + 1028);
  }
  EXPECT_EQ(exec::ClusterPhase::unpack(*cluster.barrier).left, size) << "no table is missing";
  EXPECT_EQ(cluster.live, (2u << (size - 1)) - 1);
}

// Clusters of two grids come and go; local ids are used again, and an id's barrier is always the same.
// proves: W-16b, W-17a, W-17b, W-17c, W-17e, W-18b
TEST(LaunchControllers, EveryLaunchReachesTheTablesOfItsSms) {
  for (const char* shape : {"h200", "tiny"}) {
    Launches launches(shape);
    auto small = clusters_of(2, 600, 96), large = clusters_of(4, 800, 200);
    launches.controllers.add(*small);
    launches.controllers.add(*large);
    std::map<std::pair<std::uint32_t, std::uint32_t>, const void*> barrier_of;
    std::map<const void*, std::pair<std::uint32_t, std::uint32_t>> id_of;
    std::uint32_t state = 7;
    std::vector<CtaRun> running;
    std::set<const Cluster*> left;  // CTAs of these have ended
    std::size_t seen = 0;
    while (launches.completed.size() < 2) {
      std::vector<CtaRun> ended;
      for (int i = 0; i < 12 && !running.empty(); ++i) {
        state = state * 1664525 + 1013904223;
        const auto one = running.begin() + static_cast<std::ptrdiff_t>((state >> 8) % running.size());
        ended.push_back(*one);
        left.insert(one->cluster);
        running.erase(one);
      }
      for (const CtaRun& cta : single_ctas(launches.exchange(0, ended))) {
        if (cta.first % cta.task->grid().cluster_size() == 0) left.erase(cta.cluster);
        const exec::ClusterContext& cluster = cta.cluster->context;
        const std::pair id(cluster.gpc, cluster.local_id);
        EXPECT_EQ(barrier_of.try_emplace(id, cluster.barrier).first->second, cluster.barrier);
        EXPECT_EQ(id_of.try_emplace(cluster.barrier, id).first->second, id);
        running.push_back(cta);
        if (++seen % 3 == 0 && !left.contains(cta.cluster)) check_tables(launches, cta);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    EXPECT_EQ(seen, 1400u);
    EXPECT_TRUE(launches.tables_are_empty()) << shape;
  }
}

// proves: W-17e
TEST(LaunchControllers, AStoppedTaskLeavesNothingInTheTables) {
  Launches launches("tiny");
  auto task = clusters_of(2, 40, 64);
  launches.controllers.add(*task);
  const std::vector<CtaRun> taken = launches.exchange(0);
  ASSERT_FALSE(taken.empty());
  EXPECT_FALSE(launches.tables_are_empty());
  task->stop.store(1);
  EXPECT_FALSE(launches.controllers.stop(*task));
  launches.exchange(0, taken);
  EXPECT_EQ(launches.completed[task.get()], 1);
  EXPECT_TRUE(launches.tables_are_empty());
}

}  // namespace
}  // namespace raddle::machine
