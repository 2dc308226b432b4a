// Tasks as data: grids and queues that records in memory describe, launched by their address, with what hosts
// and kernels append meanwhile. Long, as all of them need the same records.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "kernel_test.h"
#include "machine/memory/device_space.h"
#include "machine/memory/shared_memory.h"

namespace {

using raddle::Append;
using raddle::DevicePtr;
using raddle::QueueEnding;
using raddle::TaskRecord;
using Words = std::vector<std::uint32_t>;
using Longs = std::vector<std::uint64_t>;
constexpr const char* kTaskKernels = "tasks.ptx";

struct Entry {
  std::uint64_t value = 0, more = 0;
};

/// Host memory that the driver would know as pinned.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) : range_(std::make_shared<Range>()) {
    range_->base =
        reinterpret_cast<std::uint64_t>(raddle::machine::DeviceSpace::instance().take_memory(bytes));
    range_->bytes = bytes;
    range_->name = "pinned host memory";
    EXPECT_TRUE(raddle::machine::SharedMemory::instance().add(range_).ok());
  }
  ~Pinned() { raddle::machine::SharedMemory::instance().remove(range_->base); }
  DevicePtr address() const { return {range_->base}; }
  std::byte* data() { return reinterpret_cast<std::byte*>(range_->base); }

 private:
  struct Range : raddle::machine::SharedRange {
    ~Range() override {
      raddle::machine::DeviceSpace::instance().give_back(reinterpret_cast<std::byte*>(base), bytes);
    }
  };
  std::shared_ptr<Range> range_;
};

class Tasks : public KernelTest {
 protected:
  using Bytes = raddle::Buffer<std::byte>;

  template <class... Arguments>
  TaskRecord record(const char* name, const raddle::LaunchConfig& config, const Arguments&... arguments) {
    auto made = kernel(kTaskKernels, name).record(config, arguments...);
    if (!made.ok()) ADD_FAILURE() << made.error().to_string();
    return made.ok() ? *made : TaskRecord{};
  }

  /// The record in device memory, its slots behind it, the first ones filled.
  Bytes place(TaskRecord record, const std::vector<Entry>& ready = {}) {
    record.ready = static_cast<std::uint32_t>(ready.size());
    return buffer(bytes_of(record, ready));
  }
  static std::vector<std::byte> bytes_of(const TaskRecord& record, const std::vector<Entry>& ready) {
    std::vector<std::byte> bytes(sizeof record + record.queue_bytes());
    std::memcpy(bytes.data(), &record, sizeof record);
    for (std::size_t i = 0; i < ready.size(); ++i)
      std::memcpy(bytes.data() + sizeof record + i * record.slot_bytes() + TaskRecord::kSlotHeader, &ready[i],
                  sizeof(Entry));
    return bytes;
  }

  raddle::Launch launch(DevicePtr at) { return launch(device().default_stream(), at); }
  raddle::Launch launch(raddle::Stream& stream, DevicePtr at) {
    auto launched = stream.launch(at);
    if (!launched.ok()) ADD_FAILURE() << launched.error().to_string();
    return std::move(*launched);
  }
  void wait(raddle::Launch& task) {
    const auto report = task.wait();
    EXPECT_TRUE(report.ok()) << report.error().to_string();
  }
  void append_all(raddle::Launch& task, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count;) {
      const auto appended = task.append(Entry{first + i, 0});
      ASSERT_TRUE(appended.ok()) << appended.error().to_string();
      ASSERT_TRUE(*appended == Append::done || *appended == Append::full);
      if (*appended == Append::done)
        ++i;
      else
        std::this_thread::yield();
    }
  }
  TaskRecord read(const Bytes& place) {
    const std::vector<std::byte> bytes = contents(place);
    TaskRecord record;
    std::memcpy(&record, bytes.data(), sizeof record);
    return record;
  }
};
ON_EVERY_ENGINE(Tasks);

