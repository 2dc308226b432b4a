// The preemptive mode on a machine: blocks stop in the middle, keep what they have, and go on; nothing runs
// twice.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "exec/bulk.h"
#include "exec/mbarrier.h"
#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {
namespace {

using exec::BlockKind;
using exec::CtaContext;
using exec::FaultKind;
using exec::WarpContext;

/// The machine and its blocks.
struct PreemptionWay {
  const char* name;
  BlockKind kind;
  unsigned workers;
  std::optional<std::uint64_t> seed = {};
};

/// A kernel of one warp per block.
TestKernel kernel_of_warp(BlockKind kind, std::function<void(WarpContext&)> body) {
  if (kind == BlockKind::fibers) return TestKernel::of_warps(std::move(body));
  return TestKernel::of_blocks(
      [body](CtaContext& cta) {
        WarpContext warp{.cta = &cta, .initial_lanes = ~0u, .live_lanes = ~0u};
        cta.running_warp = 1;
        body(warp);
      },
      kind);
}

class PreemptionTest : public MachineTest {
 protected:
  void open_with(unsigned workers, std::optional<std::uint64_t> seed, MachineOptions options = {}) {
    options.shape = *preset_shape("tiny", 1);
    options.workers = workers;
    options.distributor.task_slots = 1;
    options.distributor.preemptive = true;
    options.deterministic = seed;
    open(std::move(options));
  }
  /// Waits for a task, and releases it. @returns the fault, `none` if it ended well
  exec::Fault end_of(Task* task, AddressSpace* space = nullptr) {
    task->wait();
    exec::Fault fault;
    if (task->stop.load() != 0) fault = task->fault;
    (space == nullptr ? *space_ : *space).tasks().release(task);
    return fault;
  }
  std::uint64_t parked() { return machine_->activity().parked; }
};

/// A low grid waits at loops for `go_`, a high one for `let_high_end_`.
class Preempted : public PreemptionTest, public ::testing::WithParamInterface<PreemptionWay> {
 protected:
  void SetUp() override { open_with(GetParam().workers, GetParam().seed); }
  void TearDown() override { go_ = let_high_end_ = true; }

  /// Half of an SM's shared memory and of an SM's threads each.
  static GridSize low_grid(std::uint32_t blocks) {
    return {.x = blocks, .shared = 100u << 10, .priority = 1};
  }
  static constexpr std::uint32_t kResident = 4;

  void step(WarpContext& warp) {
    if (GetParam().kind == BlockKind::fibers && warp.cta->ctaid[0] % 2 == 1)
      warp.cta->services->yield(&warp);
    else
      at_back_edge(warp);
  }

  TestKernel low_ = kernel_of_warp(GetParam().kind, [this](WarpContext& warp) {
    CtaContext& cta = *warp.cta;
    ++begun_;
    auto* const own = reinterpret_cast<volatile std::uint32_t*>(cta.shared);
    *own = cta.ctaid[0];
    const std::uint32_t sm = cta.smid;
    while (!go_) step(warp);
    if (*own != cta.ctaid[0] || cta.smid != sm) ++wrong_;
    ++ended_;
  });
  TestKernel high_ = kernel_of_warp(GetParam().kind, [this](WarpContext& warp) {
    ++high_begun_;
    std::fill_n(reinterpret_cast<volatile std::uint32_t*>(warp.cta->shared), 1000, 0xffffffffu);
    while (!let_high_end_) at_back_edge(warp);
  });
  static GridSize high_grid() { return {.x = 2, .shared = 100u << 10}; }

  /// The low grid has begun, then come the high one, which waits for the end of none of its blocks.
  void preempt(std::uint32_t blocks) {
    low_task_ = submit(low_, low_grid(blocks));
    ASSERT_TRUE(wait_until([&] { return begun_ >= std::min(blocks, GetParam().workers); }));
    high_task_ = submit(high_, high_grid());
    ASSERT_TRUE(wait_until([&] { return high_begun_ == 2; })) << "the urgent grid never runs";
    ASSERT_EQ(parked(), std::min(blocks, kResident));
    ASSERT_EQ(ended_, 0u);
  }

