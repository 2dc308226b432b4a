// Device memory and the device heap.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "exec/window.h"
#include "machine/memory/block_memory.h"
#include "machine/memory/device_copy.h"
#include "machine/memory/device_space.h"
#include "machine/memory/guarded_access.h"
#include "machine/memory/launch_pages.h"
#include "machine/memory/mapping.h"
#include "machine/memory/shared_memory.h"
#include "machine/sm/signals.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

/// Whether nothing may be accessed in [first, first + bytes): reserved pages, by what the system says.
bool is_guard(const std::byte* first, std::uint64_t bytes) {
  std::uint64_t at = reinterpret_cast<std::uint64_t>(first);
  const std::uint64_t end = at + bytes;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (at < end && std::getline(maps, line)) {
    std::size_t used = 0;
    const std::uint64_t from = std::stoull(line, &used, 16),
                        to = std::stoull(line.substr(used + 1), nullptr, 16);
    const bool closed = line.substr(line.find(' ') + 1, 3) == "---";
    if (from <= at && at < to && closed) at = to;
  }
  return at >= end;
}

std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

// Nothing that the program or its libraries have lies within terabytes.
TEST(DeviceSpace, IsFarFromTheHostsMemory) {
  DeviceSpace& space = DeviceSpace::instance();
  if (!space.is_reserved()) GTEST_SKIP() << "the system refuses the reservation";
  constexpr std::uint64_t kFar = 1ull << 40, kMapped = 1 << 20;
  static int variable = 0;
  int local = 0;
  const auto allocated = std::make_unique<std::byte[]>(100), large = std::make_unique<std::byte[]>(kMapped);
  void* const mapped = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const void* host : {static_cast<const void*>(&variable), static_cast<const void*>(&local),
                           static_cast<const void*>(allocated.get()), static_cast<const void*>(large.get()),
                           static_cast<const void*>(mapped), reinterpret_cast<const void*>(&std::malloc)})
    for (const std::uint64_t address : {address_of(host) - kFar, address_of(host), address_of(host) + kFar})
      EXPECT_FALSE(space.covers(address)) << host;
  munmap(mapped, kMapped);
}

// proves: K-12a, K-12b
TEST(DeviceSpace, NothingLiesWithinAGuardOfWhatIsTaken) {
  DeviceSpace own_mappings;  // the process's has the addresses already
  ASSERT_TRUE(!DeviceSpace::instance().is_reserved() || !own_mappings.is_reserved());
  for (DeviceSpace* space : {&DeviceSpace::instance(), &own_mappings}) {
    std::vector<std::pair<std::byte*, std::uint64_t>> taken;
    for (const std::uint64_t bytes : {1ull, 4096ull, 10000ull, 5ull << 20})
      for (const std::uint64_t alignment : {4096ull, 2ull << 20, 1ull << 32}) {
        std::byte* const start = space->take(bytes, alignment);
        ASSERT_NE(start, nullptr);
        EXPECT_EQ(address_of(start) % alignment, 0u);
        ASSERT_EQ(mprotect(start, bytes, PROT_READ | PROT_WRITE), 0);
        taken.emplace_back(start, (bytes + 4095) / 4096 * 4096);
      }
    for (const auto& [start, bytes] : taken) {
      EXPECT_TRUE(is_guard(start - space->guard(), space->guard()));
      EXPECT_FALSE(is_guard(start, 1));
      EXPECT_TRUE(is_guard(start + bytes, space->guard()));
    }
    for (const auto& [start, bytes] : taken) {
      space->give_back(start, bytes);
      if (space->is_reserved()) EXPECT_TRUE(is_guard(start, bytes));
    }
  }
}