// proves: A-2a, A-2b, A-2e
TEST_P(Tasks, AGridIsLaunchedByTheAddressOfItsRecord) {
  options_.reaches_shared = true;  // pinned memory, also from a window
  auto out = buffer(Words(12));
  TaskRecord grid = record("where", {.grid = {3, 2, 2}, .block = {64}}, out, 7u);
  Words want(12);
  for (std::uint32_t i = 0; i < 12; ++i) want[i] = 7 * (i + 1);
  auto there = place(grid);
  auto task = launch(there.address());
  wait(task);
  EXPECT_EQ(contents(out), want);

  grid.inline_parameters[sizeof(std::uint64_t)] = std::byte{9};
  Pinned pinned(sizeof grid);
  std::memcpy(pinned.data(), &grid, sizeof grid);
  auto again = launch(pinned.address());
  wait(again);
  for (std::uint32_t i = 0; i < 12; ++i) want[i] = 9 * (i + 1);
  EXPECT_EQ(contents(out), want);
}

// The parameters lie elsewhere, and the record names the space that it is launched in.
// proves: A-2c
TEST_P(Tasks, ARecordHoldsWhatALaunchNeeds) {
  auto out = buffer(Words(2));
  TaskRecord grid =
      record("where", {.grid = {2}, .block = {32}, .shared_bytes = 128, .priority = 3}, out, 5u);
  EXPECT_EQ(grid.priority, 3);
  const std::vector<std::byte> block(grid.inline_parameters, grid.inline_parameters + grid.parameter_bytes);
  auto parameters = buffer(block);
  std::memset(grid.inline_parameters, 0xff, sizeof grid.inline_parameters);
  grid.parameters = parameters.address().value;
  grid.space = device().space();
  auto there = place(grid);
  auto task = launch(there.address());
  wait(task);
  EXPECT_EQ(contents(out), (Words{5, 10}));
}

// proves: A-2f, A-2h, A-2i, A-2j
TEST_P(Tasks, ABlockKnowsItsTaskAndItsPlaceInTheQueue) {
  const std::uint64_t entries = 90, first = 5;
  auto out = buffer(Longs(entries * 4));
  TaskRecord queue = record("who", {.block = {64}}, out);
  queue.make_queue(8, sizeof(Entry));
  std::vector<Entry> ready;
  for (std::uint64_t i = 0; i < first; ++i) ready.push_back({1000 + i, 0});
  auto there = place(queue, ready);
  auto task = launch(there.address());
  append_all(task, 1000 + first, entries - first);
  ASSERT_TRUE(task.close().ok());
  wait(task);
  const Longs found = contents(out);
  for (std::uint64_t i = 0; i < entries; ++i) {
    EXPECT_EQ(found[4 * i], 1000 + i);
    EXPECT_EQ(found[4 * i + 1], found[1]) << "one task, one identifier";
    EXPECT_EQ(found[4 * i + 2], there.address().value);
    EXPECT_EQ(found[4 * i + 3], i);
  }
  EXPECT_NE(found[1], 0u) << "what a block read changed while it ran";
  const TaskRecord after = read(there);
  EXPECT_EQ(after.appended, entries);
  EXPECT_EQ(after.taken, entries);
  auto second = place(queue, {{7, 0}});
  auto other = launch(second.address());
  ASSERT_TRUE(other.close().ok());
  wait(other);
  EXPECT_NE(contents(out)[1], found[1]) << "another task, another identifier";
}

