#include "machine/copy/copy_engines.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "machine/memory/shared_memory.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

constexpr std::uint64_t kPageBytes = 4096, kAt = 0x5'0000'0000;  // nothing of the host's lies there
using Bytes = std::vector<std::uint8_t>;

/// Bytes of which no two neighbouring pages have the same.
Bytes pattern(std::uint64_t bytes, unsigned seed = 1) {
  Bytes values(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i)
    values[i] = static_cast<std::uint8_t>(i * 7 + i / 4096 * 31 + seed);
  return values;
}

class CopyEnginesTest : public MachineTest {
 protected:
  void SetUp() override {
    open();
    for (auto& space : spaces_)
      space = std::move(*AddressSpace::open(machine_, {.translation = Translation::modelled}));
  }
  void TearDown() override {
    for (auto& space : spaces_) space.reset();
  }
  Mmu& mmu() { return *machine_->mmu().value(); }
  PhysicalMemory& memory() { return mmu().memory(); }

  static Task* submit_work(AddressSpace& space, Work work) {
    Task* const task = space.tasks().acquire();
    task->work = std::move(work);
    space.tasks().submit(*task, {});
    return task;
  }
  static exec::Fault finish(AddressSpace& space, Task* task) {
    task->wait();
    exec::Fault fault;
    if (task->stop.load() != 0) fault = task->fault;
    space.tasks().release(task);
    return fault;
  }
  static exec::Fault move(AddressSpace& space, Work work) {
    return finish(space, submit_work(space, std::move(work)));
  }
  static exec::Fault read(AddressSpace& space, Bytes& to, std::uint64_t address) {
    return move(space, CopyWork{of_host(to.data()), {&space, address}, to.size()});
  }
  static exec::Fault write(AddressSpace& space, std::uint64_t address, const Bytes& from) {
    return move(space, CopyWork{{&space, address}, of_host(from.data()), from.size()});
  }
  /// Frames with these bytes, entered at an address in the order of `pages`.
  FrameRun enter(AddressSpace& space, const Bytes& bytes, const std::vector<unsigned>& pages,
                 Permissions permissions = {}) {
    const FrameRun run = *memory().take(bytes.size(), kPageBytes);
    std::memcpy(memory().host(run.start), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const FrameRun page{run.start + pages[i] * kPageBytes, kPageBytes};
      EXPECT_TRUE(space.pages()->enter(kAt + i * kPageBytes, page, permissions).ok());
    }
    return run;
  }

  std::unique_ptr<AddressSpace> spaces_[2];
};

// proves: A-13c
TEST_F(CopyEnginesTest, LookInThePageTable) {
  const Bytes first = pattern(3 * kPageBytes), second = pattern(3 * kPageBytes, 100);
  enter(*spaces_[0], first, {2, 0, 1});
  enter(*spaces_[1], second, {0, 1, 2});
  Bytes wanted;
  for (const unsigned page : {2, 0, 1})
    wanted.insert(wanted.end(), &first[page * kPageBytes], &first[page * kPageBytes] + kPageBytes);
  Bytes found(3 * kPageBytes);
  EXPECT_EQ(read(*spaces_[0], found, kAt).kind, exec::FaultKind::none);
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(read(*spaces_[1], found, kAt).kind, exec::FaultKind::none);
  EXPECT_EQ(found, second);
  // From one space's pages to another's, as if both were at the same address.
  EXPECT_EQ(
      move(*spaces_[0], CopyWork{{spaces_[1].get(), kAt + 5}, {spaces_[0].get(), kAt + 4000}, 8000}).kind,
      exec::FaultKind::none);
  EXPECT_EQ(read(*spaces_[1], found, kAt).kind, exec::FaultKind::none);
  EXPECT_TRUE(std::equal(found.begin() + 5, found.begin() + 8005, wanted.begin() + 4000));
  EXPECT_TRUE(std::equal(found.begin() + 8005, found.end(), second.begin() + 8005));
}

