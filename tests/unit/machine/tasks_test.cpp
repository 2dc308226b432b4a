// Tasks as data: batches, tasks that run again, memory that is looked up when a task runs, waits for words.
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine_fixture.h"

namespace raddle::machine {
namespace {

class Tasks : public MachineTest {
 protected:
  void SetUp() override { open(); }

  Task* task_of(Work work) {
    Task* const task = space_->tasks().acquire();
    task->work = std::move(work);
    return task;
  }
  MemoryRows allocate(std::uint64_t bytes) {
    auto address = space_->memory().allocate(bytes);
    EXPECT_TRUE(address.ok());
    return {space_.get(), address->value};
  }
  void finish(std::initializer_list<Task*> tasks) {
    for (Task* task : tasks) task->wait();
    for (Task* task : tasks) space_->tasks().release(task);
  }
};

TEST_F(Tasks, ABatchIsInOrderAndRunsAsOne) {
  const MemoryRows first = allocate(64), second = allocate(64);
  int answer = 0;
  Task* const fill = task_of(FillWork{first, 0x01020304, 4, 16});
  Task* const copy = task_of(CopyWork{second, first, 64});
  Task* const read = task_of(CopyWork{of_host(&answer), second, sizeof answer});
  Task* const last = task_of(MarkerWork{});
  Task* const after_fill[] = {fill, nullptr};
  Task* const after_copy[] = {copy};
  Task* const after_all[] = {fill, copy, read};
  const TaskScheduler::Submission batch[] = {
      {fill, {}}, {copy, after_fill}, {read, after_copy}, {last, after_all}};
  space_->tasks().submit(batch);
  finish({last, fill, copy, read});
  EXPECT_EQ(answer, 0x01020304);
}

TEST_F(Tasks, RunAgainWithTheSameWork) {
  std::atomic<int> blocks{0};
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext&) { ++blocks; });
  int source = 0, target = 0;
  const MemoryRows between = allocate(sizeof source);
  Task* const grid = submit(kernel, {.x = 7});
  Task* const write = task_of(CopyWork{between, of_host(&source), sizeof source});
  Task* const read = task_of(CopyWork{of_host(&target), between, sizeof target});
  grid->wait();
  for (int turn = 2; turn <= 20; ++turn) {
    source = turn;
    space_->tasks().renew(*grid);
    if (turn != 2) {
      space_->tasks().renew(*write);
      space_->tasks().renew(*read);
    }
    EXPECT_FALSE(grid->done());
    Task* const after_grid[] = {grid};
    Task* const after_write[] = {write};
    const TaskScheduler::Submission batch[] = {{grid, {}}, {write, after_grid}, {read, after_write}};
    space_->tasks().submit(batch);
    read->wait();
    EXPECT_TRUE(grid->done());
    EXPECT_EQ(blocks, 7 * turn);
    EXPECT_EQ(target, turn);
  }
  finish({grid, write, read});
  space_->tasks().wait_all();  // who ends a task says so a moment before it is off the list
  EXPECT_TRUE(space_->tasks().idle());
}

// Those who sleep are woken by the last task's end, however many there are and whatever was added while they
// slept.
TEST_F(Tasks, WakeAllWhoWaitForAll) {
  auto kernel = TestKernel::of_blocks(
      [](exec::CtaContext&) { std::this_thread::sleep_for(std::chrono::microseconds(300)); });
  for (int turn = 0; turn < 30; ++turn) {
    Task* const first = submit(kernel, {.x = 1});
    std::atomic<int> woken{0};
    std::vector<std::thread> sleepers;
    for (int n = 0; n < 3; ++n)
      sleepers.emplace_back([&] {
        space_->tasks().wait_all();
        woken += first->done();
      });
    std::this_thread::sleep_for(std::chrono::microseconds(turn * 10));
    Task* const second = submit(kernel, {.x = 1});
    for (std::thread& sleeper : sleepers) sleeper.join();
    EXPECT_EQ(woken, 3);
    finish({first, second});
  }
}

// Threads put tasks behind their own last one and that of another thread, while others end these, and one
// looks at what is pending.
TEST_F(Tasks, ComeBehindThoseOfOtherThreads) {
  constexpr int kThreads = 3, kEach = 3000;
  TaskScheduler& tasks = space_->tasks();
  std::mutex mutex;
  Task* last[kThreads] = {};
  std::atomic<int> calls{0}, left{kThreads};
  const auto exchange = [&](int i, Task* task) {
    const std::lock_guard lock(mutex);
    return std::exchange(last[i], task);
  };
  const auto retain_last = [&](int i) {
    const std::lock_guard lock(mutex);
    if (last[i] != nullptr) tasks.retain(*last[i]);
    return last[i];
  };
  const auto submit_all = [&](int i) {
    for (int n = 0; n < kEach; ++n) {
      Task* const own = retain_last(i);
      Task* const other = retain_last((i + 1) % kThreads);
      Task* const task = n % 3 == 0 ? task_of(CallWork{[&calls] { ++calls; }}) : task_of(MarkerWork{});
      Task* const after[] = {own, n % 2 == 0 ? other : nullptr};
      tasks.submit(*task, after);
      tasks.release(exchange(i, task));
      if (n % 100 == 0) task->wait();
      tasks.release(own);
      tasks.release(other);
    }
    --left;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(submit_all, i);
  while (left != 0) {
    for (Task* const task : tasks.pending()) tasks.release(task);
    (void)tasks.only_callbacks_left();
  }
  for (std::thread& thread : threads) thread.join();
  tasks.wait_all();
  EXPECT_EQ(calls, kThreads * kEach / 3);
  EXPECT_TRUE(tasks.idle());
  EXPECT_TRUE(tasks.pending().empty());
  for (int i = 0; i < kThreads; ++i) tasks.release(exchange(i, nullptr));
}

// The counter of the grid's barrier starts at zero each time.
TEST_F(Tasks, CooperativeGridsRunAgain) {
  std::atomic<int> wrong{0};
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) {
    auto* const workspace = reinterpret_cast<std::uint32_t*>(cta.launch->grid_workspace);
    wrong += workspace[0] != 8 || workspace[1] != 0;
    workspace[1] = 5;
  });
  Task* const task = task_of(GridWork{});
  GridWork& grid = task->grid();
  static const std::string name = "kernel";
  grid.executable = &kernel;
  grid.name = &name;
  grid.threads_per_block = 32;
  grid.blocks = 1;
  grid.cooperative = true;
  for (unsigned axis = 0; axis < 3; ++axis) grid.context.ntid[axis] = grid.context.nctaid[axis] = 1;
  grid.context.ntid[0] = 32;
  ASSERT_TRUE(task->set_parameters({}) && task->set_grid_workspace());
  for (int turn = 0; turn < 3; ++turn) {
    if (turn != 0) space_->tasks().renew(*task);
    space_->tasks().submit(*task, {});
    task->wait();
  }
  space_->tasks().release(task);
  EXPECT_EQ(wrong, 0);
}

