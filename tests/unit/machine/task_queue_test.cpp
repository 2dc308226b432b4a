// The circular queue of a queue task against a model, and the machine that follows it.
#include "machine/tasks/task_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <thread>

#include "machine/shape/even_shape.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using Words = std::vector<std::uint64_t>;

/// A queue in memory of its own.
struct Made {
  TaskRecord record;
  Words slots;
  std::shared_ptr<TaskQueue> queue;

  Made(std::uint32_t capacity, std::uint32_t words, QueueEnding ending = QueueEnding::closed,
       std::uint32_t ready = 0) {
    record.make_queue(capacity, words * 8, ending);
    slots.resize(record.queue_bytes() / 8);
    queue = std::make_shared<TaskQueue>(TaskQueue::Spec{.record = reinterpret_cast<std::uint64_t>(&record),
                                                        .progress = &record,
                                                        .slots = reinterpret_cast<std::byte*>(slots.data()),
                                                        .capacity = capacity,
                                                        .entry_bytes = words * 8,
                                                        .ready = ready,
                                                        .ending = ending});
  }
  Append append(const Words& entry, std::uint64_t child = 0) const {
    return queue->append(reinterpret_cast<const std::byte*>(entry.data()), child);
  }
  std::uint64_t take(std::uint64_t position, Words& entry) const {
    return queue->take(position, reinterpret_cast<std::byte*>(entry.data()));
  }
};

// Producers append in any order, and blocks start in any order of those that are there: each gets what was
// appended at its position, and a slot is free when all before it are. The memory is overwritten now and
// then, but for entries that wait.
RC_GTEST_PROP(TaskQueueModel, GivesEachPositionItsEntryOnce, ()) {
  const auto capacity = *rc::gen::inRange(1u, 9u), words = *rc::gen::inRange(0u, 5u);
  const Made made(capacity, words);
  struct Waiting {
    std::uint64_t position, child;
    Words entry;
  };
  std::vector<Waiting> waiting;
  std::uint64_t appended = 0, taken = 0;
  bool closed = false;
  for (int step = *rc::gen::inRange(0, 200); step != 0; --step) {
    const int what = *rc::gen::inRange(0, 20);
    std::uint64_t oldest = appended;
    for (const Waiting& each : waiting) oldest = std::min(oldest, each.position);
    if (what < 10) {
      Words entry(words);
      for (auto& word : entry) word = *rc::gen::arbitrary<std::uint64_t>();
      const std::uint64_t child = what < 2 ? 16 * appended + 16 : 0;
      const Append want = closed                          ? Append::closed
                          : appended - oldest == capacity ? Append::full
                                                          : Append::done;
      RC_ASSERT(made.append(entry, child) == want);
      if (want == Append::done) waiting.push_back({appended++, child, entry});
    } else if (what < 19 && !waiting.empty()) {
      const auto which = static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, waiting.size()));
      Words entry(words);
      RC_ASSERT(made.take(waiting[which].position, entry) == waiting[which].child);
      RC_ASSERT(waiting[which].child != 0 || entry == waiting[which].entry);
      waiting.erase(waiting.begin() + which);
      ++taken;
    } else if (step < 3) {
      made.queue->close();
      closed = true;
    }
    const TaskQueue::State state = made.queue->look(~0ull);
    RC_ASSERT(state.appended == appended && state.is_closed == closed);
    RC_ASSERT(made.record.appended == appended && made.record.taken == taken);
  }
}

TEST(TaskQueue, IsDrainedWhenEntriesAndChildrenAreWorkedOff) {
  const Made made(4, 1, QueueEnding::drained);
  EXPECT_EQ(made.append({1}), Append::done);
  EXPECT_FALSE(made.queue->look(0).is_closed) << "one entry waits";
  Words entry(1);
  made.take(0, entry);
  EXPECT_FALSE(made.queue->look(~0ull).is_closed) << "a block runs";
  made.queue->child_began();
  EXPECT_FALSE(made.queue->look(1).is_closed) << "a child runs";
  made.queue->child_ended();
  EXPECT_TRUE(made.queue->look(1).is_closed);
  EXPECT_EQ(made.append({1}), Append::closed);
}

class QueueTasks : public MachineTest {
 protected:
  /// Submits a queue task, whose blocks are started for entries; the caller releases it.
  Task* start(exec::Executable& code, const Made& made, int priority = 0, Task* after = nullptr) {
    static const std::string name = "kernel";
    Task* const task = space_->tasks().acquire();
    GridWork& work = task->work.emplace<GridWork>();
    task->priority = priority;
    task->set_parameters({});
    work.executable = &code;
    work.name = &name;
    work.threads_per_block = 32;
    work.blocks = ~std::uint64_t{0};
    work.context.ntid[0] = 32;
    work.context.nctaid[0] = 0x7fffffff;
    work.context.ntid[1] = work.context.ntid[2] = work.context.nctaid[1] = work.context.nctaid[2] = 1;
    work.record = made.queue->record();
    work.queue = made.queue;
    EXPECT_TRUE(space_->announce_queue(*task).ok());
    Task* const list[] = {after};
    space_->tasks().submit(*task, list);
    return task;
  }
  Append append(Task& task, std::uint64_t value) {
    return space_->append(task, reinterpret_cast<const std::byte*>(&value), 0);
  }
  static std::uint64_t entry_of(const exec::CtaContext& cta) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const Block*>(cta.machine)->entry.data(), sizeof value);
    return value;
  }
  void finish(Task* task) {
    task->wait();
    space_->tasks().release(task);
  }
};

