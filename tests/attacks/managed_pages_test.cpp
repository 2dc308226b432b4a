// Managed memory in modelled spaces: pages that come when they are touched, and whose bytes move to the
// device that touches them.
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "machine/memory/movable_memory.h"
#include "machine/memory/shared_memory.h"
#include "machine/sm/worker.h"
#include "pages_fixture.h"
#include "wait_until.h"

namespace raddle::attacks {
namespace {

/// Managed memory as the driver has it, of two frames. The host can be kept from giving it pages.
class Managed final : public machine::SharedRange {
 public:
  static std::shared_ptr<Managed> make() {
    auto made = std::make_shared<Managed>();
    EXPECT_TRUE(machine::SharedMemory::instance().add(made).ok());
    return made;
  }
  Managed() {
    bytes = 2 * kFrame;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base = reinterpret_cast<std::uint64_t>(memory);
    pages.emplace(base, bytes, 2);
  }
  ~Managed() override { munmap(reinterpret_cast<void*>(base), bytes); }
  machine::Residency* residency() override {
    if (machine::current_worker() == nullptr && is_held) {
      waits = true;
      EXPECT_TRUE(wait_until([this] { return !is_held; }));
    }
    return &*pages;
  }
  std::uint64_t& word(std::uint64_t frame) {
    return *reinterpret_cast<std::uint64_t*>(base + frame * kFrame);
  }

  std::optional<machine::Residency> pages;
  std::atomic<bool> is_held{false}, waits{false};
};

// proves: A-9j
TEST_P(PagesTest, FaultsOfManagedMemoryAreReplayed) {
  for (const bool deterministic : {false, true}) {
    restart({}, {}, 1, deterministic);
    for (unsigned space : {0u, 1u}) enter(space, 0, frames(space, 1));
    const auto managed = Managed::make();
    const std::uint64_t first = managed->base, second = first + kFrame;
    managed->word(0) = 5, managed->word(1) = 6;
    EXPECT_EQ(managed->pages->home(first), machine::kHostProcessor);
    for (int times = 1; times <= 3; ++times) {
      ASSERT_EQ(run_on(0, first, second, 16).kind, exec::FaultKind::none);
      EXPECT_EQ(pages(0).counts().managed_faults, 2u) << "each page once";
      EXPECT_EQ(pages(0).counts().replays, 2u);
      EXPECT_EQ(managed->word(0), 5u + static_cast<unsigned>(times)) << "an access is made once";
    }
    EXPECT_EQ(managed->pages->home(first), machine::processor_of(0));
    ASSERT_EQ(run_on(1, second, 8, 16).kind, exec::FaultKind::none);
    EXPECT_EQ(pages(1).counts().managed_faults, 1u) << "each space has its own";
    EXPECT_EQ(managed->word(1), 10u);
    machine::SharedMemory::instance().remove(managed->base);
    EXPECT_EQ(run_on(0, first, 8, 16).kind, exec::FaultKind::illegal_address) << "it is managed no more";
    EXPECT_EQ(run_on(1, 5 * kFrame, 8, 16).kind, exec::FaultKind::illegal_address) << "that never was";
    EXPECT_EQ(pages(1).counts().managed_faults, 1u);
  }
}

/// The same, whose bytes move.
class Moving final : public machine::SharedRange {
 public:
  static std::shared_ptr<Moving> make() {
    auto made = std::make_shared<Moving>();
    EXPECT_TRUE(machine::SharedMemory::instance().add(made).ok());
    return made;
  }
  Moving() {
    bytes = machine::MovableMemory::kPage;
    memory = std::move(machine::MovableMemory::create(bytes)).value();
    base = memory->address();
    pages.emplace(base, bytes, 2, memory.get());
  }
  machine::Residency* residency() override { return &*pages; }
  std::uint64_t& word(std::uint64_t number) { return reinterpret_cast<std::uint64_t*>(base)[number]; }

