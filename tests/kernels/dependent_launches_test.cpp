// Programmatic dependent launches on every engine: a grid that begins before the one before it has ended, and
// waits for its end where it says so. Wherever a dependent has to begin early, the primary waits for it, so
// that it would not end otherwise.
#include <numeric>

#include "kernel_test.h"

namespace {

using Words = std::vector<unsigned>;
using raddle::Buffer;
using raddle::LaunchConfig;

constexpr const char* kDependentFile = "dependent_launches.ptx";

/// An engine, and how the machine runs its code.
struct LaunchWay {
  EngineChoice engine;
  unsigned workers;
  bool deterministic = false;
};

std::vector<LaunchWay> launch_ways() {
  std::vector<LaunchWay> all;
  for (const EngineChoice& engine : kEngines)
    if (!takes_turns(engine) && *engine.tier == '\0') {
      all.push_back({engine, 1});
      all.push_back({engine, 2});
      all.push_back({engine, 1, true});
    }
  return all;
}

std::string launch_way_name(const testing::TestParamInfo<LaunchWay>& info) {
  const LaunchWay& way = info.param;
  return std::string(way.engine.engine) + (way.deterministic  ? "_deterministic"
                                           : way.workers == 1 ? "_one_worker"
                                                              : "_two_workers");
}

/// What a primary writes.
Words written(unsigned threads) {
  Words values(threads);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

class DependentLaunches : public KernelTestBase, public testing::WithParamInterface<LaunchWay> {
 protected:
  DependentLaunches() : KernelTestBase(GetParam().engine) {
    options_.workers = GetParam().workers;
    if (GetParam().deterministic) options_.deterministic = 7;
    options_.shape = "tiny";
    options_.time_limit = std::chrono::seconds(30);  // what would wait forever fails
  }

  static LaunchConfig of(raddle::Stream& stream, unsigned blocks, unsigned threads = 64, bool early = false) {
    return {.grid = {blocks}, .block = {threads}, .stream = &stream, .begins_early = early};
  }

  template <class... Arguments>
  void launch(const char* name, const LaunchConfig& config, const Arguments&... arguments) {
    auto launched = kernel(kDependentFile, name).launch(config, arguments...);
    if (!launched.ok()) ADD_FAILURE() << launched.error().to_string();
  }

  static void synchronize(raddle::Stream& stream) {
    const auto done = stream.synchronize();
    EXPECT_TRUE(done.ok()) << done.error().to_string();
  }

  raddle::Stream stream() {
    auto made = device().stream();
    if (!made.ok()) ADD_FAILURE() << made.error().to_string();
    return std::move(*made);
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, DependentLaunches, testing::ValuesIn(launch_ways()), launch_way_name);

// Each dependent, whatever the kind of its blocks, sets what the primary waits for, and then waits for what
// the primary writes after that. Several rounds: tasks are used again.
TEST_P(DependentLaunches, BeginEarlyAndWaitForTheEnd) {
  for (const char* name : {"dependent", "dependent_in_regions", "last_warp_first"}) {
    SCOPED_TRACE(name);
    for (const unsigned blocks : {1u, 5u}) {
      auto flag = buffer(Words(1)), data = buffer(Words(blocks * 64)), out = buffer(Words(blocks * 64));
      raddle::Stream s = stream();
      launch("primary", of(s, blocks), flag, data, blocks);
      launch(name, of(s, blocks, 64, true), flag, data, out);
      synchronize(s);
      EXPECT_EQ(contents(out), written(blocks * 64));
    }
  }
}

// Lanes of one warp: some wait for the primary, the others are what it waits for.
TEST_P(DependentLaunches, LanesWaitByThemselves) {
  auto flag = buffer(Words(1)), data = buffer(Words(64)), out = buffer(Words(64));
  raddle::Stream s = stream();
  launch("primary", of(s, 1), flag, data, 1u);
  launch("half_a_warp_first", of(s, 1, 64, true), flag, data, out);
  synchronize(s);
  Words expected = written(64);
  for (std::size_t i = 1; i < expected.size(); i += 2) expected[i] = 0;
  EXPECT_EQ(contents(out), expected);
}

// Blocks that end without a call count as if they had made one; more blocks than the machine holds at once.
TEST_P(DependentLaunches, BlocksThatEndHaveTriggered) {
  constexpr unsigned kBlocks = 300;
  auto flag = buffer(Words(1)), data = buffer(Words(kBlocks * 64)), out = buffer(Words(kBlocks * 64));
  raddle::Stream s = stream();
  launch("primary", of(s, kBlocks), flag, data, 3u);
  launch("dependent", of(s, kBlocks, 64, true), flag, data, out);
  synchronize(s);
  EXPECT_EQ(contents(out), written(kBlocks * 64));
}

// The last of three lets the first one end; the one between them has ended by itself long before. What comes
// next, without asking for an early begin, comes after all of them.
TEST_P(DependentLaunches, Chains) {
  auto flag = buffer(Words(1)), data = buffer(Words(64)), out = buffer(Words(64)), after = buffer(Words(64));
  raddle::Stream s = stream();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(flag.write(Words(1)).ok() && data.write(Words(64)).ok());
    launch("primary", of(s, 1), flag, data, 1u);
    launch("pass_on", of(s, 2, 32, true));
    launch("dependent", of(s, 1, 64, true), flag, data, out);
    launch("copy", of(s, 1), data, after);
    synchronize(s);
    EXPECT_EQ(contents(out), written(64));
    EXPECT_EQ(contents(after), written(64));
  }
}

// A dependent that ends without waiting does not count as the end of what came before it.
TEST_P(DependentLaunches, EndsComeInOrder) {
  auto flag = buffer(Words(1)), data = buffer(Words(64)), out = buffer(Words(64)), read = buffer(Words(64));
  raddle::Stream s = stream(), other = stream();
  launch("primary", of(s, 1), flag, data, 1u);
  launch("tell", of(s, 1, 1, true), flag);
  other.wait(s.record());
  launch("copy", of(s, 1), data, out);
  launch("copy", of(other, 1), data, read);
  synchronize(s);
  synchronize(other);
  EXPECT_EQ(contents(out), written(64));
  EXPECT_EQ(contents(read), written(64));
}

// Without the attribute nothing begins early, whatever the primary calls for; with it, what is no launch does
// not either, nor does a launch behind that.
TEST_P(DependentLaunches, OnlyWhereItIsAskedFor) {
  auto flag = buffer(Words(1)), data = buffer(Words(64)), out = buffer(Words(64)), read = buffer(Words(64));
  raddle::Stream s = stream(), other = stream();
  launch("primary", of(s, 1), flag, data, 1u);
  launch("copy", of(s, 1), data, out);
  launch("tell", of(other, 1, 1), flag);
  synchronize(s);
  EXPECT_EQ(contents(out), written(64));
  ASSERT_TRUE(flag.write(Words(1)).ok() && data.write(Words(64)).ok());
  launch("primary", of(s, 1), flag, data, 1u);
  ASSERT_TRUE(s.copy(out.address(), data.address(), 64 * sizeof(unsigned)).ok());
  launch("copy", of(s, 1, 64, true), out, read);
  launch("tell", of(other, 1, 1), flag);
  synchronize(s);
  EXPECT_EQ(contents(read), written(64));
}

// A primary that never calls for its dependents ends first.
TEST_P(DependentLaunches, WithoutACallTheyBeginAtTheEnd) {
  auto flag = buffer(Words(1)), data = buffer(Words(64)), out = buffer(Words(64));
  raddle::Stream s = stream(), other = stream();
  launch("unaware", of(s, 1), flag, data);
  launch("copy", of(s, 1, 64, true), data, out);
  launch("tell", of(other, 1, 1), flag);
  synchronize(s);
  EXPECT_EQ(contents(out), written(64));
}

// The launch may ask for the call at the begin of each block.
TEST_P(DependentLaunches, TriggersAtTheStartOfBlocks) {
  auto flag = buffer(Words(1)), data = buffer(Words(128)), out = buffer(Words(128));
  raddle::Stream s = stream();
  LaunchConfig config = of(s, 2);
  config.triggers_at_start = true;
  launch("unaware", config, flag, data);
  launch("dependent", of(s, 2, 64, true), flag, data, out);
  synchronize(s);
  EXPECT_EQ(contents(out), written(128));
}

// An event at the trigger: grids of another stream that waits for it begin early, and wait for the end; other
// work comes after the end.
TEST_P(DependentLaunches, EventsAtTheTrigger) {
  auto flag = buffer(Words(1)), data = buffer(Words(64)), out = buffer(Words(64)), read = buffer(Words(64));
  raddle::Stream s = stream(), other = stream(), third = stream();
  const raddle::Event unrelated = stream().record();
  launch("primary", of(s, 1), flag, data, 1u);
  const raddle::Event begun = s.record_trigger();
  third.wait(begun);
  ASSERT_TRUE(third.copy(read.address(), data.address(), 64 * sizeof(unsigned)).ok());
  other.wait(begun);
  other.wait(unrelated);  // goes on behind the trigger
  launch("dependent", of(other, 1), flag, data, out);
  begun.wait();
  synchronize(other);
  synchronize(third);
  EXPECT_EQ(contents(out), written(64));
  EXPECT_EQ(contents(read), written(64));
  EXPECT_TRUE(begun.done());
}

// Pairs in several streams at a time, each of which fills the machine.
TEST_P(DependentLaunches, InSeveralStreams) {
  constexpr unsigned kStreams = 3, kBlocks = 20;
  std::vector<raddle::Stream> streams;
  std::vector<Buffer<unsigned>> flags, data, out;
  for (unsigned i = 0; i < kStreams; ++i) {
    streams.push_back(stream());
    flags.push_back(buffer(Words(1)));
    data.push_back(buffer(Words(kBlocks * 64)));
    out.push_back(buffer(Words(kBlocks * 64)));
  }
  for (unsigned i = 0; i < kStreams; ++i) launch("primary", of(streams[i], kBlocks), flags[i], data[i], 1u);
  for (unsigned i = 0; i < kStreams; ++i)
    launch("dependent", of(streams[i], kBlocks, 64, true), flags[i], data[i], out[i]);
  for (unsigned i = 0; i < kStreams; ++i) {
    synchronize(streams[i]);
    EXPECT_EQ(contents(out[i]), written(kBlocks * 64));
  }
}

// A primary that fails takes its dependents with it, also one that waits for it in a loop.
TEST_P(DependentLaunches, AFaultEndsThemToo) {
  options_.time_limit = {};
  {
    auto flag = buffer(Words(1)), never = buffer(Words(1));
    raddle::Stream s = stream();
    launch("fail", of(s, 1), flag);
    launch("wait_forever", of(s, 1, 32, true), flag, never);
    const auto done = s.synchronize();
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().message.find("trap"), std::string::npos) << done.error().message;
  }
  close();
}

}  // namespace