// proves: A-2g
TEST_F(QueueTasks, ThreadsAppendWithoutLosingAny) {
  open();
  constexpr std::uint64_t kThreads = 4, kEach = 5000;
  const Made made(7, 1);
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) { ++seen[entry_of(cta)]; });
  Task* const task = start(kernel, made);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach;)
        if (append(*task, t * kEach + i) == Append::done)
          ++i;
        else
          std::this_thread::yield();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(task->done());
  space_->close_queue(*task);
  finish(task);
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& count) { return count == 1; }));
  EXPECT_EQ(made.record.taken, kThreads * kEach);
}

// Appends before a task is ready count; a task that is closed before it was ready runs what it has.
TEST_F(QueueTasks, TakeEntriesBeforeTheyRun) {
  open();
  const Made made(4, 1);
  std::atomic<std::uint64_t> sum{0};
  std::atomic<bool> go{false};
  auto waits = TestKernel::of_blocks([&](exec::CtaContext&) {
    while (!go) std::this_thread::yield();
  });
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) { sum += entry_of(cta); });
  Task* const first = submit(waits, {});
  Task* const task = start(kernel, made, 0, first);
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(append(*task, i), Append::done);
  EXPECT_EQ(append(*task, 5), Append::full);
  space_->close_queue(*task);
  EXPECT_EQ(append(*task, 5), Append::closed);
  go = true;
  finish(task);
  finish(first);
  EXPECT_EQ(sum, 10u);
}

// One slot, and a queue task that waits for what a grid behind it appends: it does not keep the slot.
TEST_F(QueueTasks, LeaveTheirSlotWhileTheyHaveNothing) {
  open({.distributor = {.task_slots = 1}});
  const Made made(4, 1);
  std::atomic<std::uint64_t> sum{0};
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) { sum += entry_of(cta); });
  Task* const task = start(kernel, made);
  auto appends = TestKernel::of_blocks([&](exec::CtaContext&) { append(*task, 3); });
  for (int turn = 0; turn < 50; ++turn) EXPECT_EQ(run(appends, {}).kind, exec::FaultKind::none);
  space_->close_queue(*task);
  finish(task);
  EXPECT_EQ(sum, 150u);
}

// Priority holds for entries: an urgent grid passes those that wait. One worker, one block at a time.
TEST_F(QueueTasks, AreEvictedByMoreUrgentGridsAndGoOn) {
  MachineOptions options{.shape = machine_of(1, 1, 1, 1), .workers = 1};
  options.shape.name = "one SM";
  options.distributor.task_slots = options.distributor.cap_per_sm = 1;
  open(std::move(options));
  const Made made(64, 1);
  std::atomic<std::uint64_t> ran{0}, at_grid{0};
  std::atomic<bool> go{false};
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext&) {
    while (!go) std::this_thread::yield();
    ++ran;
  });
  auto urgent = TestKernel::of_blocks([&](exec::CtaContext&) { at_grid = ran.load(); });
  Task* const task = start(kernel, made, 1);
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(append(*task, i), Append::done);
  Task* const grid = submit(urgent, {.priority = 0});
  go = true;
  finish(grid);
  EXPECT_LE(at_grid, 1u) << "only what was resident before it";
  space_->close_queue(*task);
  finish(task);
  EXPECT_EQ(ran, 40u);
}

TEST_F(QueueTasks, AreStoppedWithWhatWaits) {
  open();
  const Made made(64, 1);
  std::atomic<bool> go{false};
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext&) {
    while (!go) std::this_thread::yield();
  });
  Task* const task = start(kernel, made);
  for (std::uint64_t i = 0; i < 64; ++i) append(*task, i);
  exec::Fault fault;
  fault.kind = exec::FaultKind::cancelled;
  space_->stop_task(*task, fault);
  EXPECT_EQ(append(*task, 1), Append::closed);
  go = true;
  finish(task);
  const Made empty(4, 1);
  Task* const again = start(kernel, empty);
  space_->stop_task(*again, fault);
  finish(again);
  EXPECT_EQ(run(kernel, {.x = 10}).kind, exec::FaultKind::none) << "the machine goes on";
}

TEST_F(QueueTasks, AreKnownByTheirRecordsWhileTheyLast) {
  open();
  const Made made(4, 1);
  auto kernel = TestKernel::of_blocks([](exec::CtaContext&) {});
  Task* const task = start(kernel, made);
  Task* const found = space_->find_queue(made.queue->record());
  EXPECT_EQ(found, task);
  EXPECT_FALSE(space_->announce_queue(*task).ok()) << "one task at a time";
  space_->tasks().release(found);
  space_->close_queue(*task);
  finish(task);
  EXPECT_EQ(space_->find_queue(made.queue->record()), nullptr);
}

}  // namespace
}  // namespace raddle::machine
