// Device contexts: who is selected when, what is bound then, and that results are the same.
#include <vector>

#include "contexts_fixture.h"

namespace raddle::machine {
namespace {

using exec::FaultKind;
using Contexts = ContextsTest;

TEST_F(Contexts, AMachineHasOneUnlessItIsAsked) {
  open();
  EXPECT_TRUE(space_->context().is_done());
  EXPECT_EQ(AddressSpace::open(machine_, {.context = "other"}).error().message,
            "no device context 'other': the machine has one (DeviceOptions::contexts)");
  auto other = in("");
  EXPECT_EQ(&other->context(), &space_->context());
}

TEST_F(Contexts, AreMadeAndGoByName) {
  open_by_hand();
  std::vector<std::unique_ptr<AddressSpace>> spaces;
  for (unsigned i = 1; i < ContextSwitcher::kMostContexts; ++i) spaces.push_back(in(std::to_string(i)));
  EXPECT_EQ(AddressSpace::open(machine_, {.context = "more"}).error().message,
            "no device context 'more': there are 16, as many as there can be");
  EXPECT_EQ(&in("3")->context(), &spaces[2]->context());
  const unsigned number = spaces[4]->context().number();
  spaces.erase(spaces.begin() + 4);
  EXPECT_EQ(in("more")->context().number(), number);
}

// proves: A-23a, A-23b, A-5i
TEST_F(Contexts, OneAtATimeIsSelected) {
  open_by_hand();
  auto first = in("first"), second = in("second"), third = in("third");
  Gate gate;
  std::vector<int> order;
  const auto note = [&](int which) {
    return TestKernel::of_blocks([&order, which](exec::CtaContext&) { order.push_back(which); });
  };
  TestKernel two = note(2), three = note(3), one = note(1);
  Task* const runs = submit(*first, gate.kernel, {.x = 4});
  ASSERT_TRUE(gate.has_begun());
  Task* const third_task = submit(*third, three, {.x = 2});
  Task* const second_task = submit(*second, two, {});
  Task* const behind = submit(*first, one, {}, runs);
  Task* const beside = submit(*first, one, {});
  give_others_a_chance();
  EXPECT_TRUE(first->context().is_done());
  EXPECT_FALSE(second->context().is_done() || third->context().is_done());
  EXPECT_FALSE(has_grids(*second) || has_grids(*third)) << "the distributor does not know their tasks";
  gate.open = true;
  finish(*first, runs), finish(*first, behind), finish(*first, beside);
  finish(*second, second_task), finish(*third, third_task);
  EXPECT_EQ(order.size(), 5u);
  const auto at = [&](int which) { return std::ranges::find(order, which); };
  EXPECT_LT(at(3), at(2)) << "first come, first selected";
  EXPECT_FALSE(first->context().is_done());
  EXPECT_TRUE(second->context().is_done()) << "nobody wants its place";
  EXPECT_EQ(second->context().selections(), 1u);
  finish(*second, submit(*second, two, {}));
  EXPECT_EQ(second->context().selections(), 1u);
}

// proves: A-5h, A-23c
TEST_F(Contexts, SelectingBindsTablesToTheSameIdentifiers) {
  open_by_hand();
  constexpr auto kModelled = Translation::modelled;
  auto first = in("first", kModelled), fellow = in("first", kModelled), second = in("second", kModelled);
  const auto asids = [&] {
    return std::vector{first->pages()->asid(), fellow->pages()->asid(), second->pages()->asid()};
  };
  const AsidTable& table = (*machine_->mmu())->asids();
  EXPECT_EQ(asids(), (std::vector<Asid>{0, 0, 0}));
  EXPECT_FALSE(table.find(1));
  std::vector<Asid> seen;
  std::uint64_t generation = 0;
  auto look = TestKernel::of_blocks([&](exec::CtaContext&) {
    seen = asids();
    generation = table.find(1)->generation;
  });
  EXPECT_EQ(run(*first, look, {}).kind, FaultKind::none);
  EXPECT_EQ(seen, (std::vector<Asid>{1, 2, 0}));
  const std::uint64_t before = generation;
  EXPECT_EQ(run(*second, look, {}).kind, FaultKind::none);
  EXPECT_EQ(seen, (std::vector<Asid>{0, 0, 1}));
  EXPECT_GT(generation, before) << "what TLBs have is stale";
  EXPECT_FALSE(table.find(2));
  // A newcomer to the context that is selected, and one to the other.
  auto late = in("second", kModelled), later = in("first", kModelled);
  EXPECT_EQ(late->pages()->asid(), 2u);
  EXPECT_TRUE(table.find(2));
  EXPECT_EQ(later->pages()->asid(), kNoAsid);
  late.reset();
  EXPECT_FALSE(table.find(2));
  EXPECT_EQ(run(*fellow, look, {}).kind, FaultKind::none);
  EXPECT_EQ(later->pages()->asid(), 3u);
}

// proves: A-5h, A-5i
TEST_F(Contexts, ATaskOfASpaceThatJoinsARunningContextRunsBeside) {
  open_by_hand();
  auto first = in("first", Translation::modelled), other = in("other");
  Gate gate;
  Task* const runs = submit(*first, gate.kernel, {});
  ASSERT_TRUE(gate.has_begun());
  auto late = in("first", Translation::modelled);
  std::atomic<Asid> seen{0};
  auto look = TestKernel::of_blocks([&](exec::CtaContext&) { seen = late->pages()->asid(); });
  EXPECT_EQ(run(*late, look, {}).kind, FaultKind::none);
  EXPECT_EQ(seen, 2u);
  gate.open = true;
  finish(*first, runs);
}

// proves: A-23d, A-5j
TEST_F(Contexts, RunAtOnceIfTheyAreToldTo) {
  for (const unsigned workers : {1u, 2u}) {
    open({.workers = workers, .contexts = ContextMode::concurrent});
    std::vector<std::unique_ptr<AddressSpace>> spaces;
    for (const char* name : {"first", "first", "second", "third"})
      spaces.push_back(in(name, Translation::modelled));
    std::vector<Asid> asids, numbers;
    for (const auto& space : spaces) {
      asids.push_back(space->pages()->asid());
      numbers.push_back(space->pages()->number());
      EXPECT_TRUE(space->context().is_done());
    }
    EXPECT_EQ(numbers, (std::vector<Asid>{1, 2, 1, 1}));
    EXPECT_EQ(asids, (std::vector<Asid>{257, 258, 513, 769})) << "context times 256, and the number in it";
    std::atomic<int> began{0};
    auto meet = TestKernel::of_warps([&](exec::WarpContext& warp) {
      ++began;
      while (began < 4) warp.cta->services->yield(&warp);
    });
    std::vector<Task*> tasks;
    for (const auto& space : spaces) tasks.push_back(submit(*space, meet, {}));
    for (std::size_t i = 0; i < 4; ++i) finish(*spaces[i], tasks[i]);
  }
}

// The block waits for what the program does after a kernel of another context: nobody may wait for ever.
TEST_F(Contexts, AKernelThatWaitsForTheProgramIsSwitchedFrom) {
  struct Case {
    unsigned workers;
    std::optional<std::uint64_t> seed;
  };
  for (const Case& how : {Case{1, {}}, Case{2, {}}, Case{1, 0}, Case{1, 7}}) {
    open({.workers = how.workers,
          .deterministic = how.seed,
          .contexts = ContextMode::queued,
          .context_quantum = 1});
    auto first = in("first", Translation::modelled), second = in("second", Translation::modelled);
    Gate gate;
    std::atomic<int> ran{0};
    std::atomic<Asid> asid{0};
    auto count = TestKernel::of_blocks([&](exec::CtaContext&) {
      ++ran;
      asid = second->pages()->asid();
    });
    Task* const waits = submit(*first, gate.loop, {.x = 3});
    ASSERT_TRUE(gate.has_begun());
    EXPECT_EQ(run(*second, count, {.x = 100}).kind, FaultKind::none);
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(first->pages()->asid(), 1u) << "what is left of it needs its table";
    EXPECT_EQ(asid, 257u) << "so it is another set's";
    EXPECT_EQ(run(*first, count, {.x = 10}).kind, FaultKind::none) << "it is selected again meanwhile";
    EXPECT_EQ(first->pages()->asid(), 1u);
    gate.open = true;
    finish(*first, waits);
    EXPECT_EQ(run(*second, count, {.x = 1}).kind, FaultKind::none);
    EXPECT_EQ(gate.ended, 3);
  }
}

// Kernels of three contexts wait for one another, in turn.
TEST_F(Contexts, KernelsOfSeveralContextsMayWaitForOneAnother) {
  for (const unsigned workers : {1u, 2u}) {
    open({.workers = workers, .contexts = ContextMode::queued, .context_quantum = 1});
    std::vector<std::unique_ptr<AddressSpace>> spaces;
    for (const char* name : {"a", "b", "c"}) spaces.push_back(in(name));
    std::atomic<int> began{0};
    auto meet = TestKernel::of_warps([&](exec::WarpContext& warp) {
      ++began;
      while (began < 3) poll_in_loop(warp);
    });
    std::vector<Task*> tasks;
    for (const auto& space : spaces) tasks.push_back(submit(*space, meet, {}));
    for (std::size_t i = 0; i < 3; ++i) finish(*spaces[i], tasks[i]);
  }
}

// proves: A-23e
TEST_F(Contexts, ResultsAreTheSameHoweverTheyShare) {
  struct Case {
    std::optional<ContextMode> mode;
    std::optional<std::uint64_t> seed;
    unsigned quantum;
  };
  constexpr auto kQueued = ContextMode::queued, kConcurrent = ContextMode::concurrent;
  constexpr std::uint32_t kBlocks = 6000;
  for (const Case& how : {Case{{}, {}, 1}, Case{kQueued, {}, 1}, Case{kQueued, {}, 8}, Case{kQueued, 3, 1},
                          Case{kConcurrent, {}, 1}}) {
    open({.deterministic = how.seed, .contexts = how.mode, .context_quantum = how.quantum});
    std::vector<std::unique_ptr<AddressSpace>> spaces;
    for (const char* name : {"a", "b", "c"})
      spaces.push_back(in(how.mode ? name : "", Translation::modelled));
    std::vector<std::vector<std::atomic<std::uint32_t>>> counts(3);
    std::vector<TestKernel> kernels;
    for (auto& of_one : counts) {
      of_one = std::vector<std::atomic<std::uint32_t>>(kBlocks);
      kernels.push_back(TestKernel::of_blocks([&of_one](exec::CtaContext& cta) {
        for (volatile int work = 0; work < 1000;) work = work + 1;
        ++of_one[cta.ctaid[0]];
      }));
    }
    std::vector<std::pair<AddressSpace*, Task*>> tasks;
    for (int round = 0; round < 3; ++round)
      for (std::size_t i = 0; i < 3; ++i)
        tasks.emplace_back(
            spaces[i].get(),
            submit(*spaces[i], kernels[i], {.x = kBlocks, .threads = 256, .cluster = round == 1 ? 4u : 1u}));
    for (const auto& [space, task] : tasks) finish(*space, task);
    for (const auto& of_one : counts)
      EXPECT_TRUE(std::ranges::all_of(of_one, [](const auto& count) { return count == 3; }));
  }
}

// A grid of many waves, whose time is over: it keeps its progress and goes on where it was.
TEST_F(Contexts, WhoseTimeIsOverGoesOnLater) {
  open_by_hand(4);
  auto first = in("first"), second = in("second");
  Gate gate;
  constexpr std::uint32_t kBlocks = 5000;
  Task* const large = submit(*first, gate.kernel, {.x = kBlocks, .threads = 1024});
  ASSERT_TRUE(gate.has_begun());
  std::atomic<int> ended_before{-1};
  auto look = TestKernel::of_blocks([&](exec::CtaContext&) { ended_before = gate.ended.load(); });
  Task* const short_one = submit(*second, look, {});
  tick(3);
  EXPECT_TRUE(first->context().is_done());
  tick();
  EXPECT_FALSE(first->context().is_done()) << "it launches nothing more";
  EXPECT_FALSE(second->context().is_done()) << "and something of it runs";
  gate.open = true;
  finish(*second, short_one);
  EXPECT_GT(ended_before, 0) << "what ran of it has ended";
  EXPECT_LE(ended_before, 132 * 2) << "no more of it has begun";
  finish(*first, large);
  EXPECT_EQ(gate.ended, static_cast<int>(kBlocks));
  EXPECT_EQ(first->context().selections(), 2u);
}

}  // namespace
}  // namespace raddle::machine