TEST_F(CopyEnginesTest, CopyRowsAndFillWordsAcrossPages) {
  AddressSpace& space = *spaces_[0];
  const FrameRun frames = enter(space, Bytes(4 * kPageBytes), {3, 2, 1, 0});
  const Bytes source = pattern(9 * 500);
  const CopyWork rows{{&space, kAt + 100, 1500, 4500},
                      {nullptr, std::bit_cast<std::uint64_t>(source.data()), 500, 1500},
                      400,
                      3,
                      3};
  EXPECT_EQ(move(space, rows).kind, exec::FaultKind::none);
  const auto at = [&](std::uint64_t offset) {
    return static_cast<std::uint8_t>(
        *memory().host(frames.start + (3 - offset / kPageBytes) * kPageBytes + offset % kPageBytes));
  };
  for (std::uint64_t slice = 0; slice < 3; ++slice)
    for (std::uint64_t row = 0; row < 3; ++row)
      for (std::uint64_t byte = 0; byte < 500; ++byte)
        ASSERT_EQ(at(100 + slice * 4500 + row * 1500 + byte),
                  byte < 400 ? source[slice * 1500 + row * 500 + byte] : 0)
            << slice << " " << row << " " << byte;
  const FillWork fill{{&space, kAt + 4092, 5000}, 0x04030201, 4, 3, 2};
  EXPECT_EQ(move(space, fill).kind, exec::FaultKind::none);
  for (const std::uint64_t start : {4092, 9092})
    for (std::uint64_t i = 0; i < 12; ++i) EXPECT_EQ(at(start + i), 1 + i % 4) << start << " " << i;
}

// proves: A-13c
TEST_F(CopyEnginesTest, HaveTlbsOfTheirOwn) {
  AddressSpace& space = *spaces_[0];
  enter(space, pattern(8 * kPageBytes), {7, 5, 3, 1, 0, 2, 4, 6});
  Bytes found(8 * kPageBytes);
  EXPECT_EQ(read(space, found, kAt).kind, exec::FaultKind::none);
  EXPECT_EQ(space.pages()->counts().copy_engine_tlbs, (Hits{0, 8}));
  EXPECT_EQ(space.pages()->counts().sm_tlbs, Hits{});
  EXPECT_EQ(space.pages()->counts().gpc_tlbs, Hits{});
}

// proves: A-9b, A-9d, A-13d
TEST_F(CopyEnginesTest, StopWhereAPageIsMissingOrForbidden) {
  const Bytes bytes = pattern(2 * kPageBytes);
  const FrameRun frames = enter(*spaces_[0], bytes, {0, 1}, {.write = false, .atomic = false});
  Bytes found(3 * kPageBytes);
  Task* const behind = submit_work(*spaces_[1], CopyWork{});
  const exec::Fault missing = read(*spaces_[0], found, kAt);
  EXPECT_EQ(missing.kind, exec::FaultKind::illegal_address);
  EXPECT_EQ(missing.address, kAt + 2 * kPageBytes);
  EXPECT_THAT(missing.detail,
              testing::HasSubstr("address space 1: read by a copy engine after 8192 bytes, "));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), found.begin()));
  EXPECT_TRUE(spaces_[0]->failed());
  EXPECT_EQ(finish(*spaces_[1], behind).kind, exec::FaultKind::none);

  enter(*spaces_[1], bytes, {0, 1}, {.write = false, .atomic = false});
  const exec::Fault forbidden = write(*spaces_[1], kAt + 16, pattern(100, 9));
  EXPECT_EQ(forbidden.kind, exec::FaultKind::illegal_address);
  EXPECT_THAT(forbidden.detail, testing::HasSubstr("its page does not allow that"));
  EXPECT_EQ(std::memcmp(memory().host(frames.start), bytes.data(), bytes.size()), 0);
}

struct OwnRange : SharedRange {
  explicit OwnRange(const Mapping& mapping) { base = mapping.address(), bytes = mapping.bytes(); }
};