// proves: A-2g, A-3d
TEST_P(Tasks, HostAndKernelsAppendManyTimesItsCapacity) {
  options_.reaches_shared = true;  // pinned memory, also from a window
  const std::uint32_t by_host = 700, by_thread = 10, threads = 2 * 32;
  const std::uint64_t entries = by_host + 2 * by_thread * threads;
  auto count = buffer(Longs(1)), sum = buffer(Longs(1)), refused = buffer(Longs(1));
  auto seen = buffer(Words(by_host + by_thread * threads));
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, seen);
  queue.make_queue(16, sizeof(Entry));
  Pinned pinned(sizeof queue + queue.queue_bytes());
  std::memcpy(pinned.data(), &queue, sizeof queue);
  const DevicePtr there = pinned.address();
  auto task = launch(there);
  auto one = device().stream(), two = device().stream();
  std::vector<raddle::Launch> producers;
  for (auto* stream : {&*one, &*two}) {
    auto made = kernel(kTaskKernels, "produce")
                    .launch({.grid = {2}, .block = {32}, .stream = stream}, there, by_thread, refused);
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    producers.push_back(std::move(*made));
  }
  std::thread host([&] { append_all(task, by_thread * threads, by_host); });
  host.join();
  for (auto& producer : producers) wait(producer);
  ASSERT_TRUE(task.close().ok());
  wait(task);
  EXPECT_EQ(contents(refused)[0], 0u);
  EXPECT_EQ(contents(count)[0], entries) << "the queue has 16 slots";
  Words want(by_host + by_thread * threads, 1);
  std::fill_n(want.begin(), by_thread * threads, 2u);
  EXPECT_EQ(contents(seen), want);
}

// proves: A-2f, A-2g
TEST_P(Tasks, ATreeIsWalkedByBlocksThatAppend) {
  std::optional<Bytes> slots;
  for (const std::uint32_t capacity : {1u, 3u, 4096u}) {
    const std::uint64_t depth = interpreted() ? 6 : 9;
    auto visited = buffer(Longs(1)), full = buffer(Longs(1));
    TaskRecord queue = record("tree", {.block = {32}}, visited, full);
    queue.make_queue(capacity, sizeof(Entry), QueueEnding::drained);
    // The slots follow the record, or lie elsewhere.
    auto there = place(queue, {{depth, 0}});
    if (capacity == 3) {
      const std::vector<std::byte> both = bytes_of(queue, {{depth, 0}});
      slots.emplace(buffer(std::vector<std::byte>(both.begin() + sizeof queue, both.end())));
      queue.slots = slots->address().value;
      queue.ready = 1;
      ASSERT_TRUE(there.write(bytes_of(queue, {})).ok());
    }
    auto task = launch(there.address());
    wait(task);
    EXPECT_EQ(contents(visited)[0], (2ull << depth) - 1) << capacity;
    if (capacity == 4096) EXPECT_EQ(contents(full)[0], 0u);
    EXPECT_EQ(*task.append(Entry{}), Append::closed) << "it has ended";
  }
}

// An entry that names a record launches that task; the queue task ends after it. The child appends to the
// queue.
// proves: A-3c, A-3d
TEST_P(Tasks, AnEntryMayBeAChild) {
  auto count = buffer(Longs(1)), sum = buffer(Longs(1)), refused = buffer(Longs(1));
  auto room = buffer(std::vector<std::byte>(sizeof(TaskRecord)));
  TaskRecord queue = record("with_children", {.block = {32}}, room, count, sum);
  queue.make_queue(16, sizeof(Entry), QueueEnding::drained);
  auto there = place(queue, {{5, 3}});
  const std::uint32_t by_thread = 2;
  const TaskRecord child =
      record("produce", {.grid = {2}, .block = {16}}, there.address().value, by_thread, refused);
  ASSERT_TRUE(room.write(bytes_of(child, {})).ok());
  auto task = launch(there.address());
  wait(task);
  EXPECT_EQ(contents(refused)[0], 0u);
  EXPECT_EQ(contents(count)[0], 1 + 3 * 2 * 16 * by_thread);
  EXPECT_EQ(contents(sum)[0], 5 + 3 * (64 * 63 / 2));
  EXPECT_EQ(read(there).taken, 1 + 3 + 3 * 2 * 16 * by_thread) << "the children took places of their own";
}

TEST_P(Tasks, AChildMayBeAQueueTaskAndTheHostMayAppendOne) {
  auto visited = buffer(Longs(1)), full = buffer(Longs(1)), count = buffer(Longs(1)), sum = buffer(Longs(1));
  TaskRecord tree = record("tree", {.block = {32}}, visited, full);
  tree.make_queue(64, sizeof(Entry), QueueEnding::drained);
  auto inner = place(tree, {{4, 0}});
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  queue.make_queue(4, sizeof(Entry));
  auto outer = place(queue);
  auto task = launch(outer.address());
  EXPECT_EQ(*task.append_task(inner.address()), Append::done);
  EXPECT_EQ(*task.append(Entry{3, 0}), Append::done);
  ASSERT_TRUE(task.close().ok());
  wait(task);
  EXPECT_EQ(contents(visited)[0], 31u);
  EXPECT_EQ(contents(count)[0], 1u);
}

