// Pages whose bytes move between memories while threads use them.
#include "machine/memory/movable_memory.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "machine/sm/signals.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

constexpr std::uint64_t kPage = MovableMemory::kPage, kWords = kPage / 8;
constexpr unsigned kDevices = 2;

class Movable : public testing::Test {
 protected:
  Movable() {
    install_fault_handlers();
    for (unsigned device = 0; device < kDevices; ++device) {
      auto made = PhysicalMemory::create(4 << 20);
      EXPECT_TRUE(made.ok());
      devices_.push_back(std::move(*made));
      MovableMemory::announce(processor_of(device), devices_.back());
    }
  }
  static std::unique_ptr<MovableMemory> make(std::uint64_t pages) {
    auto made = MovableMemory::create(pages * kPage);
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    return std::move(*made);
  }
  static volatile std::uint64_t* words(const MovableMemory& memory, std::uint64_t page = 0) {
    return reinterpret_cast<volatile std::uint64_t*>(memory.address() + page * kPage);
  }
  /// A word as it lies in the frames of whoever has the page.
  static std::uint64_t& in_frames(const MovableMemory& memory, std::uint64_t page, std::uint64_t word) {
    const MovableMemory::Frames frames = memory.frames(page);
    return reinterpret_cast<std::uint64_t*>(frames.memory->host(frames.run.start))[word];
  }

  std::vector<std::shared_ptr<PhysicalMemory>> devices_;
};

// proves: A-22d
TEST_F(Movable, BytesLieInTheFramesOfWhoTouchesThemMost) {
  const auto memory = make(3);
  Residency pages(memory->address(), 3 * kPage, kDevices + 1, memory.get());
  for (std::uint64_t i = 0; i < 3 * kWords; ++i) words(*memory)[i] = i;
  const auto free_of = [&](unsigned device) { return devices_[device]->free_bytes(); };
  const std::uint64_t all = free_of(0);
  const std::uint64_t page = memory->address() + kPage;
  const auto expect_at = [&](Processor where, std::uint64_t first) {
    EXPECT_EQ(pages.home(page), where);
    EXPECT_EQ(memory->place(1), where);
    if (where != kHostProcessor) EXPECT_EQ(memory->frames(1).memory, devices_[where - 1]);
    for (std::uint64_t i = 0; i < kWords; ++i) {
      ASSERT_EQ(in_frames(*memory, 1, i), kWords + i + first);
      ASSERT_EQ(words(*memory, 1)[i], kWords + i + first);
    }
  };
  expect_at(kHostProcessor, 0);
  pages.touch(processor_of(0), page + 8);
  expect_at(processor_of(0), 0);
  EXPECT_EQ(free_of(0), all - kPage);
  for (std::uint64_t i = 0; i < kWords; ++i) words(*memory, 1)[i] = kWords + i + 7;  // the program's writes
  expect_at(processor_of(0), 7);
  in_frames(*memory, 1, 5) = 1;
  EXPECT_EQ(words(*memory, 1)[5], 1u);
  in_frames(*memory, 1, 5) = kWords + 5 + 7;
  for (unsigned i = 0; i <= Residency::kLead; ++i) pages.touch(processor_of(1), page);
  expect_at(processor_of(1), 7);
  EXPECT_EQ(free_of(0), all);
  EXPECT_EQ(free_of(1), all - kPage);
  pages.move(page, 1, kHostProcessor);
  expect_at(kHostProcessor, 7);
  EXPECT_EQ(free_of(1), all);
  EXPECT_EQ(memory->place(0), kHostProcessor);
  EXPECT_EQ(words(*memory, 2)[1], 2 * kWords + 1);
}