// The first-level caches of some processors can tell arrays of any usual size apart.
TEST(DeviceSpace, ArraysInARowDifferInTheirLower28Bits) {
  DeviceSpace& space = DeviceSpace::instance();
  if (!space.is_reserved()) GTEST_SKIP() << "the system refuses the reservation";
  constexpr std::uint64_t kHugePage = 2 << 20;
  for (unsigned shift = 12; shift <= 33; ++shift) {
    const std::uint64_t bytes = 1ull << shift;
    std::vector<std::byte*> taken;
    std::set<std::uint64_t> lower;
    for (int k = 0; k < 16; ++k) {
      taken.push_back(space.take(bytes, bytes >= kHugePage ? kHugePage : 4096));
      lower.insert(address_of(taken.back()) % (1 << 28));
    }
    EXPECT_EQ(lower.size(), taken.size()) << bytes;
    for (std::byte* start : taken) space.give_back(start, bytes);
  }
}

// Compiled code judges registers, not what is added to them: what is so near to a window's end is nobody's.
TEST(DeviceSpace, NothingLiesNearTheEndsOfAWindow) {
  DeviceSpace window(DeviceSpace::kLeastWindow), next(DeviceSpace::kLeastWindow);
  const exec::AddressRange range = window.range();
  std::size_t taken = 0;
  for (std::uint64_t bytes : {300ull << 20, 64ull << 20, 4096ull})
    while (std::byte* const start = window.take(bytes)) {
      ASSERT_TRUE(range.holds(address_of(start), bytes));
      ASSERT_GE(address_of(start) - range.start, exec::kWindowSlack);
      ASSERT_GE(range.start + range.bytes - address_of(start) - bytes, exec::kWindowSlack);
      ++taken;
    }
  EXPECT_GE(taken, 4u);
  EXPECT_TRUE(is_guard(reinterpret_cast<std::byte*>(range.start) - exec::kWindowSlack, exec::kWindowSlack));
  EXPECT_TRUE(is_guard(reinterpret_cast<std::byte*>(range.start + range.bytes), exec::kWindowSlack));
  EXPECT_FALSE(next.range().holds(range.start, 1));
}

TEST(DeviceSpace, AddressesAreUsedAgain) {
  DeviceSpace& space = DeviceSpace::instance();
  if (!space.is_reserved()) GTEST_SKIP() << "the system refuses the reservation";
  constexpr std::uint64_t kBytes = 3 << 20;
  std::byte *const first = space.take(kBytes), *const second = space.take(kBytes),
                   *const third = space.take(kBytes);
  EXPECT_EQ(address_of(second) - address_of(first), kBytes + space.guard());
  space.give_back(first, kBytes);
  space.give_back(second, kBytes);
  std::byte* const both = space.take(2 * kBytes + space.guard());  // they have become one
  EXPECT_EQ(both, first);
  space.give_back(both, 2 * kBytes + space.guard());
  EXPECT_EQ(space.take(kBytes), first);
  EXPECT_EQ(space.take(kBytes), second);
  space.give_back(second, kBytes);  // in the other order
  space.give_back(first, kBytes);
  EXPECT_EQ(space.take(2 * kBytes + space.guard()), first);
  std::byte* const elsewhere = space.take(kBytes, 4096, address_of(third) + (1ull << 40));
  EXPECT_EQ(address_of(elsewhere), address_of(third) + (1ull << 40));
  std::byte* const not_there = space.take(kBytes, 4096, address_of(third) + 4096);  // inside a taken range
  EXPECT_NE(address_of(not_there), address_of(third) + 4096);
  for (std::byte* each : {third, elsewhere, not_there}) space.give_back(each, kBytes);
  space.give_back(both, 2 * kBytes + space.guard());
  EXPECT_EQ(space.take(0), nullptr);
  EXPECT_EQ(space.take(~0ull), nullptr);
  EXPECT_EQ(space.take(4096, 1ull << 63), nullptr);
}