  std::atomic<bool> go_{false}, let_high_end_{false};
  std::atomic<unsigned> begun_{0}, ended_{0}, wrong_{0}, high_begun_{0};
  Task *low_task_ = nullptr, *high_task_ = nullptr;
};

// proves: A-4g, A-4h
TEST_P(Preempted, BlocksMakeRoomInTheMiddleAndGoOn) {
  for (const std::uint32_t blocks : {1u, 4u, 11u}) {
    SCOPED_TRACE(blocks);
    go_ = let_high_end_ = false;
    begun_ = ended_ = high_begun_ = 0;
    preempt(blocks);
    go_ = true;
    give_others_a_chance();
    EXPECT_EQ(ended_, 0u) << "they have left";
    let_high_end_ = true;
    EXPECT_EQ(end_of(high_task_).kind, FaultKind::none);
    EXPECT_EQ(end_of(low_task_).kind, FaultKind::none);
    EXPECT_EQ(begun_, blocks) << "a block began twice, or never";
    EXPECT_EQ(ended_, blocks);
    EXPECT_EQ(wrong_, 0u) << "a block lost its memory or its SM";
    EXPECT_EQ(parked(), 0u);
  }
}

TEST_P(Preempted, BlocksEndWhenTheirTaskIsStopped) {
  preempt(7);
  exec::Fault cancelled;
  cancelled.kind = FaultKind::cancelled;
  space_->stop_task(*low_task_, cancelled);
  EXPECT_EQ(end_of(low_task_).kind, FaultKind::cancelled) << "while the urgent one goes on";
  EXPECT_EQ(parked(), 0u);
  EXPECT_EQ(ended_, 0u);
  let_high_end_ = go_ = true;
  EXPECT_EQ(end_of(high_task_).kind, FaultKind::none);
  begun_ = 0;
  EXPECT_EQ(run(low_, low_grid(9)).kind, FaultKind::none) << "what they had serves others";
  EXPECT_EQ(begun_, 9u);
}

TEST_P(Preempted, BlocksAreStoppedAfterTheyCameBack) {
  preempt(5);
  let_high_end_ = true;
  EXPECT_EQ(end_of(high_task_).kind, FaultKind::none);
  exec::Fault cancelled;
  cancelled.kind = FaultKind::cancelled;
  space_->stop_task(*low_task_, cancelled);
  EXPECT_EQ(end_of(low_task_).kind, FaultKind::cancelled);
  EXPECT_EQ(parked(), 0u);
}

TEST_P(Preempted, BlocksSurviveTheFaultOfAnUrgentGridOfAnotherSpace) {
  auto other = AddressSpace::open(machine_, {});
  ASSERT_TRUE(other.ok());
  low_task_ = submit(low_, low_grid(6));
  ASSERT_TRUE(wait_until([&] { return begun_ >= GetParam().workers; }));
  TestKernel bad =
      kernel_of_warp(GetParam().kind, [](WarpContext&) { *reinterpret_cast<volatile int*>(8) = 1; });
  EXPECT_EQ(run(**other, bad, {.x = 40}).kind, FaultKind::illegal_address);
  go_ = true;
  EXPECT_EQ(end_of(low_task_).kind, FaultKind::none);
  EXPECT_EQ(ended_, 6u);
  EXPECT_EQ(wrong_, 0u);
}

// Its blocks wait for one another, so they are away together and back together.
TEST_P(Preempted, ACooperativeGridGoesOnAsAWhole) {
  constexpr unsigned kBlocks = 4;
  std::atomic<unsigned> arrived{0}, rounds{0};
  TestKernel together = kernel_of_warp(GetParam().kind, [&](WarpContext& warp) {
    ++begun_;
    for (unsigned round = 1; !go_; ++round) {
      ++arrived;
      while (arrived < round * kBlocks) step(warp);
      if (warp.cta->ctaid[0] == 0) ++rounds;
    }
    arrived += 1u << 20;  // who leaves the loop first lets the others do so
    ++ended_;
  });
  GridSize grid = low_grid(kBlocks);
  grid.cooperative = true;
  Task* const low = submit(together, grid);
  ASSERT_TRUE(wait_until([&] { return rounds > 3; }));
  Task* const high = submit(high_, high_grid());
  ASSERT_TRUE(wait_until([&] { return high_begun_ == 2; }));
  EXPECT_EQ(parked(), kBlocks);
  const unsigned before = rounds;
  give_others_a_chance();
  EXPECT_EQ(rounds, before);
  let_high_end_ = true;
  EXPECT_EQ(end_of(high).kind, FaultKind::none);
  ASSERT_TRUE(wait_until([&] { return rounds > before + 3; }));
  go_ = true;
  EXPECT_EQ(end_of(low).kind, FaultKind::none);
  EXPECT_EQ(begun_, kBlocks);
  EXPECT_EQ(ended_, kBlocks);
}

// The low grid is preempted by each of many.
TEST_P(Preempted, ManyTimes) {
  constexpr std::uint32_t kBlocks = 40;
  std::vector<std::atomic<unsigned>> runs(kBlocks);
  TestKernel work = kernel_of_warp(GetParam().kind, [&](WarpContext& warp) {
    auto* const own = reinterpret_cast<volatile std::uint32_t*>(warp.cta->shared);
    *own = 0;
    for (std::uint32_t i = 0; i < 3000 || !go_; ++i) *own = *own + 1, step(warp);
    if (*own < 3000) ++wrong_;
    ++runs[warp.cta->ctaid[0]];
  });
  Task* const low = submit(work, low_grid(kBlocks));
  std::atomic<unsigned> urgent{0};
  TestKernel quick = kernel_of_warp(GetParam().kind, [&](WarpContext& warp) {
    std::fill_n(reinterpret_cast<volatile std::uint32_t*>(warp.cta->shared), 100, 7u);
    ++urgent;
  });
  for (unsigned i = 0; i < 25; ++i) {
    GridSize grid{.x = 1 + i % 6, .shared = (40u + i) << 10};
    grid.priority = -static_cast<int>(i % 3);
    ASSERT_EQ(run(quick, grid).kind, FaultKind::none);
  }
  go_ = true;
  EXPECT_EQ(end_of(low).kind, FaultKind::none);
  for (const auto& count : runs) EXPECT_EQ(count, 1u);
  EXPECT_EQ(wrong_, 0u);
  EXPECT_EQ(parked(), 0u);
}

// Nothing is expected of a host that did not let the grid run for so long.
TEST_P(Preempted, ATimeLimitStandsStillMeanwhile) {
  using Clock = std::chrono::steady_clock;
  const auto limit = std::chrono::milliseconds(150);
  GridSize grid = low_grid(2);
  grid.time_limit_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(limit).count());
  const auto begin = Clock::now();
  low_task_ = submit(low_, grid);
  high_task_ = submit(high_, high_grid());
  ASSERT_TRUE(wait_until([&] { return high_begun_ == 2; }));
  const auto away = Clock::now();
  std::this_thread::sleep_until(away + limit);
  go_ = let_high_end_ = true;
  const auto back = Clock::now();
  EXPECT_EQ(end_of(high_task_).kind, FaultKind::none);
  const FaultKind fault = end_of(low_task_).kind;
  if (Clock::now() - back + (away - begin) < limit) EXPECT_EQ(fault, FaultKind::none);
}