// A copy names device addresses: constants, which kernels see at others than the host writes, are found by
// the task that runs.
TEST_F(Tasks, FindMemoryWhenTheyRun) {
  auto constants = space_->memory().allocate_constants(64, "constants");
  ASSERT_TRUE(constants.ok()) << constants.error().to_string();
  const MemoryRows there{space_.get(), constants->value};
  const std::uint64_t source = 0x1234'5678'9abc'def0;
  Task* const fill = task_of(FillWork{there, 7, 1, 16});
  Task* const write = task_of(CopyWork{{there.space, there.address + 8}, of_host(&source), sizeof source});
  Task* const after[] = {fill};
  const TaskScheduler::Submission batch[] = {{fill, {}}, {write, after}};
  space_->tasks().submit(batch);
  finish({write, fill});
  std::uint64_t found[2];
  std::memcpy(found, reinterpret_cast<const void*>(there.address), sizeof found);
  EXPECT_EQ(found[0], 0x0707'0707'0707'0707u);
  EXPECT_EQ(found[1], source);
}

TEST_F(Tasks, RefuseWhatCannotBeMoved) {
  const MemoryRows memory = allocate(256);
  MemoryRows odd = memory;
  odd.address += 2;
  const std::uint64_t huge = ~0ull / 2;
  EXPECT_TRUE(check(CopyWork{memory, memory, 256}).ok());
  EXPECT_FALSE(check(CopyWork{memory, memory, 257}).ok());
  EXPECT_FALSE(check(CopyWork{memory, {memory.space, memory.address + 1}, 256}).ok());
  EXPECT_TRUE(check(CopyWork{memory, memory, 0, 9, huge}).ok()) << "nothing is moved";
  EXPECT_FALSE(check(CopyWork{{memory.space, memory.address, huge}, memory, 1, 4}).ok());
  EXPECT_FALSE(check(CopyWork{{memory.space, memory.address, 1ull << 62}, memory, 1, 5}).ok())
      << "4 * 2^62 is no 0";
  EXPECT_TRUE(check(FillWork{memory, 1, 4, 64}).ok());
  EXPECT_FALSE(check(FillWork{memory, 1, 4, 65}).ok());
  EXPECT_FALSE(check(FillWork{odd, 1, 4, 1}).ok());
  MemoryRows of_threes = memory;
  of_threes.address += 3 - memory.address % 3;
  EXPECT_FALSE(check(FillWork{of_threes, 1, 3, 1}).ok());
  EXPECT_FALSE(check(FillWork{{memory.space, memory.address, 6}, 1, 2, 4, 2}).ok()) << "rows overlap";
}

TEST_F(Tasks, CompareWords) {
  using Comparison = WordCondition::Comparison;
  const auto met = [](Comparison comparison, std::uint64_t now, std::uint64_t value, unsigned bytes) {
    return is_met({.word = &now, .bytes = bytes, .comparison = comparison, .value = value});
  };
  for (const unsigned bytes : {4u, 8u}) {
    EXPECT_TRUE(met(Comparison::reached, 5, 5, bytes));
    EXPECT_TRUE(met(Comparison::reached, 6, 5, bytes));
    EXPECT_FALSE(met(Comparison::reached, 4, 5, bytes));
    EXPECT_TRUE(met(Comparison::reached, 2, ~0ull, bytes)) << "past the end of the numbers";
    EXPECT_TRUE(met(Comparison::equal, 5, 5, bytes));
    EXPECT_FALSE(met(Comparison::equal, 6, 5, bytes));
    EXPECT_TRUE(met(Comparison::any_common_bit, 6, 2, bytes));
    EXPECT_FALSE(met(Comparison::any_common_bit, 6, 1, bytes));
    EXPECT_TRUE(met(Comparison::any_bit_in_neither, 1, 2, bytes));
    EXPECT_FALSE(met(Comparison::any_bit_in_neither, ~0ull ^ 4, 4, bytes));
  }
  EXPECT_TRUE(met(Comparison::equal, 0x1'0000'0005, 5, 4));
  EXPECT_FALSE(met(Comparison::equal, 0x1'0000'0005, 5, 8));
}

}  // namespace
}  // namespace raddle::machine
