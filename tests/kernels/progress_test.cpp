// Progress: whatever waits in a loop lets those run that it waits for, however it looks at memory, however
// the loop ends, however its block is run. Every unit of threads waits for the next one, so that none of
// those begun first can end before the last one has begun.
#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "kernel_test.h"
#include "wait_until.h"
#include "waiting_kernels.h"

namespace {

/// An engine, and how the machine runs its code.
struct Way {
  EngineChoice engine;
  unsigned workers;
  bool deterministic;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const EngineChoice& engine : kEngines)
    if (!takes_turns(engine)) {  // vector widths make no difference here
      all.push_back({engine, 1, false});
      if (*engine.tier != '\0') continue;
      all.push_back({engine, 2, false});
      all.push_back({engine, 1, true});
    }
  return all;
}

std::string way_name(const testing::TestParamInfo<Way>& info) {
  const Way& way = info.param;
  return std::string(way.engine.engine) + way.engine.tier +
         (way.deterministic  ? "_deterministic"
          : way.workers == 1 ? "_one_worker"
                             : "_two_workers");
}

/// Which threads wait for which.
struct Waiters {
  unsigned group;  ///< threads in a unit
  unsigned blocks, warps, cluster = 1;
};

class Progress : public KernelTestBase, public testing::WithParamInterface<Way> {
 protected:
  Progress() : KernelTestBase(GetParam().engine) {
    options_.workers = GetParam().workers;
    if (GetParam().deterministic) options_.deterministic = 7;
    options_.time_limit = std::chrono::seconds(20);
  }

  static const WaitingKernels& all() {
    static const WaitingKernels made = waiting_kernels();
    return made;
  }

  raddle::Kernel waiting_kernel(const std::string& name) {
    load_text(all().text);
    auto found = module().kernel(name);
    if (!found.ok()) ADD_FAILURE() << found.error().to_string();
    return *found;
  }

  void run_chain(raddle::Kernel kernel, const WaitingKernel& waiting, const Waiters& waiters) {
    SCOPED_TRACE(waiting.name);
    const unsigned threads = waiters.blocks * waiters.warps * 32, units = threads / waiters.group;
    std::vector<unsigned> flags(units + 1);
    flags.back() = 1;
    bool ended;
    {
      auto device_flags = buffer(flags), held = buffer(std::vector<unsigned>(threads));
      raddle::LaunchConfig config{.grid = {waiters.blocks}, .block = {waiters.warps * 32}};
      config.cluster = {waiters.cluster};
      auto report = try_run(kernel, config, device_flags, held, waiters.group);
      ended = report.ok();
      if (waiting.traps) {
        ASSERT_FALSE(report.ok());
        EXPECT_NE(report.error().message.find("trap"), std::string::npos) << report.error().message;
      } else if (!ended) {
        ADD_FAILURE() << report.error().to_string();
      } else {
        if (!interpreted() && !waiting.kind.empty()) EXPECT_EQ(report->block_kind, waiting.kind);
        if (!waiting.in_block) EXPECT_EQ(contents(device_flags), std::vector<unsigned>(units + 1, 1));
        const std::vector<unsigned> values = contents(held);
        for (unsigned i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i * 2654435761u);
      }
    }
    if (!ended) close();
  }