TEST(LaunchPages, KernelsReadWhatTheLauncherWrites) {
  LaunchPages pages;
  std::vector<LaunchPiece> pieces;
  for (const std::uint64_t bytes : {0, 1, 512, 513, 32764, 100000}) {
    const LaunchPiece piece = pages.parameters(bytes);
    ASSERT_NE(piece.host, nullptr);
    EXPECT_GE(piece.bytes, std::max<std::uint64_t>(bytes, 1));
    EXPECT_EQ(address_of(piece.kernel) % 128, 0u);
    EXPECT_TRUE(pages.are_parameters(address_of(piece.kernel)));
    EXPECT_FALSE(pages.are_parameters(address_of(piece.host)));
    std::memset(piece.host, static_cast<int>(pieces.size()), piece.bytes);
    pieces.push_back(piece);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i)
    EXPECT_EQ(std::count(pieces[i].kernel, pieces[i].kernel + pieces[i].bytes, static_cast<std::byte>(i)),
              static_cast<std::ptrdiff_t>(pieces[i].bytes));
  const LaunchPiece buffer = pages.buffer(64);
  EXPECT_EQ(buffer.host, buffer.kernel);
  EXPECT_FALSE(pages.are_parameters(address_of(buffer.kernel)));
}

TEST(LaunchPages, HoldManyLaunches) {
  LaunchPages pages;
  std::set<std::byte*> places;
  for (int i = 0; i < 2000; ++i) places.insert(pages.parameters(600).kernel);  // more than a slab
  EXPECT_EQ(places.size(), 2000u);
  EXPECT_FALSE(places.contains(nullptr));
}

/// A range that all share, of memory that the test has.
std::shared_ptr<SharedRange> range_of(std::uint64_t base, std::uint64_t bytes, const char* name = "") {
  auto range = std::make_shared<SharedRange>();
  range->base = base;
  range->bytes = bytes;
  range->name = name;
  return range;
}

TEST(SharedMemory, EveryAddressSpaceKnowsIt) {
  DeviceMemory memory(1 << 20);
  SharedMemory& shared = SharedMemory::instance();
  alignas(256) static std::byte pieces[4096];
  const auto at = reinterpret_cast<std::uint64_t>(pieces);
  ASSERT_TRUE(shared.add(range_of(at, 1024, "a piece")).ok());
  EXPECT_FALSE(shared.add(range_of(at + 512, 4)).ok());  // in it
  EXPECT_FALSE(shared.add(range_of(at - 4, 8)).ok());    // into it
  EXPECT_FALSE(shared.add(range_of(at + 2048, 0)).ok());
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_FALSE(memory.free({at}).ok());
  EXPECT_FALSE(memory.host({at + 1000}, 100).ok());
  ASSERT_TRUE(shared.add(range_of(at + 1024, 1024, "the next")).ok());
  ASSERT_TRUE(memory.host({at + 1000}, 100).ok());  // across both
  EXPECT_EQ(memory.host({at + 1000}, 100).value(), pieces + 1000);
  EXPECT_FALSE(memory.host({at + 1000}, 1049).ok());
  EXPECT_EQ(memory.describe(at + 2050),
            fmt::format("2 bytes past the end of the next ({:#x}, 1024 bytes)", at + 1024));
  EXPECT_EQ(shared.overlapping(at + 1023, 2).size(), 2u);
  EXPECT_EQ(shared.overlapping(at + 1024, 2).size(), 1u);
  EXPECT_TRUE(shared.overlapping(at + 2048, 4).empty());
  shared.remove(at);
  EXPECT_FALSE(memory.find(at).has_value());
  EXPECT_TRUE(DeviceMemory(1).find(at + 1024)->shared);  // one that is made later, too
  EXPECT_NE(shared.remove(at + 1024), nullptr);
  EXPECT_EQ(shared.remove(at + 1024), nullptr);
}

TEST(SharedMemory, AnAllocationHidesARangeInItsPlace) {
  DeviceMemory memory(1 << 20);
  const DevicePtr own = memory.allocate(128 << 10).value();
  ASSERT_TRUE(SharedMemory::instance().add(range_of(own.value, 64, "stale")).ok());
  EXPECT_FALSE(memory.find(own.value)->shared);
  EXPECT_TRUE(memory.host(own, 128 << 10).ok());
  SharedMemory::instance().remove(own.value);
}

