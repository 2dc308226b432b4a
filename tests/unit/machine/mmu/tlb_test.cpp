// TLBs and caches, against simple models.
#include <rapidcheck.h>

#include <list>

#include "../machine_fixture.h"
#include "machine/mmu/data_cache.h"
#include "machine/mmu/mmu_spec.h"

namespace raddle::machine {
namespace {

/// A set as a list, the next to go in front.
struct ModelStore {
  explicit ModelStore(const TagStoreSpec& spec)
      : spec(spec), sets(spec.ways == 0 ? 1 : spec.entries / spec.ways) {}
  bool access(const Tag& tag) {
    std::list<Tag>& set = sets[tag.number % sets.size()];
    const auto found = std::ranges::find(set, tag);
    const bool is_hit = found != set.end();
    if (is_hit && spec.replacement != Replacement::lru) return true;
    if (is_hit) set.erase(found);
    if (set.size() == spec.entries / sets.size()) set.pop_front();
    set.push_back(tag);
    return is_hit;
  }
  TagStoreSpec spec;
  std::vector<std::list<Tag>> sets;
};

// proves: A-7j
TEST(TagStore, AgreesWithListsOfTags) {
  EXPECT_TRUE(rc::check("hits and misses are the model's", [](const std::vector<std::uint16_t>& draws) {
    for (const unsigned ways : {0u, 1u, 2u, 4u})
      for (const Replacement replacement : {Replacement::lru, Replacement::fifo}) {
        const TagStoreSpec spec{.entries = 8, .ways = ways, .replacement = replacement};
        TagStore store(spec);
        ModelStore model(spec);
        for (const std::uint16_t draw : draws) {
          const Tag tag{draw % 13u, draw / 16 % 2u};
          const bool is_hit = store.find(tag).has_value();
          RC_ASSERT(is_hit == model.access(tag));
          if (!is_hit) store.place(tag);
        }
      }
  }));
}

TEST(TagStore, DropsAnyWhenReplacementIsRandom) {
  TagStore store({.entries = 4, .replacement = Replacement::random});
  std::vector<bool> dropped(4);
  for (std::uint64_t number = 0; number < 100; ++number) {
    const bool was_full = number >= 4;
    const unsigned next = store.next_for({number});
    EXPECT_EQ(store.is_used(next), was_full);
    EXPECT_EQ(store.place({number}), next);
    if (was_full) dropped[next] = true;
    EXPECT_TRUE(store.find({number}));
  }
  EXPECT_EQ(dropped, std::vector<bool>(4, true));
}

// proves: A-7a, A-7b, A-7d, A-7e, A-7f
TEST(Tlb, HitsWhereSpaceAndPageMatch) {
  Tlb tlb({.entries = 8}, 3);
  const Page page{.physical = 8192}, other{.physical = 12288};
  EXPECT_EQ(tlb.find(1, 1, 4096), nullptr);
  tlb.keep(1, 1, 4096, page);
  EXPECT_EQ(*tlb.find(1, 1, 4096 + 4095), page);
  EXPECT_EQ(tlb.find(2, 1, 4096), nullptr);  // another space's
  tlb.keep(2, 1, 4096, other);
  EXPECT_EQ(*tlb.find(2, 1, 4096), other);
  EXPECT_EQ(*tlb.find(1, 1, 4096), page);
  EXPECT_EQ(tlb.find(1, 1, 8192), nullptr);
  EXPECT_EQ(tlb.counts(1), (Hits{2, 2}));
  EXPECT_EQ(tlb.counts(2), (Hits{1, 1}));
}

TEST(Tlb, HoldsPagesOfAllSizes) {
  Tlb tlb({.entries = 3, .ways = 1}, 1);
  const std::uint64_t huge = 4ull << 20, big = 65536, small = 2 * 4096;  // one in each set
  tlb.keep(1, 1, huge, {.physical = 2ull << 20, .size = PageSize::huge});
  tlb.keep(1, 1, big, {.physical = 0, .size = PageSize::big});
  tlb.keep(1, 1, 3 * 4096, {.physical = 4096});
  EXPECT_EQ(tlb.find(1, 1, huge + (2 << 20) - 1)->size, PageSize::huge);
  EXPECT_EQ(tlb.find(1, 1, big + 65535)->size, PageSize::big);
  EXPECT_EQ(tlb.find(1, 1, 3 * 4096)->size, PageSize::small);
  EXPECT_EQ(tlb.find(1, 1, small), nullptr);
  tlb.keep(1, 1, small, {.physical = 8192});  // in the huge one's place
  EXPECT_EQ(tlb.find(1, 1, huge), nullptr);
  EXPECT_NE(tlb.find(1, 1, small), nullptr);
}

// proves: A-5g
TEST(Tlb, WhatWasKeptUnderAnotherBindingIsGone) {
  Tlb tlb({.entries = 2}, 1);
  tlb.keep(1, 1, 0, {.physical = 4096});
  EXPECT_EQ(tlb.find(1, 2, 0), nullptr);
  tlb.keep(1, 2, 0, {.physical = 8192});
  EXPECT_EQ(tlb.find(1, 2, 0)->physical, 8192u);
  EXPECT_EQ(tlb.find(1, 2, 4096), nullptr);
  tlb.keep(1, 2, 4096, {});
  EXPECT_NE(tlb.find(1, 2, 0), nullptr);  // nothing stale took its place
}

TEST(MmuSpec, IsReadFromText) {
  const auto spec = parse_mmu_spec("l1=16:4:fifo,l2=1024,walk=8:2,virtual=256:8:random,physical=4096:16");
  ASSERT_TRUE(spec.ok()) << spec.error().to_string();
  EXPECT_EQ(spec->sm_tlb, (TagStoreSpec{16, 4, Replacement::fifo}));
  EXPECT_EQ(spec->gpc_tlb, (TagStoreSpec{1024, 0, Replacement::lru}));
  EXPECT_EQ(spec->walk_cache, (TagStoreSpec{8, 2, Replacement::lru}));
  EXPECT_EQ(spec->virtual_cache, (TagStoreSpec{256, 8, Replacement::random}));
  EXPECT_EQ(spec->physical_cache, (TagStoreSpec{4096, 16, Replacement::lru}));
  EXPECT_EQ(spec->tables, Aperture::device);
  EXPECT_EQ(parse_mmu_spec("tables=host,l1=8")->tables, Aperture::host);
  EXPECT_EQ(*parse_mmu_spec("tables=device"), MmuSpec{});
  EXPECT_EQ(*parse_mmu_spec(""), MmuSpec{});
  for (const char* wrong : {"l3=4", "l1", "l1=0", "l1=x", "l1=8:3", "l1=8:2:mru", "l1=99999999", "=1",
                            "tables", "tables=8", "tables=Host"})
    EXPECT_FALSE(parse_mmu_spec(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace raddle::machine