// Pages of memory that all spaces know come when they are missed.
// proves: A-13d
TEST_F(CopyEnginesTest, GoOnWhereTheyStopped) {
  const Mapping mapping = Mapping::pages(6 * kPageBytes).value();
  ASSERT_TRUE(SharedMemory::instance().add(std::make_shared<OwnRange>(mapping)).ok());
  const Bytes bytes = pattern(5 * kPageBytes);
  const std::uint64_t before = machine_->copy_engines().resumed();
  EXPECT_EQ(write(*spaces_[0], mapping.address() + 64, bytes).kind, exec::FaultKind::none);
  EXPECT_EQ(std::memcmp(mapping.start() + 64, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(machine_->copy_engines().resumed() - before, 6u);
  EXPECT_EQ(write(*spaces_[0], mapping.address(), bytes).kind, exec::FaultKind::none);
  EXPECT_EQ(machine_->copy_engines().resumed() - before, 6u);
  SharedMemory::instance().remove(mapping.address());
}

// Of a program that unmaps what it has given a copy.
// proves: A-13d
TEST_F(CopyEnginesTest, MissTheHostsMemoryWithoutHarm) {
  const Mapping mapping = Mapping::pages(4 * kPageBytes).value();
  mapping.empty(mapping.address() + 3 * kPageBytes, kPageBytes);
  Bytes found(4 * kPageBytes);
  for (AddressSpace* const space : {space_.get(), spaces_[0].get()}) {
    const exec::Fault fault =
        move(*space, CopyWork{of_host(found.data()), of_host(mapping.start()), found.size()});
    EXPECT_EQ(fault.kind, exec::FaultKind::illegal_address);
    // Which byte of the page is read first is memmove's choice.
    EXPECT_EQ(fault.address / kPageBytes, mapping.address() / kPageBytes + 3);
    EXPECT_THAT(fault.to_string(), testing::HasSubstr("read by a copy engine"));
    EXPECT_TRUE(space->failed());
  }
  EXPECT_EQ(
      move(*spaces_[1], FillWork{.to = of_host(mapping.start()), .word = 3, .width = 2 * kPageBytes}).kind,
      exec::FaultKind::none);
  EXPECT_EQ(int(mapping.start()[2 * kPageBytes - 1]), 3);
}

// proves: A-13a, A-13b
TEST_F(CopyEnginesTest, WorkBesideTheSms) {
  open({.workers = 1});
  for (auto& space : spaces_) space = std::move(*AddressSpace::open(machine_, {}));
  std::atomic<std::uint32_t> word{0}, answer{0};
  auto spinning = TestKernel::of_blocks([&](exec::CtaContext&) {
    answer = 1;
    while (word.load() != 7) {
    }
    answer = 2;
  });
  Task* const kernel = submit(spinning, {});
  while (answer.load() == 0) std::this_thread::yield();  // the only worker never leaves it
  EXPECT_EQ(move(*spaces_[0], FillWork{.to = of_host(&word), .word = 7, .word_bytes = 4, .width = 1}).kind,
            exec::FaultKind::none);
  EXPECT_EQ(finish(*space_, kernel).kind, exec::FaultKind::none);
  EXPECT_EQ(answer.load(), 2u);
}

// Many copies of several spaces, which end while others go on.
TEST_F(CopyEnginesTest, ServeSpacesThatComeAndGo) {
  for (int round = 0; round < 50; ++round) {
    const auto space = std::move(*AddressSpace::open(machine_, {}));
    std::vector<std::uint64_t> numbers(64);
    std::iota(numbers.begin(), numbers.end(), round);
    std::vector<std::uint64_t> copied(64);
    for (unsigned i = 0; i < 64; ++i) {
      space->tasks().release(submit_work(*space, CopyWork{of_host(&copied[i]), of_host(&numbers[i]), 8}));
      space_->tasks().release(submit_work(*space_, CopyWork{}));
    }
    space->tasks().wait_all();
    EXPECT_EQ(copied, numbers);
  }
}

}  // namespace
}  // namespace raddle::machine