INSTANTIATE_TEST_SUITE_P(Ways, Preempted,
                         ::testing::Values(PreemptionWay{"loops", BlockKind::loops, 1},
                                           PreemptionWay{"loops_2", BlockKind::loops, 2},
                                           PreemptionWay{"fibers", BlockKind::fibers, 1},
                                           PreemptionWay{"fibers_2", BlockKind::fibers, 2},
                                           PreemptionWay{"deterministic", BlockKind::fibers, 1, 0},
                                           PreemptionWay{"seeded", BlockKind::loops, 1, 7}),
                         [](const auto& info) { return std::string(info.param.name); });

/// What a recorder hears of CTAs that leave and come back.
class MovesHeard final : public LaunchRecorder, public DecisionLog {
 public:
  void added(const Grid&, const std::uint32_t*, std::string_view, std::uint64_t) override {}
  void ended(const Grid& grid, std::uint64_t, std::uint32_t, const CtaTime& time) override {
    const std::lock_guard lock(mutex);
    times.emplace_back(grid.priority, time);
  }
  DecisionLog* decisions() override { return this; }
  void record(const Decision& decision) override {
    parks += decision.kind == Decision::Kind::park;
    resumes += decision.kind == Decision::Kind::resume;
  }
  std::mutex mutex;
  std::vector<std::pair<int, CtaTime>> times;
  unsigned parks = 0, resumes = 0;
};

class PreemptionOnTheRecord : public PreemptionTest {};

TEST_F(PreemptionOnTheRecord, IsNoPartOfADuration) {
  MovesHeard heard;
  open_with(1, {}, {.recorder = &heard});
  std::atomic<bool> go{false};
  std::atomic<unsigned> begun{0};
  TestKernel low = kernel_of_warp(BlockKind::loops, [&](WarpContext& warp) {
    ++begun;
    while (!go) at_back_edge(warp);
  });
  TestKernel high = kernel_of_warp(BlockKind::loops, [&](WarpContext&) {
    give_others_a_chance();
    go = true;
  });
  Task* const task = submit(low, {.priority = 1});
  ASSERT_TRUE(wait_until([&] { return begun == 1; }));
  EXPECT_EQ(run(high, {}).kind, FaultKind::none);
  EXPECT_EQ(end_of(task).kind, FaultKind::none);
  close();
  EXPECT_EQ(heard.parks, 1u);
  EXPECT_EQ(heard.resumes, 1u);
  ASSERT_EQ(heard.times.size(), 2u);
  const CtaTime& urgent = heard.times[0].second;
  const CtaTime& time = heard.times[1].second;
  EXPECT_EQ(heard.times[1].first, 1);
  EXPECT_GE(time.parked, urgent.duration());
  EXPECT_GE(time.end - time.start, time.parked);
}

