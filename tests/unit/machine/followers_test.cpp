// CTAs that code goes on with by itself (CtaContext::following): each runs once, where its grid and its SM
// say, however far the code goes; and never where something has to happen between CTAs.
#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using Place = std::array<std::uint32_t, 3>;

class Followers : public MachineTest {
 protected:
  /// A kernel that goes on as compiled code does, at most `most` times a call.
  TestKernel going_on(std::function<void(exec::CtaContext&)> body, std::uint32_t most = ~0u) {
    auto kernel = TestKernel::of_blocks([this, body, most](exec::CtaContext& cta) {
      ++calls_;
      for (std::uint32_t gone = 0;; ++gone) {
        body(cta);
        if (gone == most || cta.following == 0 || cta.poll->load() != 0) return;
        --cta.following;
        ++cta.ctaid[0];
        cta.smid += cta.smid_step;
      }
    });
    kernel.goes_on = true;
    return kernel;
  }

  /// Runs a grid. @returns where each CTA ran that ran
  std::map<Place, std::uint32_t> places(const GridSize& grid, std::uint32_t most = ~0u) {
    std::map<Place, std::uint32_t> found;
    std::mutex mutex;
    auto kernel = going_on(
        [&](exec::CtaContext& cta) {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(found.emplace(Place{cta.ctaid[0], cta.ctaid[1], cta.ctaid[2]}, cta.smid).second);
        },
        most);
    calls_ = 0;
    EXPECT_EQ(run(kernel, grid).kind, exec::FaultKind::none);
    return found;
  }

  /// Counts the CTAs behind which others could follow.
  std::uint64_t leaders(const GridSize& grid) {
    std::atomic<std::uint64_t> found{0};
    auto kernel = going_on([&](exec::CtaContext& cta) { found += cta.following != 0 ? 1 : 0; }, 0);
    EXPECT_EQ(run(kernel, grid).kind, exec::FaultKind::none);
    return found;
  }

  std::atomic<std::uint64_t> calls_{0};
};

TEST_F(Followers, RunOnceEachHoweverFarTheCodeGoes) {
  open();
  for (const GridSize& grid : {GridSize{1000, 7, 3}, {1, 50, 2}, {5, 5, 5}, {3000}, {2, 900}})
    for (const std::uint32_t most : {~0u, 0u, 1u, 6u}) {
      const std::uint64_t before = space_->blocks_completed();
      const auto found = places(grid, most);
      ASSERT_EQ(found.size(), std::size_t{grid.x} * grid.y * grid.z);
      EXPECT_EQ(found.rbegin()->first, (Place{grid.x - 1, grid.y - 1, grid.z - 1}));
      EXPECT_EQ(space_->blocks_completed() - before, found.size());
    }
}

TEST_F(Followers, SpareTheMachineItsWorkBetweenThem) {
  open();
  places({20000});
  EXPECT_LT(calls_, 20000u / 8) << "runs of CTAs are long where there are many";
  places({1, 500});
  EXPECT_EQ(calls_, 500u) << "nothing follows along x";
}

// Code that does not go on by itself: the worker steps along x, and is asked about a CTA's place once a row.
TEST_F(Followers, TheWorkerStepsAlongRows) {
  open({.workers = 1});
  for (const GridSize& grid : {GridSize{20000}, {1000, 7, 3}, {1, 500}, {5, 5, 5}}) {
    std::map<Place, std::uint32_t> found;
    auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) {
      EXPECT_EQ(cta.live_threads, cta.thread_count);
      EXPECT_TRUE(found.emplace(Place{cta.ctaid[0], cta.ctaid[1], cta.ctaid[2]}, cta.smid).second);
      cta.live_threads = 0;
      cta.running_warp = 3;
    });
    const std::uint64_t before = machine_->worker(0).counters().ctas_taken;
    const std::uint64_t completed = space_->blocks_completed();
    EXPECT_EQ(run(kernel, grid).kind, exec::FaultKind::none);
    const std::uint64_t ctas = std::uint64_t{grid.x} * grid.y * grid.z;
    ASSERT_EQ(found.size(), ctas);
    EXPECT_EQ(space_->blocks_completed() - completed, ctas);
    const std::uint64_t taken = machine_->worker(0).counters().ctas_taken - before;
    if (grid.x == 20000)
      EXPECT_LT(taken, ctas / 8) << "runs of CTAs are long where there are many";
    else if (grid.x == 1)
      EXPECT_EQ(taken, ctas) << "nothing follows along x";
  }
}

// Grids that fit whole, so that their places do not depend on what ends first.
TEST_F(Followers, AreWhereTheDistributorHasPlacedThem) {
  for (const GridSize& grid : {GridSize{4000}, {70, 9, 4}}) {
    open({.workers = 1});
    const auto one_by_one = places(grid, 0);
    open({.workers = 1});
    EXPECT_EQ(places(grid), one_by_one);
  }
}

TEST_F(Followers, AreNamedByFaults) {
  open();
  auto kernel = going_on([](exec::CtaContext& cta) {
    if (cta.ctaid[0] != 777 || cta.ctaid[1] != 1) return;
    exec::WarpContext warp{.cta = &cta, .initial_lanes = ~0u, .live_lanes = ~0u};
    cta.services->fault(&warp, exec::FaultKind::trap, 0, 0, 1);
  });
  const exec::Fault fault = run(kernel, {2000, 3});
  EXPECT_EQ(fault.kind, exec::FaultKind::trap);
  EXPECT_EQ(fault.ctaid[0], 777u);
  EXPECT_EQ(fault.ctaid[1], 1u);
  use(machine_);
  EXPECT_EQ(places({2000, 3}).size(), 6000u) << "for another space all is as before";
}

// A time that is over stops the task between two CTAs of a run, and nothing is left halfway.
TEST_F(Followers, EndWhereTheMachineWantsToLook) {
  open({.workers = 1});
  std::atomic<std::uint64_t> ran{0};
  auto endless = going_on([&](exec::CtaContext& cta) {
    if (++ran < 5000) return;
    while (cta.poll->load() == 0) {
    }
  });
  Task* task = submit(endless, {1u << 20, 1, 1, 32, 0, 0, 50'000'000});
  task->wait();
  EXPECT_NE(task->stop.load(), 0u) << "its time was over";
  space_->tasks().release(task);
  EXPECT_LT(ran.load(), 1u << 20);
  use(machine_);
  EXPECT_EQ(places({3000}).size(), 3000u);
}

TEST_F(Followers, ThereAreNoneWhereSomethingHappensBetweenCtas) {
  open();
  EXPECT_NE(leaders({400}), 0u);
  EXPECT_EQ(leaders({.x = 400, .cluster = 4}), 0u);
  EXPECT_EQ(leaders({.x = 100, .cooperative = true}), 0u);
  open({.deterministic = 7});
  EXPECT_EQ(leaders({400}), 0u);
  open({.deterministic = 0, .asynchrony = {.mode = Asynchrony::Mode::lazy}});
  EXPECT_EQ(leaders({400}), 0u);
}

}  // namespace
}  // namespace raddle::machine