// What runs is what was read: neither the record nor the headers of slots matter any more.
// proves: A-2d
TEST_P(Tasks, ARecordThatIsOverwrittenChangesNothing) {
  auto count = buffer(Longs(1));
  const std::uint32_t capacity = 4;
  auto there = buffer(std::vector<std::byte>(sizeof(TaskRecord) + capacity * 24));
  TaskRecord queue = record("vandal", {.block = {32}}, there.address().value,
                            static_cast<std::uint32_t>(there.size()), count);
  queue.make_queue(capacity, sizeof(Entry));
  queue.ready = 2;
  ASSERT_TRUE(there.write(bytes_of(queue, {{1, 1}, {1, 1}})).ok());
  auto task = launch(there.address());
  for (std::uint64_t i = 0; i < 20;) i += *task.append(Entry{1, 0}) == Append::done;
  ASSERT_TRUE(task.close().ok());
  wait(task);
  EXPECT_GE(contents(count)[0], 22u);
  EXPECT_TRUE(device().status().ok());
  EXPECT_FALSE(device().default_stream().launch(there.address()).ok())
      << "as a record it is worth nothing now";
}

/// Each member of a record wrong in turn.
struct WrongRecord {
  const char* says;
  std::function<void(TaskRecord&)> change;
};
const std::vector<WrongRecord> kWrongRecords = {
    {"version", [](TaskRecord& r) { r.version = 1; }},
    {"kind 0", [](TaskRecord& r) { r.kind = raddle::TaskKind{0}; }},
    {"no module", [](TaskRecord& r) { r.program += 7ull << 32; }},
    {"is no kernel", [](TaskRecord& r) { r.program |= 0xffffff; }},
    {"grid 0", [](TaskRecord& r) { r.kind = raddle::TaskKind::grid, r.grid[0] = 0; }},
    {"block 2000", [](TaskRecord& r) { r.block[0] = 2000; }},
    {"shared", [](TaskRecord& r) { r.shared_bytes = 1u << 30; }},
    {"insertion 2", [](TaskRecord& r) { r.insertion = raddle::Insertion{2}; }},
    {"parameter_bytes", [](TaskRecord& r) { r.parameter_bytes = 8; }},
    {"parameters: ", [](TaskRecord& r) { r.parameters = kNowhere; }},
    {"space", [](TaskRecord& r) { r.space = 1ull << 40; }},
    {"slots: ", [](TaskRecord& r) { r.slots = kNowhere; }},
    {"not aligned", [](TaskRecord& r) { r.slots = kNowhere + 4; }},
    {"capacity 0", [](TaskRecord& r) { r.capacity = 0; }},
    {"capacity 16777217", [](TaskRecord& r) { r.capacity = TaskRecord::kMostCapacity + 1; }},
    {"slots: ", [](TaskRecord& r) { r.capacity = 1u << 20; }},
    {"entry_bytes 136", [](TaskRecord& r) { r.entry_bytes = 136; }},
    {"entry_bytes 4", [](TaskRecord& r) { r.entry_bytes = 4; }},
    {"ready", [](TaskRecord& r) { r.ready = 9; }},
    {"ending 2", [](TaskRecord& r) { r.ending = QueueEnding{2}; }},
    {"1 x 1 x 1", [](TaskRecord& r) { r.grid[1] = 2; }},
    {"unused", [](TaskRecord& r) { r.unused[1] = 1; }},
};