/// Blocks whose copies land late.
class PreemptionOfLateCopies : public PreemptionTest, public ::testing::WithParamInterface<bool> {};

// A multicast to itself, and a store, neither of which anybody waits for. By the time when the urgent grid
// runs, they have landed.
// proves: T-12f
TEST_P(PreemptionOfLateCopies, WaitsUntilAllHaveLanded) {
  open_with(1, 0, {.asynchrony = {.mode = Asynchrony::Mode::lazy}});
  constexpr std::uint32_t kBytes = 8192, kFrom = 1024, kTo = kFrom + kBytes;
  struct alignas(128) Memory {
    std::array<std::uint32_t, kBytes / 4> in, out;
  };
  static Memory memory;
  std::iota(memory.in.begin(), memory.in.end(), 1u);
  memory.out.fill(0);
  std::atomic<bool> go{false};
  std::atomic<const std::uint32_t*> landed{nullptr};
  std::atomic<std::size_t> outstanding{0}, at_first{0}, found{0};
  TestKernel low = kernel_of_warp(BlockKind::fibers, [&](WarpContext& warp) {
    CtaContext& cta = *warp.cta;
    const auto at = [&](std::uint32_t offset) {
      return reinterpret_cast<std::uint64_t>(cta.shared) + offset;
    };
    auto* const own = reinterpret_cast<std::uint32_t*>(cta.shared + kFrom);
    std::copy(memory.in.begin(), memory.in.end(), own);
    exec::init_mbarrier(exec::mbarrier_at(cta.shared), 1);
    exec::arrive_at_mbarrier(exec::mbarrier_at(cta.shared), {.count = 1, .transactions = kBytes});
    const exec::BulkRequest load{
        .kind = exec::BulkKind{.direction = exec::BulkDirection::to_shared, .multicast = true}.word(),
        .bytes = kBytes,
        .global = reinterpret_cast<std::uint64_t>(memory.in.data()),
        .shared = at(kTo),
        .barrier = at(0),
        .receivers = 1};
    const exec::BulkRequest store{.kind = exec::BulkKind{.direction = exec::BulkDirection::to_global}.word(),
                                  .bytes = kBytes,
                                  .global = reinterpret_cast<std::uint64_t>(memory.out.data()),
                                  .shared = at(kFrom)};
    cta.services->proxy_fence(&warp);
    cta.services->bulk_copy(&warp, 0, &load);
    cta.services->bulk_copy(&warp, 0, &store);
    cta.services->bulk_commit(&warp, 1);
    at_first = machine_->launches().sm(cta.smid).tma->outstanding();
    landed = reinterpret_cast<const std::uint32_t*>(cta.shared + kTo);
    while (!go) GetParam() ? at_back_edge(warp) : cta.services->yield(&warp);
  });
  TestKernel high = kernel_of_warp(BlockKind::loops, [&](WarpContext&) {
    for (std::uint32_t sm = 0; sm < machine_->shape().sm_count(); ++sm)
      if (const auto& unit = machine_->launches().sm(sm).tma) outstanding += unit->outstanding();
    for (std::size_t i = 0; i < memory.in.size(); ++i)
      found += (landed.load()[i] == memory.in[i]) + (memory.out[i] == memory.in[i]);
    go = true;
  });
  Task* const task = submit(low, {.shared = kTo + kBytes, .priority = 1});
  ASSERT_TRUE(wait_until([&] { return landed != nullptr; }));
  EXPECT_EQ(run(high, {}).kind, FaultKind::none);
  EXPECT_EQ(end_of(task).kind, FaultKind::none);
  EXPECT_GT(at_first, 60u) << "they land at once: this test shows nothing";
  EXPECT_EQ(outstanding, 0u);
  EXPECT_EQ(found, 2 * memory.in.size());
}

INSTANTIATE_TEST_SUITE_P(Blocks, PreemptionOfLateCopies, ::testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "AtLoops" : "ThatYield"); });

}  // namespace
}  // namespace raddle::machine