TEST(FileMappings, FilesMayHaveSeveralAddresses) {
  MemoryFile file = MemoryFile::create("raddle test", 4 * kPage).value();
  EXPECT_EQ(file.bytes(), 4 * kPage);
  EXPECT_TRUE(MemoryFile::of_sealed(file.descriptor()).ok());
  EXPECT_FALSE(MemoryFile::of_sealed(0).ok());
  EXPECT_FALSE(machine::Mapping::of_file(file.descriptor(), kPage, 4 * kPage).ok());  // it ends before that
  machine::Mapping whole = machine::Mapping::of_file(file.descriptor(), 0, 4 * kPage).value();
  const machine::Mapping place = machine::Mapping::reserve(2 * kPage).value();
  EXPECT_TRUE(is_mapped(place.start(), kPage));
  ASSERT_TRUE(place.fill(place.address() + kPage, kPage, file.descriptor(), 3 * kPage).ok());
  ASSERT_TRUE(place.allow(place.address() + kPage, kPage, Protection::read).ok());
  whole.start()[3 * kPage + 5] = std::byte{7};
  EXPECT_EQ(place.start()[kPage + 5], std::byte{7});
  place.empty(place.address() + kPage, kPage);
  ASSERT_TRUE(place.allow(place.address() + kPage, kPage, Protection::write).ok());
  EXPECT_EQ(place.start()[kPage + 5], std::byte{0});  // not the file's page any more
}