// proves: A-2d
TEST_P(Tasks, AMalformedRecordIsRefusedByName) {
  auto count = buffer(Longs(1)), sum = buffer(Longs(1));
  TaskRecord good = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  good.make_queue(8, sizeof(Entry), QueueEnding::drained);
  good.ready = 1;
  const auto try_launch = [&](const TaskRecord& tried) {
    std::vector<std::byte> bytes = bytes_of(good, {{1, 0}});
    std::memcpy(bytes.data(), &tried, sizeof tried);
    auto there = buffer(bytes);
    auto launched = device().default_stream().launch(there.address());
    return launched.ok() ? std::string("launched") : launched.error().message;
  };
  for (const auto& [says, change] : kWrongRecords) {
    TaskRecord bad = good;
    change(bad);
    EXPECT_NE(try_launch(bad).find(says), std::string::npos) << says << ": " << try_launch(bad);
  }
  for (const std::uint64_t address : {std::uint64_t{0}, kNowhere, kNowhere + 8, ~std::uint64_t{15}}) {
    const auto launched = device().default_stream().launch(DevicePtr{address});
    ASSERT_FALSE(launched.ok()) << address;
    EXPECT_NE(launched.error().message.find("task record"), std::string::npos);
  }
  EXPECT_EQ(try_launch(good), "launched") << "nothing was lost by it";
  EXPECT_TRUE(device().synchronize().ok());
  EXPECT_EQ(contents(count)[0], 1u);
}

TEST_P(Tasks, AChildThatCannotBeLaunchedFailsTheQueueTask) {
  auto count = buffer(Longs(1)), sum = buffer(Longs(1));
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  queue.make_queue(8, sizeof(Entry));
  auto there = place(queue);
  TaskRecord bad = queue;
  bad.program = 12345;
  auto child = place(bad);
  auto task = launch(there.address());
  EXPECT_EQ(*task.append_task(child.address()), Append::done);
  const auto report = task.wait();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("invalid task record"), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().message.find("program"), std::string::npos) << report.error().message;
}

