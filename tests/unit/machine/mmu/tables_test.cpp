// Frames, page tables, the walker and the ASID table, against simple models.
#include <rapidcheck.h>

#include <array>
#include <map>

#include "../machine_fixture.h"
#include "machine/mmu/walker.h"

namespace raddle::machine {
namespace {

constexpr std::uint64_t kMegabyte = 1 << 20, kMemory = 256 * kMegabyte;

constexpr std::array kApertures = {Aperture::device, Aperture::host};

std::unique_ptr<PhysicalMemory> physical_memory() {
  auto made = PhysicalMemory::create(kMemory);
  EXPECT_TRUE(made.ok()) << made.error().to_string();
  return std::move(*made);
}

/// A set of frames that are free, one by one.
TEST(FrameRuns, AgreeWithAMapOfFrames) {
  EXPECT_TRUE(
      rc::check("what is taken was free, and is all there is", [](const std::vector<std::uint16_t>& draws) {
        constexpr std::uint64_t kFrame = FrameRuns::kFrame, kFrames = 64;
        FrameRuns runs;
        runs.add({0, kFrames * kFrame});
        std::vector<bool> is_free(kFrames, true);
        std::vector<FrameRun> taken;
        const auto mark = [&](FrameRun run, bool free) {
          for (std::uint64_t i = run.start / kFrame; i < run.end() / kFrame; ++i) {
            RC_ASSERT(is_free[i] != free);
            is_free[i] = free;
          }
        };
        for (const std::uint16_t draw : draws) {
          const std::uint64_t bytes = (1 + draw / 8 % 7) * kFrame;
          if (draw % 4 == 0 && !taken.empty()) {
            const auto which = taken.begin() + draw / 8 % static_cast<int>(taken.size());
            mark(*which, true);
            runs.add(*which);
            taken.erase(which);
          } else {
            const auto run = draw % 4 == 1   ? runs.take(bytes, kFrame << draw / 64 % 3)
                             : draw % 4 == 2 ? runs.take_last(bytes)
                                             : runs.take_longest(bytes);
            if (!run) continue;
            if (draw % 4 == 1) RC_ASSERT(run->start % (kFrame << draw / 64 % 3) == 0u);
            mark(*run, false);
            taken.push_back(*run);
          }
          RC_ASSERT(runs.bytes() ==
                    static_cast<std::uint64_t>(std::count(is_free.begin(), is_free.end(), true)) * kFrame);
        }
        for (const FrameRun run : taken) runs.add(run);
        RC_ASSERT(runs.runs().size() == 1u);
      }));
}

TEST(PhysicalMemory, FramesComeBackEmpty) {
  const auto memory = physical_memory();
  const auto run = memory->take(3 * FrameRuns::kFrame, FrameRuns::kFrame);
  ASSERT_TRUE(run);
  EXPECT_EQ(*run, (FrameRun{0, 3 * FrameRuns::kFrame}));
  EXPECT_FALSE(memory->take_at({FrameRuns::kFrame, FrameRuns::kFrame}));
  memory->word(4096).store(7);
  memory->give_back(*run);
  EXPECT_EQ(memory->free_bytes(), kMemory);
  EXPECT_TRUE(memory->take_at({FrameRuns::kFrame, FrameRuns::kFrame}));
  EXPECT_EQ(memory->word(4096).load(), 0u);
}

// proves: A-6c, A-6d, A-6e, A-6f, A-6g
TEST(PageTable, AgreesWithAMapOfPages) {
  const auto memory = physical_memory();
  EXPECT_TRUE(rc::check("the walker finds what was entered", [&](bool is_host,
                                                                 const std::vector<std::uint32_t>& draws) {
    const std::uint64_t free_before = memory->free_bytes();
    TableMemory tables(*memory, is_host ? Aperture::host : Aperture::device);
    auto table = PageTable::create(tables);
    RC_ASSERT(table.ok());
    AsidTable asids(1);
    const Asid asid = 1;
    asids.bind(asid, (*table)->directory());
    Walker walker(tables, {.entries = 2});
    std::map<std::uint64_t, Page> model;  // by address
    const auto page_at = [&](std::uint64_t address) -> std::optional<Page> {
      const auto after = model.upper_bound(address);
      if (after == model.begin()) return std::nullopt;
      const auto& [start, page] = *std::prev(after);
      return address - start < bytes_of(page.size) ? std::optional(page) : std::nullopt;
    };
    for (const std::uint32_t draw : draws) {
      // Few addresses, some of them in the topmost table, so that pages meet.
      const PageSize size = kPageSizes[draw % 3];
      const std::uint64_t region = draw / 4 % 2 == 0 ? 0 : PageTable::kAddresses - 8 * kMegabyte;
      const std::uint64_t address = region + (draw / 8 % 512 * 16384 & -bytes_of(size));
      const Page page{.physical = draw / 4096 % 64 * bytes_of(PageSize::huge),
                      .size = size,
                      .permissions = {(draw & 1 << 20) != 0, (draw & 1 << 21) != 0, (draw & 1 << 22) != 0},
                      .aperture = (draw & 1 << 23) != 0 ? Aperture::host : Aperture::device};
      if (draw % 7 == 0) {
        const auto known = model.find(address);
        const auto removed = (*table)->remove(address);
        RC_ASSERT(removed.has_value() == (known != model.end()));
        if (removed) RC_ASSERT(*removed == known->second);
        if (removed) model.erase(known);
        asids.invalidate(asid);
      } else {
        bool is_free = (*table)->largest_at(address, page.physical, bytes_of(size)) >= size;
        for (std::uint64_t at = 0; at < bytes_of(size); at += 4096) is_free &= !page_at(address + at);
        RC_ASSERT((*table)->enter(address, page).ok() == is_free);
        if (is_free) model.emplace(address, page);
      }
      for (const std::uint64_t at : {address, address + bytes_of(size) - 1, address + bytes_of(size)})
        if (at < PageTable::kAddresses) RC_ASSERT(walker.walk(asid, *asids.find(asid), at) == page_at(at));
    }
    RC_ASSERT((tables.host_tables() != 0) == is_host);
    RC_ASSERT((memory->free_bytes() == free_before) == is_host);
    RC_ASSERT(walker.counts().host_reads == (is_host ? walker.counts().reads : 0));
    (*table).reset();
    RC_ASSERT(memory->free_bytes() == free_before);
    RC_ASSERT(tables.host_tables() == 0u);
  }));
}

TEST(PageTable, WantsAddressesOfWholePages) {
  const auto memory = physical_memory();
  TableMemory tables(*memory, Aperture::device);
  const auto table = PageTable::create(tables);
  ASSERT_TRUE(table.ok());
  for (const PageSize size : kPageSizes) {
    EXPECT_FALSE((*table)->enter(2048, {.size = size}).ok());
    EXPECT_FALSE((*table)->enter(0, {.physical = 2048, .size = size}).ok());
    EXPECT_FALSE((*table)->enter(PageTable::kAddresses, {.size = size}).ok());
  }
}

/// The table of the last level for the first addresses.
TableBase last_table(const TableMemory& tables, const PageTable& table) {
  TableBase base = table.directory();
  for (unsigned level = 0; level < PageTable::kLastLevel; ++level)
    base = PageEntry(tables.word(base, 0).load()).table();
  return base;
}

// The tables lie in memory, the device's or the host's: who writes there changes what addresses lead to.
// proves: A-6b, A-6c
TEST(PageTable, IsWhatItsMemorySays) {
  const auto memory = physical_memory();
  for (const Aperture aperture : kApertures) {
    const bool is_host = aperture == Aperture::host;
    TableMemory tables(*memory, aperture);
    const auto table = PageTable::create(tables);
    ASSERT_TRUE(table.ok() && (*table)->enter(0, {.physical = 4096}).ok());
    AsidTable asids(1);
    asids.bind(1, (*table)->directory());
    EXPECT_EQ(asids.find(1)->directory, (*table)->directory());
    Walker walker(tables, {.entries = 4});
    EXPECT_EQ(walker.walk(1, *asids.find(1), 0)->physical, 4096u);
    EXPECT_EQ(walker.counts().reads, 4u);  // a word of each level
    EXPECT_EQ(walker.counts().host_reads, is_host ? 4u : 0u);
    const TableBase last = last_table(tables, **table);
    EXPECT_EQ(last.aperture, aperture);
    std::uint64_t* const word = is_host ? reinterpret_cast<std::uint64_t*>(last.physical)
                                        : reinterpret_cast<std::uint64_t*>(memory->host(last.physical));
    *word = PageEntry::of_page({.physical = 8192}).bits();
    EXPECT_EQ(walker.walk(1, *asids.find(1), 0)->physical, 8192u);
    EXPECT_EQ(walker.counts().reads, 5u);
    EXPECT_EQ(walker.counts().host_reads, is_host ? 5u : 0u);
    EXPECT_EQ(tables.host_tables(), is_host ? PageTable::kLevels : 0u);
    EXPECT_EQ(kMemory - memory->free_bytes(), is_host ? 0u : PageTable::kLevels * FrameRuns::kFrame);
  }
}

// What leads to a table says where it lies, so tables of both memories are in one walk.
// proves: A-6c
TEST(PageTable, LeadsFromOneMemoryToTheOther) {
  const auto memory = physical_memory();
  for (const Aperture aperture : kApertures) {
    const bool is_host = aperture == Aperture::host;
    TableMemory tables(*memory, aperture), others(*memory, is_host ? Aperture::device : Aperture::host);
    const auto table = PageTable::create(tables);
    ASSERT_TRUE(table.ok() && (*table)->enter(0, {.physical = 4096}).ok());
    const TableBase other = *others.take();
    ASSERT_NE(other.aperture, aperture);
    others.word(other, 8).store(PageEntry::of_page({.physical = 3 * 4096}).bits());
    const std::uint64_t second = std::uint64_t{1} << PageTable::shift_at(PageTable::kHugeLevel);
    TableBase parent = (*table)->directory();
    for (unsigned level = 0; level < PageTable::kHugeLevel; ++level)
      parent = PageEntry(tables.word(parent, 0).load()).table();
    tables.word(parent, 8).store(PageEntry::of_table(other).bits());
    AsidTable asids(1);
    asids.bind(1, (*table)->directory());
    Walker walker(tables, {.entries = 4});
    for (const std::uint64_t reads : {4u, 5u}) {  // from the directory on, and from the walker's cache
      const auto page = walker.walk(1, *asids.find(1), second + 4096);
      ASSERT_TRUE(page);
      EXPECT_EQ(page->physical, 3 * 4096u);
      EXPECT_EQ(walker.counts().reads, reads);
      EXPECT_EQ(walker.counts().host_reads, is_host ? 3u : reads - 3);
    }
    others.give_back(other);
  }
}

// proves: A-7i
TEST(Walker, KeepsWhereTheLastLevelLies) {
  const auto memory = physical_memory();
  TableMemory tables(*memory, Aperture::device);
  const auto table = PageTable::create(tables);
  for (std::uint64_t page = 0; page < 8; ++page)
    ASSERT_TRUE((*table)->enter(page * 4096, {.physical = page * 4096}).ok());
  AsidTable asids(2);
  asids.bind(1, (*table)->directory());
  asids.bind(2, (*table)->directory());
  Walker walker(tables, {.entries = 4});
  for (std::uint64_t page = 0; page < 8; ++page) walker.walk(1, *asids.find(1), page * 4096);
  EXPECT_EQ(walker.counts().walks, 8u);
  EXPECT_EQ(walker.counts().cached, 7u);
  EXPECT_EQ(walker.counts().reads, 4u + 7u);
  walker.walk(2, *asids.find(2), 0);  // another space's walk begins at its own directory
  EXPECT_EQ(walker.counts().cached, 7u);
  asids.invalidate(1);
  walker.walk(1, *asids.find(1), 0);
  EXPECT_EQ(walker.counts().cached, 7u);
}

// proves: A-5e, A-5f, A-5g
TEST(AsidTable, BindsDirectoriesAndMakesStaleWhatWasBefore) {
  AsidTable asids(3);
  EXPECT_FALSE(asids.find(2));
  asids.bind(2, {0});
  EXPECT_EQ(asids.find(2)->directory, TableBase{0});
  std::uint64_t generation = asids.find(2)->generation;
  asids.bind(2, {4096, Aperture::host});
  EXPECT_EQ(asids.find(2)->directory, (TableBase{4096, Aperture::host}));
  EXPECT_GT(asids.find(2)->generation, generation);
  generation = asids.find(2)->generation;
  asids.unbind(2);
  EXPECT_FALSE(asids.find(2));
  asids.bind(2, {4096});
  EXPECT_GT(asids.find(2)->generation, generation);
}

}  // namespace
}  // namespace raddle::machine