  void run_all(const Waiters& waiters) {
    for (const WaitingKernel& waiting : all().kernels) {
      if (waiting.in_block && waiters.blocks > 1) continue;
      if (waiters.group < 32 && (waiting.meets || (waiting.is_hidden && !interpreted()))) continue;
      run_chain(waiting_kernel(waiting.name), waiting, waiters);
      if (HasFatalFailure()) return;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Progress, testing::ValuesIn(ways()), way_name);

// proves: K-7f
TEST_P(Progress, EveryLaneWaitsForTheNextOne) { run_all({.group = 1, .blocks = 1, .warps = 1}); }

// proves: K-7f
TEST_P(Progress, EveryWarpWaitsForTheNextOne) { run_all({.group = 32, .blocks = 1, .warps = 4}); }

// proves: K-7f
TEST_P(Progress, EveryBlockWaitsForTheNextOne) { run_all({.group = 64, .blocks = 3, .warps = 2}); }

// proves: K-7d
TEST_P(Progress, BlocksOfAClusterWaitForOneAnother) {
  run_all({.group = 32, .blocks = 4, .warps = 1, .cluster = 2});
}

// proves: K-7d
TEST_P(Progress, EveryClusterWaitsForTheNextOne) {
  run_all({.group = 64, .blocks = 4, .warps = 1, .cluster = 2});
}

// proves: K-7f
TEST_P(Progress, AsNvccSpellsIt) {
  for (const char* name :
       {"ldcg", "ldcv", "volatile_cast", "volatile_with_sleep", "noinline_reader", "noinline_waiter",
        "recursive_waiter", "compare_and_swap", "atomic_or_system", "ref_relaxed_block", "ref_acquire_device",
        "ref_seq_cst_system", "ref_wait", "switched", "locked"})
    for (const Waiters& waiters : {Waiters{.group = 1, .blocks = 1, .warps = 2},
                                   {.group = 32, .blocks = 1, .warps = 4},
                                   {.group = 64, .blocks = 3, .warps = 2}})
      run_chain(kernel("spins.ptx", name), {.name = name, .in_block = false, .kind = ""}, waiters);
}

TEST(WaitingKernels, AreMany) {
  const WaitingKernels all = waiting_kernels();
  std::set<std::string> names;
  for (const WaitingKernel& kernel : all.kernels) names.insert(kernel.name);
  EXPECT_EQ(names.size(), all.kernels.size());
  EXPECT_GE(names.size(), 60u);
}

/// A kernel waits for a store from outside of it.
class Outside : public Progress {
 protected:
  /// Launches a warp that waits, waits until it runs, and has `write` store to what it waits for.
  void expect_end(const std::string& name, const std::function<void(raddle::DevicePtr)>& write) {
    SCOPED_TRACE(name);
    auto kernel = waiting_kernel(name);
    auto flags = buffer(std::vector<unsigned>(2)), held = buffer(std::vector<unsigned>(32));
    auto waits = kernel.launch({.grid = {1}, .block = {32}}, flags, held, 32u);
    ASSERT_TRUE(waits.ok()) << waits.error().to_string();
    const auto begun = reinterpret_cast<unsigned*>(held.address().value);  // mapped: the host's address too
    ASSERT_TRUE(raddle::wait_until([&] { return std::atomic_ref(*begun).load() == 1; }));
    write({flags.address().value + sizeof(unsigned)});
    auto report = waits->wait();
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_EQ(contents(flags)[0], 1u);
  }

  void expect_ends(const std::function<void(raddle::DevicePtr)>& write) {
    for (const char* name : {"plain_branch_loops", "volatile_branch_regions", "cv_branch_fibers",
                             "moving_branch_loops", "acquire_sys_branch_loops", "atomic_or_branch_loops"})
      expect_end(name, write);
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Outside, testing::ValuesIn(ways()), way_name);

// proves: K-7f
TEST_P(Outside, TheHostSetsWhatAKernelWaitsFor) {
  expect_ends(
      [](raddle::DevicePtr flag) { std::atomic_ref(*reinterpret_cast<unsigned*>(flag.value)).store(1); });
}

// proves: K-7f
TEST_P(Outside, ACopySetsWhatAKernelWaitsFor) {
  auto stream = device().stream();
  ASSERT_TRUE(stream.ok());
  expect_ends([&](raddle::DevicePtr flag) {
    static const unsigned one = 1;
    EXPECT_TRUE(stream->write(flag, &one, sizeof one).ok());
    EXPECT_TRUE(stream->synchronize().ok());
  });
}

// The first kernel has every worker and waits for a kernel of another stream.
// proves: K-7f
TEST_P(Outside, AnotherStreamsKernelSetsWhatAKernelWaitsFor) {
  const unsigned workers = GetParam().workers;
  auto kernel = waiting_kernel("moving_branch_loops");
  auto streams = std::array{device().stream(), device().stream(1)};
  ASSERT_TRUE(streams[0].ok() && streams[1].ok());
  // The second launch's warp does not wait, and sets what the last warp of the first waits for.
  std::vector<unsigned> zeros(workers * 2 + 2);
  zeros.back() = 1;
  auto flags = buffer(zeros), held = buffer(std::vector<unsigned>(workers * 64));
  const raddle::DevicePtr last{flags.address().value + workers * 2 * sizeof(unsigned)};
  auto waits = kernel.launch({.grid = {workers}, .block = {64}, .stream = &*streams[0]}, flags, held, 32u);
  auto sets = kernel.launch({.grid = {1}, .block = {32}, .stream = &*streams[1]}, last, held, 32u);
  ASSERT_TRUE(waits.ok() && sets.ok());
  EXPECT_TRUE(waits->wait().ok());
  EXPECT_TRUE(sets->wait().ok());
}

}  // namespace