TEST(DeviceCopy, BoxesKeepTheirPitches) {
  std::byte from[64], to[64]{};
  for (int i = 0; i < 64; ++i) from[i] = std::byte(i);
  const BoxSide source{from + 5, 8, 32, true}, target{to, 4, 16, false};
  copy_box(target, source, 3, 2, 2);
  const int wanted[] = {5, 6, 7, 0, 13, 14, 15, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(int(to[i]), wanted[i]) << i;
  EXPECT_EQ(int(to[16]), 37);
  EXPECT_EQ(int(to[20]), 45);
  EXPECT_EQ(int(to[23]), 0);
  std::memset(to, 0, sizeof to);
  copy_box({to, 8, 32, true}, {from, 8, 32, true}, 8, 4, 2);  // one piece
  EXPECT_EQ(std::memcmp(to, from, 64), 0);
}

/// Of a program, which may unmap it at any time.
TEST(GuardedAccess, NamesMemoryThatIsMissing) {
  machine::install_fault_handlers();
  const machine::Mapping mapping = machine::Mapping::pages(2 * kPage).value();
  std::byte* const start = mapping.start();
  mapping.empty(mapping.address() + kPage, kPage);
  const auto touch = [&](std::uint64_t offset, bool is_write) {
    return machine::GuardedAccess::attempt([&] {
      if (is_write)
        *const_cast<volatile std::byte*>(start + offset) = std::byte{1};
      else
        (void)*const_cast<const volatile std::byte*>(start + offset);
    });
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(touch(kPage - 1, true));
    for (const bool is_write : {false, true}) {
      const auto missing = touch(kPage + 5, is_write);
      ASSERT_TRUE(missing);
      EXPECT_EQ(missing->address, mapping.address() + kPage + 5);
      EXPECT_EQ(missing->is_write, is_write);
    }
  }
  EXPECT_FALSE(touch(0, false));
}

// proves: K-12a, K-12b
TEST(BlockMemory, RegionsOfAllWorkersLieBetweenGuards) {
  constexpr std::uint64_t kLocal = 40000, kShared = 5000, kPage = 4096, kMiB = 1 << 20;
  constexpr auto up = [](std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; };
  BlockMemory blocks[3];  // as of blocks of three workers
  for (BlockMemory& block : blocks) ASSERT_TRUE(block.require(kShared, kLocal));
  for (BlockMemory& block : blocks) {
    EXPECT_TRUE(is_guard(block.local() - 64 * kMiB, 64 * kMiB));
    EXPECT_FALSE(is_guard(block.local(), 1));
    const std::uint64_t between = static_cast<std::uint64_t>(block.shared() - block.local()) - up(kLocal);
    EXPECT_GE(between, exec::kSharedReach);
    EXPECT_EQ(between % (256 * kMiB), 64u << 10);  // as caches see it
    EXPECT_TRUE(is_guard(block.local() + up(kLocal), between));
    EXPECT_FALSE(is_guard(block.shared(), 1));
    EXPECT_TRUE(is_guard(block.shared() + up(kShared), exec::kSharedReach - up(kShared)));
  }
}

// proves: K-12b
TEST(DeviceMemory, ConstantsAndLargeAllocationsLieBetweenGuards) {
  DeviceMemory memory(1 << 30);
  const std::uint64_t guard = DeviceSpace::instance().guard();
  for (std::uint64_t bytes : {DeviceMemory::kGuardedFrom, 3 * DeviceMemory::kGuardedFrom}) {
    auto large = memory.allocate(bytes), constants = memory.allocate_constants(bytes);
    ASSERT_TRUE(large.ok() && constants.ok());
    for (DevicePtr p : {*large, *constants}) {
      auto* at = reinterpret_cast<std::byte*>(p.value);
      EXPECT_TRUE(is_guard(at - guard, guard));
      EXPECT_FALSE(is_guard(at, 1));
      EXPECT_TRUE(is_guard(at + bytes, guard));
    }
    // So does the mapping through which the host writes constants.
    std::byte* const written = *memory.host(*constants, bytes);
    EXPECT_TRUE(is_guard(written - guard, guard) && is_guard(written + bytes, guard));
  }
}

// proves: K-12b
TEST(DeviceHeap, LiesBetweenGuards) {
  constexpr std::uint64_t kBytes = 1 << 20;
  DeviceHeap heap(kBytes);
  auto* const start = reinterpret_cast<std::byte*>(heap.allocate(kBytes - 16)) - 16;
  const std::uint64_t guard = DeviceSpace::instance().guard();
  EXPECT_TRUE(is_guard(start - guard, guard));
  EXPECT_TRUE(is_guard(start + kBytes, guard));
}

TEST(DeviceMemory, AllocatesAlignedAndFreesOnce) {
  DeviceMemory memory(1 << 30);
  std::set<std::uint64_t> addresses;
  for (std::uint64_t bytes : {1, 255, 256, 257, 5000, 65535, 65536, 100000, 5 << 20}) {
    auto address = memory.allocate(bytes);
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(address->value % 256, 0u);
    EXPECT_TRUE(addresses.insert(address->value).second);
    EXPECT_TRUE(memory.host(*address, bytes).ok());
    EXPECT_FALSE(memory.host(*address, bytes + 1).ok());
  }
  for (std::uint64_t address : addresses) EXPECT_TRUE(memory.free({address}).ok());
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_FALSE(memory.free({*addresses.begin()}).ok());
}

TEST(DeviceMemory, RefusesMoreThanItsCapacity) {
  DeviceMemory memory(1 << 20);
  ASSERT_TRUE(memory.allocate(1 << 19).ok());
  auto second = memory.allocate((1 << 19) + 1);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::out_of_memory);
  EXPECT_FALSE(memory.allocate(0).ok());
}