TEST_P(Tasks, AnIdleQueueCostsNoProcessorTime) {
  auto count = buffer(Longs(1)), sum = buffer(Longs(1));
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  queue.make_queue(8, sizeof(Entry));
  auto there = place(queue, {{1, 0}});
  auto own = device().stream();
  auto task = launch(*own, there.address());
  const auto spent = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  while (read(there).taken != 1 && !task.done()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double before = spent();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(spent() - before, 0.02);
  EXPECT_FALSE(task.done());
  EXPECT_EQ(*task.append(Entry{2, 0}), Append::done);
  ASSERT_TRUE(task.close().ok());
  wait(task);
  EXPECT_EQ(contents(sum)[0], 3u);
}

TEST_P(Tasks, QueuesEndEmpty) {
  auto count = buffer(Longs(1)), sum = buffer(Longs(1));
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  queue.make_queue(8, sizeof(Entry), QueueEnding::drained);
  auto drained = place(queue);
  auto first = launch(drained.address());
  wait(first);
  queue.ending = QueueEnding::closed;
  auto closed = place(queue);
  auto second = launch(closed.address());
  EXPECT_FALSE(second.done());
  EXPECT_FALSE(device().default_stream().launch(closed.address()).ok()) << "its queue is in use";
  ASSERT_TRUE(second.close().ok());
  wait(second);
  EXPECT_EQ(*second.append(Entry{}), Append::closed);
  auto again = launch(closed.address());
  again.cancel();
  EXPECT_FALSE(again.wait().ok());
  EXPECT_EQ(*again.append(Entry{}), Append::closed);
  EXPECT_EQ(contents(count)[0], 0u);
  EXPECT_TRUE(device().status().ok());
}

TEST_P(Tasks, CallsAnswerWhereThereIsNoQueue) {
  auto out = buffer(Words(9)), count = buffer(Words(4));
  auto sum = buffer(Longs(1));
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  queue.make_queue(8, sizeof(Entry));
  auto there = place(queue);
  auto other = device().stream();
  auto task = launch(*other, there.address());
  run(kernel(kTaskKernels, "calls"), {.grid = {1}, .block = {32}}, out, there.address());
  wait(task);
  Words answers = contents(out);
  EXPECT_GE(answers[6], 2u) << "closed, and gone when its last block has ended";
  answers[6] = 2;
  EXPECT_EQ(answers, (Words{1, 0, 3, 3, 0, 0, 2, 3, 1}));
  EXPECT_FALSE(task.append(std::uint64_t{1}).ok()) << "8 bytes";
  auto grid = kernel(kTaskKernels, "calls").launch({.grid = {1}, .block = {32}}, out, there.address());
  EXPECT_FALSE(grid->append(Entry{}).ok());
  EXPECT_FALSE(grid->append_task(there.address()).ok());
  EXPECT_FALSE(grid->close().ok());
  EXPECT_TRUE(device().synchronize().ok());
}

// The fault is the queue task's, and its queue takes nothing more.
TEST_P(Tasks, WildPointersAreFaultsThatAreNamed) {
  for (const std::uint32_t what : {0u, 1u, 2u}) {
    {
      TaskRecord queue = record("wild", {.block = {32}}, kNowhere, what);
      queue.make_queue(8, sizeof(Entry));
      auto there = place(queue, {{1, 0}});
      auto task = launch(there.address());
      const auto report = task.wait();
      ASSERT_FALSE(report.ok());
      EXPECT_NE(report.error().message.find("illegal address 0x500000"), std::string::npos)
          << report.error().message;
      EXPECT_NE(report.error().message.find("in kernel wild"), std::string::npos) << report.error().message;
      EXPECT_EQ(*task.append(Entry{}), Append::closed);
    }
    close();
  }
}

// A queue that nobody closes any more: its device has failed, or goes.
TEST_P(Tasks, NobodyWaitsForAQueueOfADeviceThatHasFailed) {
  auto count = buffer(Longs(1)), sum = buffer(Longs(1));
  TaskRecord queue = record("tally", {.block = {32}}, count, sum, std::uint64_t{0});
  queue.make_queue(8, sizeof(Entry));
  auto open = place(queue);
  auto other = device().stream();
  auto task = launch(*other, open.address());
  TaskRecord wild = record("wild", {.block = {32}}, kNowhere, 0u);
  wild.make_queue(8, sizeof(Entry));
  auto bad = place(wild, {{1, 0}});
  auto failing = launch(bad.address());
  EXPECT_FALSE(failing.wait().ok());
  EXPECT_TRUE(task.wait().ok()) << "closed, and it had no fault";
}

// One slot, so that a task has to end before the next one starts; all of them wait when the first one ends.
// proves: A-2c
TEST_P(Tasks, AtTheHeadATaskStartsBeforeThoseOfItsPriority) {
  options_.distributor.task_slots = 1;
  auto log = buffer(Words(8)), count = buffer(Words(1)), open = buffer(Words(2));
  std::vector<Bytes> records;
  const auto note = [&](std::uint32_t who, raddle::Insertion insertion, std::int32_t priority) {
    TaskRecord task = record("note_order", {.grid = {1}, .block = {32}}, log, count, who);
    task.insertion = insertion, task.priority = priority;
    records.push_back(place(task));
  };
  note(1, raddle::Insertion::tail, 0);
  note(2, raddle::Insertion::tail, 0);
  note(3, raddle::Insertion::head, 0);
  note(4, raddle::Insertion::head, 0);
  note(5, raddle::Insertion::tail, -1);
  note(6, raddle::Insertion::head, 1);
  const auto gate = place(record("gate", {.grid = {1}, .block = {32}}, open));
  std::vector<raddle::Stream> streams;
  streams.push_back(std::move(*device().stream()));
  std::vector<raddle::Launch> tasks;
  tasks.push_back(launch(streams.back(), gate.address()));
  while (contents(open)[1] == 0) std::this_thread::yield();  // else those at the head start before it
  for (const Bytes& each : records) {
    streams.push_back(std::move(*device().stream()));
    tasks.push_back(launch(streams.back(), each.address()));
  }
  ASSERT_TRUE(open.write(Words{1, 1}).ok());
  for (auto& task : tasks) wait(task);
  const Words order = contents(log);
  EXPECT_EQ(order, (Words{5, 4, 3, 1, 2, 6, 0, 0}));
}

}  // namespace
