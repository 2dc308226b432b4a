// The unit as a whole: TLBs of SMs and GPCs, the walker behind them, caches.
#include "machine/mmu/mmu.h"

#include "../machine_fixture.h"

namespace raddle::machine {
namespace {

using exec::AccessKind;

constexpr std::uint64_t kFrame = 4096;

/// Two spaces, 1 and 2, on a machine of two SMs to the GPC.
struct BoundSpaces {
  explicit BoundSpaces(const MmuSpec& spec = {}) {
    auto made = Mmu::create(spec, *preset_shape("h200", 2), 64 << 20);
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    mmu = std::move(*made);
    Asid asid = 0;
    for (auto& table : tables) {
      auto created = PageTable::create(mmu->tables());
      EXPECT_TRUE(created.ok()) << created.error().to_string();
      table = std::move(*created);
      mmu->asids().bind(++asid, table->directory());
    }
  }
  ~BoundSpaces() {
    for (auto& table : tables) table.reset();
  }
  void enter(Asid asid, std::uint64_t address, const Page& page) {
    EXPECT_TRUE(tables[asid - 1]->enter(address, page).ok());
  }
  /// Where it leads; the problem as a negative number.
  std::int64_t access(std::uint32_t sm, Asid asid, std::uint64_t address,
                      AccessKind kind = AccessKind::load) {
    const Translated place = mmu->translate(sm, asid, address, kind);
    return place.problem == MmuProblem::none ? place.host - mmu->memory().host(0)
                                             : -static_cast<std::int64_t>(place.problem);
  }
  std::unique_ptr<Mmu> mmu;
  std::array<std::unique_ptr<PageTable>, 2> tables;
};

constexpr auto problem(MmuProblem problem) { return -static_cast<std::int64_t>(problem); }

// Each TLB that has not seen a page misses once, asks the next one, and keeps the answer.
// proves: A-7d, A-7e, A-7f, A-7g, A-7h, A-7i
TEST(Mmu, EachLevelMissesOnceAndKeepsThePage) {
  BoundSpaces spaces;
  const MachineShape shape = *preset_shape("h200", 2);
  std::uint32_t far = 0;  // the first SM of another GPC
  while (shape.domain_of(Level::gpc, far) == shape.domain_of(Level::gpc, 0)) ++far;
  spaces.enter(1, 0, {.physical = 5 * kFrame});
  spaces.enter(2, 0, {.physical = 6 * kFrame});
  for (const std::uint32_t sm : {0u, 1u, far})
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(spaces.access(sm, 1, 8), 5 * static_cast<std::int64_t>(kFrame) + 8);
      EXPECT_EQ(spaces.mmu->sm_tlb(sm, 1), (Hits{static_cast<std::uint64_t>(i), 1}));
    }
  const std::uint32_t gpc = shape.domain_of(Level::gpc, 0), far_gpc = shape.domain_of(Level::gpc, far);
  EXPECT_EQ(spaces.mmu->gpc_tlb(gpc, 1), (Hits{1, 1}));
  EXPECT_EQ(spaces.mmu->gpc_tlb(far_gpc, 1), (Hits{0, 1}));
  EXPECT_EQ(spaces.mmu->walks().walks, 2u);
  EXPECT_EQ(spaces.access(0, 2, 8), 6 * static_cast<std::int64_t>(kFrame) + 8);
  EXPECT_EQ(spaces.access(0, 1, 16), 5 * static_cast<std::int64_t>(kFrame) + 16);  // both are live
  EXPECT_EQ(spaces.mmu->sm_tlb(0, 2), (Hits{0, 1}));
  EXPECT_EQ(spaces.mmu->counts(1).sm_tlbs, (Hits{7, 3}));
}

// proves: A-6c
TEST(Mmu, PageTablesLieWhereTheSpecSays) {
  for (const Aperture aperture : {Aperture::device, Aperture::host}) {
    BoundSpaces spaces({.tables = aperture});
    const std::uint64_t in_host = aperture == Aperture::host ? 1 : 0;
    for (const Asid asid : {1u, 2u}) {
      spaces.enter(asid, 0, {.physical = 4 * asid * kFrame});
      spaces.enter(asid, kFrame, {.physical = 8 * asid * kFrame});
      EXPECT_EQ(spaces.access(0, asid, 8), static_cast<std::int64_t>(4 * asid * kFrame + 8));
      EXPECT_EQ(spaces.access(0, asid, kFrame), static_cast<std::int64_t>(8 * asid * kFrame));
      EXPECT_EQ(spaces.mmu->sm_tlb(0, asid), (Hits{0, 2}));
    }
    const WalkCounts walks = spaces.mmu->walks();
    EXPECT_EQ(walks.walks, 4u);
    EXPECT_EQ(walks.cached, 2u);
    EXPECT_EQ(walks.reads, 2u * (4 + 1));
    EXPECT_EQ(walks.host_reads, in_host * walks.reads);
    EXPECT_EQ(spaces.mmu->tables().host_tables(), in_host * 2 * PageTable::kLevels);
    EXPECT_EQ(spaces.mmu->memory().bytes() - spaces.mmu->memory().free_bytes(),
              (1 - in_host) * 2 * PageTable::kLevels * kFrame);
  }
}

// proves: A-6f, A-9a, A-9b, A-9c
TEST(Mmu, SaysWhyAnAccessLeadsNowhere) {
  BoundSpaces spaces;
  const Permissions none{.read = false, .write = false, .atomic = false};
  Permissions read = none, write = none, atomic = none;
  read.read = write.write = atomic.atomic = true;
  spaces.enter(1, 0 * kFrame, {.permissions = read});
  spaces.enter(1, 1 * kFrame, {.permissions = write});
  spaces.enter(1, 2 * kFrame, {.permissions = atomic});
  constexpr auto kNot = problem(MmuProblem::not_allowed);
  for (int i = 0; i < 2; ++i) {  // from the page table, and from the TLB
    EXPECT_EQ(spaces.access(0, 1, 0, AccessKind::load), 0);
    EXPECT_EQ(spaces.access(0, 1, 0, AccessKind::store), kNot);
    EXPECT_EQ(spaces.access(0, 1, 0, AccessKind::atomic), kNot);
    EXPECT_EQ(spaces.access(0, 1, kFrame, AccessKind::load), kNot);
    EXPECT_EQ(spaces.access(0, 1, kFrame, AccessKind::store), 0);
    EXPECT_EQ(spaces.access(0, 1, kFrame, AccessKind::reduction), kNot);
    EXPECT_EQ(spaces.access(0, 1, 2 * kFrame, AccessKind::store), kNot);
    EXPECT_EQ(spaces.access(0, 1, 2 * kFrame, AccessKind::atomic), 0);
    EXPECT_EQ(spaces.access(0, 1, 3 * kFrame), problem(MmuProblem::not_mapped));
    EXPECT_EQ(spaces.access(0, 2, 0), problem(MmuProblem::not_mapped));
  }
  spaces.mmu->asids().unbind(1);
  EXPECT_EQ(spaces.access(0, 1, 0), problem(MmuProblem::not_bound));
  spaces.mmu->asids().bind(1, spaces.tables[1]->directory());
  EXPECT_EQ(spaces.access(0, 1, 0), problem(MmuProblem::not_mapped));
}

// proves: A-6e, A-6g
TEST(Mmu, PagesOfAllSizesAndBothApertures) {
  BoundSpaces spaces;
  std::uint64_t of_host = 0;
  const auto address = reinterpret_cast<std::uint64_t>(&of_host);
  spaces.enter(1, 0, {.physical = 2ull << 20, .size = PageSize::huge});
  spaces.enter(1, 4ull << 20, {.physical = 65536, .size = PageSize::big});
  spaces.enter(1, 8ull << 20, {.physical = address / kFrame * kFrame, .aperture = Aperture::host});
  EXPECT_EQ(spaces.access(0, 1, (2 << 20) - 8), (4 << 20) - 8);
  EXPECT_EQ(spaces.access(0, 1, (4 << 20) + 65528), 2 * 65536 - 8);
  const Translated place = spaces.mmu->translate(0, 1, (8ull << 20) + address % kFrame, AccessKind::store);
  EXPECT_EQ(reinterpret_cast<std::uint64_t*>(place.host), &of_host);
  EXPECT_EQ(place.left, kFrame - address % kFrame);
}

// Equal addresses of two spaces are two lines by virtual tags; a frame of both is one by physical tags.
// proves: A-8b, A-8c, A-8d
TEST(Mmu, CachesTellLinesByTheirTags) {
  BoundSpaces spaces({.virtual_cache = {.entries = 8}, .physical_cache = {.entries = 8}});
  spaces.enter(1, 0, {.physical = kFrame});
  spaces.enter(2, 0, {.physical = 2 * kFrame});
  spaces.enter(1, kFrame, {.physical = 3 * kFrame});
  spaces.enter(2, 2 * kFrame, {.physical = 3 * kFrame});
  for (const Asid asid : {1u, 2u}) {
    spaces.access(0, asid, 0);
    spaces.access(0, asid, 127);
    EXPECT_EQ(spaces.mmu->counts(asid).virtual_caches, (Hits{1, 1}));
    EXPECT_EQ(spaces.mmu->counts(asid).physical_cache, (Hits{0, 1}));
    spaces.access(0, asid, asid * kFrame);
  }
  EXPECT_EQ(spaces.mmu->counts(1).physical_cache, (Hits{0, 2}));
  EXPECT_EQ(spaces.mmu->counts(2).physical_cache, (Hits{1, 1}));
  spaces.access(1, 1, 0);  // another SM: not in its own cache, but in the one that all share
  EXPECT_EQ(spaces.mmu->counts(1).virtual_caches, (Hits{1, 3}));
  EXPECT_EQ(spaces.mmu->counts(1).physical_cache, (Hits{1, 2}));
}

}  // namespace
}  // namespace raddle::machine