// proves: K-12f
TEST(DeviceMemory, DescribesWhereAnAddressLies) {
  DeviceMemory memory(1 << 30);
  EXPECT_EQ(memory.describe(16), "there is no allocation");
  const std::uint64_t a = memory.allocate(100000)->value;
  EXPECT_EQ(memory.describe(a + 7), fmt::format("7 bytes into the allocation {:#x} of 100000 bytes", a));
  EXPECT_EQ(memory.describe(a + 100001),
            fmt::format("1 bytes past the end of the allocation {:#x} of 100000 bytes (a GPU may not notice: "
                        "RADDLE_BOUNDS=hardware)",
                        a));
  EXPECT_EQ(memory.describe(a - 3), fmt::format("3 bytes before the allocation {:#x} of 100000 bytes", a));
}

/// Allocations begin as a GPU's do, and the rest of their last page is there, too, with zeros at first.
TEST(DeviceMemory, AsHardwareHasIt) {
  DeviceMemory memory(1 << 30, DeviceSpace::instance(), Bounds::hardware);
  for (const std::uint64_t bytes : {1ull, 513ull, 65535ull, 65536ull, 100000ull, (2ull << 20) + 1}) {
    const std::uint64_t address = memory.allocate(bytes)->value;
    EXPECT_EQ(address % 512, 0u) << bytes;
    EXPECT_FALSE(memory.host({address}, bytes + 1).ok()) << "the host's copies are checked";
    if (bytes < DeviceMemory::kGuardedFrom) continue;
    const std::uint64_t end = round_up(address + bytes, 2 << 20);
    for (std::uint64_t at = address + bytes; at < end; at += 4096)
      EXPECT_EQ(*reinterpret_cast<volatile char*>(at), 0) << bytes;
    EXPECT_EQ(memory.describe(end), fmt::format("{} bytes past the end of the allocation {:#x} of {} bytes",
                                                end - address - bytes, address, bytes));
    EXPECT_TRUE(memory.free({address}).ok());
  }
}