  std::unique_ptr<machine::MovableMemory> memory;
  std::optional<machine::Residency> pages;
};

// The first touch brings the bytes into frames of the device, where the kernel's later accesses find and
// leave them, by the same address.
// proves: A-22d
TEST_P(PagesTest, BytesOfManagedMemoryMoveToWhoTouchesThem) {
  enter(0, 0, frames(0, 1));
  const auto managed = Moving::make();
  managed->word(0) = 5;
  managed->word(1000) = 6;
  EXPECT_EQ(managed->memory->place(0), machine::kHostProcessor);
  const std::uint64_t free_before = mmu().memory().free_bytes();
  ASSERT_EQ(run_on(0, managed->base, managed->base + 8000, 16).kind, exec::FaultKind::none);
  const machine::MovableMemory::Frames there = managed->memory->frames(0);
  ASSERT_EQ(there.memory, mmu().shared_memory());
  EXPECT_EQ(managed->memory->place(0), machine::processor_of(0));
  EXPECT_LE(mmu().memory().free_bytes(), free_before - machine::MovableMemory::kPage);
  EXPECT_EQ(word(there.run.start), 6u);  // as the device's memory has it
  EXPECT_EQ(word(there.run.start + 8000), 7u);
  managed->word(0) = 50;
  EXPECT_EQ(word(there.run.start), 50u);
  ASSERT_EQ(run_on(0, managed->base, managed->base + 8000, 16).kind, exec::FaultKind::none);
  EXPECT_EQ(word(there.run.start), 51u);
  EXPECT_EQ(word(16), 50u);
  EXPECT_EQ(word(24), 7u);
  machine::SharedMemory::instance().remove(managed->base);
}

// Kernels of two spaces and the program add to words of a page, which moves all the time: by their touches to
// the device, by a thread back to the host.
// proves: A-22d
TEST_P(PagesTest, NoWriteOfAKernelIsLostWhilePagesMove) {
  constexpr std::uint64_t kRuns = 60, kMoves = 10;  // at least
  const auto managed = Moving::make();
  std::array<std::thread, 2> threads;
  std::array<std::uint64_t, 2> runs{};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> moves{0};
  std::uint64_t adds = 0;
  for (unsigned space : {0u, 1u}) enter(space, 0, frames(space, 1));
  for (unsigned space : {0u, 1u})
    threads[space] = std::thread([&, space] {
      const std::uint64_t mine = managed->base + 16 * (space + 1);
      for (; runs[space] < kRuns || moves <= kMoves; ++runs[space])
        ASSERT_EQ(run_on(space, mine, mine + 8, 16).kind, exec::FaultKind::none);
    });
  std::thread adding([&] {
    for (; !stop; ++adds) std::atomic_ref(managed->word(100)).fetch_add(1);
  });
  std::thread moving([&] {
    for (; !stop; ++moves) {
      managed->pages->move(managed->base, 1, machine::kHostProcessor);
      managed->pages->move(managed->base, 1, machine::processor_of(0));
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  adding.join();
  moving.join();
  for (unsigned i = 2; i < 6; ++i) EXPECT_EQ(managed->word(i), runs[i / 2 - 1]) << i;
  EXPECT_EQ(managed->word(100), adds);
  machine::SharedMemory::instance().remove(managed->base);
}

// On the machine's only worker.
// proves: A-9j
TEST_P(PagesTest, OthersRunWhileAFaultIsServiced) {
  restart({}, {}, 1);
  for (unsigned space : {0u, 1u}) enter(space, 0, frames(space, 1));
  const auto managed = Managed::make();
  managed->is_held = true;
  std::atomic<bool> ended{false};
  std::thread faulting([&] {
    EXPECT_EQ(run_on(0, managed->base, 8, 16).kind, exec::FaultKind::none);
    ended = true;
  });
  EXPECT_TRUE(wait_until([&] { return managed->waits.load(); }));
  std::atomic<bool> other_ended{false};
  std::thread other([&] {
    EXPECT_EQ(run_on(1, 0, 8, 16).kind, exec::FaultKind::none);
    other_ended = true;
  });
  EXPECT_TRUE(wait_until([&] { return other_ended.load(); }));
  EXPECT_FALSE(ended);
  managed->is_held = false;
  other.join();
  faulting.join();
  EXPECT_EQ(managed->word(0), 1u);
  machine::SharedMemory::instance().remove(managed->base);
}

TEST_P(PagesTest, AFaultOutlivesItsTaskAndNotItsSpace) {
  restart({}, {}, 1);
  enter(0, 0, frames(0, 1));
  const auto managed = Managed::make();
  managed->is_held = true;
  std::thread faulting([&] { EXPECT_EQ(run_on(0, managed->base, 8, 16).kind, exec::FaultKind::cancelled); });
  EXPECT_TRUE(wait_until([&] { return managed->waits.load(); }));
  spaces_[0]->cancel();
  faulting.join();
  std::atomic<bool> closed{false};
  std::thread closing([&] {
    spaces_[0].reset();
    closed = true;
  });
  give_others_a_chance();
  EXPECT_FALSE(closed);
  managed->is_held = false;
  closing.join();
  machine::SharedMemory::instance().remove(managed->base);
}

}  // namespace
}  // namespace raddle::attacks