TEST_F(Movable, StayWhereAFullMemoryWantsThem) {
  const auto memory = make(100);  // more than a device has
  Residency pages(memory->address(), 100 * kPage, kDevices + 1, memory.get());
  for (std::uint64_t i = 0; i < 100; ++i) words(*memory, i)[0] = i;
  pages.move(memory->address(), 100 * kPage, processor_of(0));
  unsigned there = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(pages.home(memory->address() + i * kPage), memory->place(i));
    there += memory->place(i) == processor_of(0);
    EXPECT_EQ(words(*memory, i)[0], i);
  }
  EXPECT_EQ(there, (4u << 20) / kPage);
  EXPECT_EQ(Residency::bytes_at(processor_of(0)), 4u << 20);
}

TEST_F(Movable, OutliveTheMemoryTheyCameFrom) {
  const auto memory = make(1);
  Residency pages(memory->address(), kPage, kDevices + 1, memory.get());
  words(*memory)[3] = 9;
  pages.touch(processor_of(0), memory->address());
  EXPECT_EQ(memory->place(0), processor_of(0));
  const std::weak_ptr<PhysicalMemory> first = devices_[0];
  devices_[0] = nullptr;
  EXPECT_FALSE(first.expired()) << "it has a page";
  EXPECT_EQ(words(*memory)[3], 9u);
  pages.move(memory->address(), kPage, kHostProcessor);
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(words(*memory)[3], 9u);
  pages.move(memory->address(), kPage, processor_of(0));  // which has no memory now
  EXPECT_EQ(words(*memory)[3], 9u);
  EXPECT_EQ(memory->place(0), kHostProcessor);
}

TEST_F(Movable, CountsDoNotPassTheirEnd) {
  constexpr std::uint32_t kMost = Residency::kMostTouches;
  Residency pages(kPage, kPage, kDevices + 1);
  pages.touch(processor_of(0), kPage);
  for (const std::uint32_t times : {kMost - 1, 1u, kMost - 1, 1u}) pages.touch(processor_of(0), kPage, times);
  pages.touch(processor_of(1), kPage, 2 * Residency::kLead);
  EXPECT_EQ(pages.home(kPage), processor_of(0));
  pages.touch(processor_of(1), kPage, kMost - 1);
  EXPECT_EQ(pages.home(kPage), processor_of(1));
}

// Adds by several threads, atomic ones of all and plain ones of each, while pages move all the time: none is
// lost, whoever wrote where and when.
// proves: A-22d
TEST_F(Movable, NoWriteIsLostWhilePagesMove) {
  constexpr std::uint64_t kPages = 4;
  constexpr unsigned kThreads = 3;
#if defined(__has_feature) && (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
  constexpr std::uint64_t kMoves = 2'000;
#else
  constexpr std::uint64_t kMoves = 10'000;
#endif
  const auto memory = make(kPages);
  std::atomic<bool> stop{false};
  std::array<std::uint64_t, kThreads> rounds{};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (; !stop || rounds[t] < 100; ++rounds[t])
        for (std::uint64_t page = 0; page < kPages; ++page) {
          std::uint64_t& common = *reinterpret_cast<std::uint64_t*>(memory->address() + page * kPage);
          std::atomic_ref<std::uint64_t>(common).fetch_add(1, std::memory_order_relaxed);
          volatile std::uint64_t* const own = words(*memory, page) + 8 * (1 + t);
          const std::uint64_t seen = *own;
          ASSERT_EQ(seen, rounds[t]);  // reads find what this thread has written, too
          *own = seen + 1;
        }
    });
  for (std::uint64_t move = 0; move < kMoves; ++move)
    ASSERT_TRUE(memory->bring(move % kPages, static_cast<Processor>(move / kPages % (kDevices + 1))));
  stop = true;
  std::uint64_t sum = 0;
  for (unsigned t = 0; t < kThreads; ++t) threads[t].join(), sum += rounds[t];
  for (std::uint64_t page = 0; page < kPages; ++page) {
    EXPECT_EQ(words(*memory, page)[0], sum);
    for (unsigned t = 0; t < kThreads; ++t) EXPECT_EQ(words(*memory, page)[8 * (1 + t)], rounds[t]);
  }
}

}  // namespace
}  // namespace raddle::machine