// Every size, at every alignment of both sides; neighbouring bytes stay.
TEST(DeviceCopy, CopiesAnySizeAtAnyAlignment) {
  std::vector<std::byte> source(kWordwiseBytes + 64), device(source.size()), back(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (const std::uint64_t bytes :
       std::vector<std::uint64_t>{1, 2, 3, 4, 7, 8, 9, 15, 31, kWordwiseBytes, kWordwiseBytes + 1})
    for (std::size_t at = 0; at < 8; ++at)
      for (std::size_t from = 0; from < 8; ++from) {
        std::fill(device.begin(), device.end(), std::byte{0xee});
        std::fill(back.begin(), back.end(), std::byte{0xdd});
        copy_to_device(&device[at], &source[from], bytes);
        ASSERT_EQ(std::memcmp(&device[at], &source[from], bytes), 0) << bytes << " at " << at;
        ASSERT_EQ(device[at + bytes], std::byte{0xee});
        copy_from_device(&back[from], &device[at], bytes);
        ASSERT_EQ(std::memcmp(&back[from], &source[from], bytes), 0) << bytes << " at " << at;
        ASSERT_EQ(back[from + bytes], std::byte{0xdd});
        copy_on_device(&device[at + 3], &device[at], bytes);  // overlaps
        ASSERT_EQ(std::memcmp(&device[at + 3], &source[from], bytes), 0) << bytes << " at " << at;
        const std::byte behind = device[at + bytes];
        fill_device(&device[at], 5, bytes);
        ASSERT_EQ(std::count(&device[at], &device[at] + bytes, std::byte{5}),
                  static_cast<std::ptrdiff_t>(bytes));
        ASSERT_EQ(device[at + bytes], behind);
      }
}

// Words at the same places on both sides are copied one by one, where none is written before it is read.
TEST(DeviceCopy, OnTheDeviceIsAsMemmove) {
  for (unsigned bytes : {1u, 7u, 8u, 24u, 64u, 77u, 200u})
    for (unsigned at : {0u, 3u, 8u})
      for (int distance : {-72, -8, -5, 0, 5, 8, 16, 72, 208}) {
        alignas(8) std::array<std::byte, 700> device{};
        for (std::size_t k = 0; k < device.size(); ++k) device[k] = std::byte(k * 7 + k / 256);
        std::array<std::byte, 700> expected = device;
        std::byte* const from = &device[200 + at];
        copy_on_device(from + distance, from, bytes);
        std::memmove(&expected[200 + at] + distance, &expected[200 + at], bytes);
        ASSERT_EQ(device, expected) << bytes << " bytes from " << at << " by " << distance;
      }
}

// A 12-byte copy whose first word is a half one: who looks at the aligned 64-bit word in it sees all or
// nothing of it.
TEST(DeviceCopy, AlignedWordsAreNeverHalfWritten) {
  alignas(8) std::byte device[16] = {};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint8_t value = 0; !stop.load(std::memory_order_relaxed);
         value = static_cast<std::uint8_t>(~value)) {
      std::byte source[12];
      std::memset(source, value, sizeof source);
      copy_to_device(device + 4, source, sizeof source);
      fill_device(device + 4, static_cast<std::uint8_t>(~value), sizeof source);
    }
  });
  std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(device + 8));
  int torn = 0;
  for (int i = 0; i < 2000000; ++i) {
    const std::uint64_t seen = word.load(std::memory_order_relaxed);
    torn += seen != 0 && seen != ~0ull;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST(DeviceHeap, GivesOutAlignedChunksUntilItIsFull) {
  DeviceHeap heap(1 << 20);
  EXPECT_EQ(heap.allocate(0), 0u);
  EXPECT_EQ(heap.allocate(2 << 20), 0u);
  std::vector<std::uint64_t> chunks;
  for (std::uint64_t chunk; (chunk = heap.allocate(1000)) != 0;) {
    EXPECT_EQ(chunk % 16, 0u);
    chunks.push_back(chunk);
  }
  EXPECT_EQ(chunks.size(), 1024u);
  EXPECT_TRUE(heap.free(chunks[3]));
  EXPECT_FALSE(heap.free(chunks[3]));  // twice
  EXPECT_FALSE(heap.free(chunks[4] + 16));
  EXPECT_EQ(heap.allocate(1000), chunks[3]);
  EXPECT_TRUE(heap.free(0));
}

// proves: K-20d
TEST(DeviceHeap, WhatIsFreedJoinsItsNeighbours) {
  constexpr std::uint64_t kBytes = 1 << 20;
  DeviceHeap heap(kBytes);
  std::vector<std::uint64_t> chunks;
  for (std::uint64_t chunk; (chunk = heap.allocate(48)) != 0;) chunks.push_back(chunk);
  EXPECT_EQ(chunks.size(), kBytes / 64);
  for (std::size_t i = 0; i < chunks.size(); i += 2) EXPECT_TRUE(heap.free(chunks[i]));
  EXPECT_EQ(heap.allocate(64), 0u);  // half is free, but nowhere two chunks in a row
  for (std::size_t i = 1; i < chunks.size(); i += 2) EXPECT_TRUE(heap.free(chunks[i]));
  const std::uint64_t all = heap.allocate(kBytes - 16);
  EXPECT_EQ(all, chunks[0]);
  EXPECT_TRUE(heap.free(all));
}

// A kernel that writes past the end of its chunk meets the next header.
TEST(DeviceHeap, OverwrittenHeadersAreNoChunks) {
  DeviceHeap heap(1 << 20);
  const std::uint64_t first = heap.allocate(48), second = heap.allocate(48), third = heap.allocate(48);
  auto* header = reinterpret_cast<std::uint64_t*>(second - 16);
  header[0] = 1 << 30;
  EXPECT_FALSE(heap.free(second));
  header[0] = 128;  // reaches over the third
  EXPECT_TRUE(heap.free(second));
  EXPECT_FALSE(heap.free(third));
  EXPECT_TRUE(heap.free(first));
  EXPECT_EQ(heap.allocate(150), first);
}

}  // namespace
}  // namespace raddle::machine
