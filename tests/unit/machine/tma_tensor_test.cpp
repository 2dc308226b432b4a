// Blocks of tensors: thousands of random maps, each copied by the unit and element by element from the
// definition of tile and im2col mode, in every order of responses; and which maps are refused. Long, as one
// file holds what is right and what is refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "sanitized.h"
#include "tma_blocks.h"
#include "tma_fixture.h"

namespace raddle::machine {
namespace {

using exec::BulkDirection;
using exec::BulkKind;
using exec::BulkMode;
using exec::BulkReduction;
using exec::FaultKind;
using exec::TensorMap;
using testing::HasSubstr;

class Shuffled final : public TmaChooser {
 public:
  explicit Shuffled(std::mt19937_64& random) : random_(random) {}
  std::size_t choose(std::size_t count) override { return random_() % count; }

 private:
  std::mt19937_64& random_;
};

class TmaTensor : public TmaTest {
 protected:
  TmaTensor() : memory_(kTensorBytes + 256), map_bytes_(256) {}

  std::byte* tensor() { return aligned(memory_); }
  exec::BulkRequest request(const TensorBlock& b, BulkDirection direction) {
    std::byte* bytes = aligned(map_bytes_);
    encode(b.map, bytes);
    exec::BulkRequest r{
        .kind = BulkKind{.direction = direction,
                         .mode = b.map.mode == TensorMap::Mode::tile ? BulkMode::tile : BulkMode::im2col,
                         .rank = static_cast<std::uint8_t>(b.map.rank)}
                    .word(),
        .global = address(bytes),
        .shared = at(kBlock),
        .barrier = at(kBarrier)};
    std::copy_n(b.at, exec::kMaxTensorRank, r.coordinates);
    std::copy_n(b.offset, 3, r.offsets);
    return r;
  }
  void run(const exec::BulkRequest& r, std::mt19937_64& random) {
    const bool deferred = random() % 2 != 0;
    unit_.set_mode(deferred ? TmaMode::deferred : TmaMode::eager);
    const TmaProblem problem = unit_.submit(thread(), r);
    ASSERT_FALSE(problem) << problem.note;
    Shuffled shuffled(random);
    while (unit_.outstanding() != 0) ASSERT_FALSE(unit_.advance(shuffled));
    ASSERT_FALSE(unit_.drain());
  }
  void fill_tensor(std::mt19937_64& random) {
    for (std::size_t i = 0; i < kTensorBytes; i += 8) {
      const std::uint64_t word = random();
      std::memcpy(tensor() + i, &word, 8);
    }
  }

  std::vector<std::byte> memory_, map_bytes_;
};

// proves: T-2a, T-2b, T-2c, T-2d, T-3a, T-3b, T-4a, T-4b, T-4c, T-4d, T-5a, T-5b, T-5d, T-5e, T-6a, T-6b, T-6c, T-7a, T-7b, T-7c, T-7d, T-7e, T-7f, T-7g, T-7h, T-7i, T-9a, T-9b, T-9c, T-9g, T-9h, T-9i, T-9j, T-10a, T-10b, T-10c, T-10d, T-10h, T-15c, T-22a, T-22b
TEST_F(TmaTensor, RandomMapsLoadWhatTheDefinitionSays) {
  std::mt19937_64 random(20261123);
  fill_tensor(random);
  Maker maker(random);
  TensorBlock b;
  for (int round = 0; round < 7500 / (kSanitized ? 4 : 1); ++round) {
    if (round % 3 == 2 && b.map.mode == TensorMap::Mode::tile)
      maker.move_box(b);  // with what the unit has kept of the box before
    else
      b = maker.block(address(tensor()));
    const std::uint32_t begin = kBlock + 128 * static_cast<std::uint32_t>(random() % 9);
    std::vector<std::byte> expected(kShared - kBlock, std::byte{0x5a});
    std::memset(shared(kBlock), 0x5a, kShared - kBlock);
    const std::uint32_t bytes = element_bytes(b.map.element);
    const auto places = places_of(b, begin);
    for (const Place& place : places) {
      std::byte* const to = expected.data() + place.shared - kBlock;
      if (!place.inside) {
        for (std::uint32_t i = 0; i < bytes; ++i)
          to[i] = std::byte(b.map.fill == TensorMap::Fill::zero ? 0 : i % 2 == 0 ? 0xf7 : 0x7f);
        continue;
      }
      std::memcpy(to, tensor() + place.global, bytes);
      if (!exec::converts(b.map.element)) continue;
      std::uint32_t word;
      std::memcpy(&word, to, 4);
      word = exec::converted(word, b.map.element);
      std::memcpy(to, &word, 4);
    }
    const auto filled = static_cast<std::uint32_t>(places.size()) * bytes;
    expect_bytes(filled);
    auto r = request(b, BulkDirection::to_shared);
    r.shared = at(begin);
    const std::uint64_t outside = unit_.counters().outside;
    run(r, random);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), shared(kBlock))) << round << ": " << told(b);
    ASSERT_TRUE(is_over()) << round << ": " << told(b);
    ASSERT_EQ(unit_.counters().outside - outside,
              static_cast<std::uint64_t>(std::ranges::count(places, false, &Place::inside)));
  }
}

// proves: T-5f, T-11c, T-22b
TEST_F(TmaTensor, RandomMapsStoreWhatTheDefinitionSays) {
  std::mt19937_64 random(1971);
  Maker maker(random);
  for (int round = 0; round < 2000 / (kSanitized ? 4 : 1); ++round) {
    TensorBlock b = maker.block(address(tensor()));
    if (!maker.make_storable(b)) continue;
    std::memset(tensor(), 0x33, kTensorBytes);
    auto expected = std::vector<std::byte>(tensor(), tensor() + kTensorBytes);
    const std::uint32_t bytes = element_bytes(b.map.element);
    for (std::uint32_t i = 0; i < kShared - kBlock; i += 8) {
      const std::uint64_t word = random();
      std::memcpy(shared(kBlock + i), &word, 8);
    }
    for (std::uint16_t& offset : b.offset) offset = 0;
    std::map<std::int64_t, int> times;
    for (const Place& place : places_of(b, kBlock)) {
      if (!place.inside) continue;
      ++times[place.global];
      std::memcpy(expected.data() + place.global, shared(place.shared), bytes);
    }
    // Where several elements go to one place any of them may win.
    if (std::ranges::any_of(times, [](const auto& each) { return each.second > 1; })) continue;
    run(request(b, BulkDirection::to_global), random);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), tensor())) << round << ": " << told(b);
  }
}

// proves: T-5g, T-13a, T-13e
TEST_F(TmaTensor, RandomMapsAddWhatTheDefinitionSays) {
  std::mt19937_64 random(77);
  Maker maker(random);
  for (int round = 0; round < 1000; ++round) {
    TensorBlock b = maker.block(address(tensor()));
    if (element_bytes(b.map.element) != 4 || !maker.make_storable(b)) continue;
    b.map.element = TensorMap::Element::u32;
    b.map.fill = TensorMap::Fill::zero;
    fill_tensor(random);
    auto expected = std::vector<std::byte>(tensor(), tensor() + kTensorBytes);
    for (std::uint32_t i = 0; i < kShared - kBlock; i += 4) {
      const auto word = static_cast<std::uint32_t>(random());
      std::memcpy(shared(kBlock + i), &word, 4);
    }
    for (std::uint16_t& offset : b.offset) offset = 0;
    for (const Place& place : places_of(b, kBlock)) {
      if (!place.inside) continue;
      std::uint32_t old, value;
      std::memcpy(&old, expected.data() + place.global, 4);
      std::memcpy(&value, shared(place.shared), 4);
      old += value;
      std::memcpy(expected.data() + place.global, &old, 4);
    }
    auto r = request(b, BulkDirection::to_global);
    set_kind(r, [](BulkKind& kind) { kind.reduction = BulkReduction::add; });
    run(r, random);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), tensor())) << round << ": " << told(b);
  }
}

TensorBlock plain() {
  TensorBlock b;
  b.map.element = TensorMap::Element::f16;
  b.map.rank = 2;
  b.map.size = {64, 32};
  b.map.stride = {2, 128};
  b.map.box = {64, 32};
  b.map.step = {1, 1};
  return b;
}

/// Its rows are apart, so that another load of them needs no job.
TensorBlock apart() {
  TensorBlock b = plain();
  b.map.size[0] = 128, b.map.stride[1] = 256;
  return b;
}

// proves: T-13a, T-13b, T-13c, T-13d
TEST_F(TmaTensor, ReductionsHaveTheirTypes) {
  using Op = BulkReduction;
  using E = TensorMap::Element;
  const auto allowed = [](Op op, E element) {
    const bool is_integer = element == E::u32 || element == E::s32 || element == E::u64 || element == E::s64;
    const bool is_half = element == E::f16 || element == E::bf16;
    switch (op) {
      case Op::add:
        return element != E::u8 && element != E::u16 && element != E::s64;
      case Op::min:
      case Op::max:
        return is_integer || is_half;
      case Op::inc:
      case Op::dec:
        return element == E::u32;
      default:
        return is_integer && element != E::s64;  // by an H200
    }
  };
  for (int element = 0; element <= 12; ++element)
    for (int op = 1; op <= 8; ++op) {
      TensorBlock b = plain();
      b.map.address = address(tensor());
      b.map.element = static_cast<E>(element);
      b.map.box[0] = 16;
      b.map.stride[0] = element_bytes(b.map.element);
      auto r = request(b, BulkDirection::to_global);
      set_kind(r, [&](BulkKind& kind) { kind.reduction = static_cast<Op>(op); });
      const TmaProblem problem = unit_.submit(thread(), r);
      EXPECT_EQ(!problem, allowed(static_cast<Op>(op), b.map.element)) << op << " of type " << element;
      if (problem) EXPECT_THAT(problem.note, HasSubstr("no such reduction"));
    }
}

// proves: T-1e, T-1i, T-1j, T-10f, T-10g
TEST_F(TmaTensor, RefusesWrongRequests) {
  TensorBlock b = apart();
  b.map.address = address(tensor());
  exec::init_mbarrier(barrier(), 1);
  const auto refused = [&](const TensorBlock& block, auto change, FaultKind fault, const char* note) {
    auto r = request(block, BulkDirection::to_shared);
    change(r);
    const std::uint64_t lines = unit_.counters().lines;
    const TmaProblem problem = unit_.submit(thread(), r);
    EXPECT_EQ(problem.fault, fault) << note;
    EXPECT_THAT(problem.note, HasSubstr(note));
    EXPECT_EQ(unit_.counters().lines, lines);
  };
  const auto nothing = [](auto&) {};
  constexpr auto kInstruction = FaultKind::illegal_instruction;
  EXPECT_FALSE(unit_.submit(thread(), request(b, BulkDirection::to_shared)));  // its plan is kept
  refused(b, [](auto& r) { r.shared += 64; }, FaultKind::misaligned_address, "of shared memory");
  refused(b, [](auto& r) { r.global += 32; }, FaultKind::misaligned_address, "of a tensor map");
  refused(b, [](auto& r) { r.global = ~std::uint64_t{63}; }, FaultKind::illegal_address, "");
  refused(
      b, [&](auto& r) { r.shared = at(kShared - 4096 + 128); }, FaultKind::illegal_address,
      "no shared memory");
  refused(b, [](auto& r) { r.shared = 128; }, FaultKind::illegal_address, "no shared memory");
  refused(b, [](auto& r) { r.barrier += 4; }, FaultKind::misaligned_address, "of an mbarrier");
  refused(b, [&](auto& r) { r.barrier = at(kShared); }, FaultKind::illegal_address, "no shared memory");
  refused(
      b, [](auto& r) { set_kind(r, [](BulkKind& k) { k.rank = 3; }); }, kInstruction,
      "wants a tensor of rank 3; the map's has rank 2");
  refused(
      b, [](auto& r) { set_kind(r, [](BulkKind& k) { k.mode = BulkMode::im2col; }); }, kInstruction,
      "wants a tensor map for im2col mode; this one is for tile mode");
  refused(
      b, [](auto& r) { std::memset(reinterpret_cast<void*>(r.global), 0xcd, 128); }, kInstruction,
      "none was ever encoded");
  TensorBlock wide = b;
  wide.map.swizzle = TensorMap::Swizzle::bytes64;
  refused(wide, nothing, kInstruction, "takes 128 bytes; the swizzle allows 64");
  TensorBlock columns = b;
  columns.map.mode = TensorMap::Mode::im2col;
  columns.map.rank = 4;
  columns.map.size = {8, 8, 8, 8}, columns.map.stride = {2, 16, 128, 1024}, columns.map.step = {1, 1, 1, 1};
  columns.map.channels = 8, columns.map.pixels = 8;
  refused(
      columns, [](auto& r) { r.offsets[1] = 256; }, kInstruction,
      "im2col offset 1 is 256; it must be at most 255");
}

// What an H200 takes for an illegal instruction. A plan that is kept makes no difference.
TEST_F(TmaTensor, RefusesWrongStarts) {
  exec::init_mbarrier(barrier(), 1);
  const auto note_of = [&](TensorBlock b, BulkDirection direction, std::vector<std::int32_t> start) {
    b.map.address = address(tensor());
    EXPECT_FALSE(unit_.submit(thread(), request(b, direction)));  // from zeros
    std::ranges::copy(start, b.at);
    const TmaProblem problem = unit_.submit(thread(), request(b, direction));
    if (problem) EXPECT_EQ(problem.fault, FaultKind::illegal_instruction);
    return problem ? std::string(problem.note) : "taken";
  };
  constexpr auto kLoad = BulkDirection::to_shared, kStore = BulkDirection::to_global;
  for (TensorBlock b : {plain(), apart()})
    for (auto direction : {kLoad, kStore, BulkDirection::to_cache}) {
      b.map.box = {16, 16};
      EXPECT_EQ(note_of(b, direction, {8, 1}), "taken");
      EXPECT_EQ(note_of(b, direction, {9, 1}),
                "coordinate 0 is 9: 18 bytes; a copy begins at multiples of 16");
    }
  EXPECT_EQ(note_of(plain(), kLoad, {-8, -1}), "taken");
  EXPECT_THAT(note_of(plain(), kLoad, {-4, 0}), HasSubstr("coordinate 0 is -4: -8 bytes"));
  EXPECT_EQ(note_of(plain(), kStore, {64, 32}), "taken");
  EXPECT_EQ(note_of(plain(), kStore, {-8, 0}),
            "coordinate 0 is -8; the coordinates of a store must not be negative");
  EXPECT_THAT(note_of(plain(), kStore, {0, -1}), HasSubstr("coordinate 1 is -1; the coordinates of a store"));

  TensorBlock columns = plain();
  columns.map.mode = TensorMap::Mode::im2col;
  columns.map.rank = 4;
  columns.map.size = {16, 8, 8, 8}, columns.map.stride = {2, 32, 256, 2048}, columns.map.step = {1, 1, 1, 1};
  columns.map.channels = 8, columns.map.pixels = 8;
  columns.map.lower = {-1, 0, 0}, columns.map.upper = {0, -2, 0};
  EXPECT_EQ(note_of(columns, kLoad, {0, -1, 5, -3}), "taken");
  EXPECT_EQ(note_of(columns, kLoad, {0, -2, 0, 0}),
            "coordinate 1 is -2; the first filter base must be one of -1 to 7");
  EXPECT_THAT(note_of(columns, kStore, {0, 8, 0, 0}), HasSubstr("coordinate 1 is 8; the first filter base"));
  EXPECT_THAT(note_of(columns, kLoad, {0, 0, 6, 0}), HasSubstr("coordinate 2 is 6; the first filter base"));
  EXPECT_THAT(note_of(columns, kStore, {0, -1, 0, 0}), HasSubstr("must not be negative"));

  TensorBlock slices = columns;  // W, H, slices of channels, N
  slices.map.interleave = TensorMap::Interleave::bytes16;
  EXPECT_EQ(note_of(slices, kLoad, {-1, 5, 9, -3}), "taken");
  EXPECT_THAT(note_of(slices, kLoad, {-2, 0, 0, 0}), HasSubstr("coordinate 0 is -2; the first filter base"));
  EXPECT_THAT(note_of(slices, kLoad, {0, 6, 0, 0}), HasSubstr("must be one of 0 to 5"));
}

// proves: T-13b
TEST_F(TmaTensor, FlushedTypesLoseTheirSubnormalsInSums) {
  const auto sum_of = [&](TensorMap::Element element, std::uint32_t old, std::uint32_t added) {
    TensorBlock b = plain();
    b.map.address = address(tensor());
    b.map.element = element;
    b.map.stride[0] = 4, b.map.box = {16, 1};
    std::memcpy(tensor(), &old, 4);
    std::memcpy(shared(kBlock), &added, 4);
    auto r = request(b, BulkDirection::to_global);
    set_kind(r, [](BulkKind& kind) { kind.reduction = BulkReduction::add; });
    EXPECT_FALSE(unit_.submit(thread(), r));
    EXPECT_FALSE(unit_.drain());
    std::uint32_t sum;
    std::memcpy(&sum, tensor(), 4);
    return sum;
  };
  using E = TensorMap::Element;
  for (E flushes : {E::f32_ftz, E::tf32_ftz}) {
    EXPECT_EQ(sum_of(flushes, 0x00800000, 0x007fefff), 0x00800000u);
    EXPECT_EQ(sum_of(flushes, 0x80000000, 0x00001000), 0u);
    EXPECT_EQ(sum_of(flushes, 0x00c00000, 0x80800000), 0u) << "the sum is subnormal";
  }
  for (E keeps : {E::f32, E::tf32}) EXPECT_EQ(sum_of(keeps, 0x00800000, 0x007fefff), 0x00ffefffu);
}

// proves: T-1c, T-1d, T-18b, T-21d, T-21e
TEST_F(TmaTensor, CachesDescriptors) {
  TensorBlock b = plain();
  b.map.address = address(tensor());
  exec::init_mbarrier(barrier(), 1);
  auto r = request(b, BulkDirection::to_shared);
  EXPECT_FALSE(unit_.submit(thread(), r));
  EXPECT_FALSE(unit_.submit(thread(), r));
  EXPECT_EQ(unit_.counters().descriptor_misses, 1u);
  EXPECT_EQ(unit_.counters().descriptor_hits, 1u);
  // Bytes that changed are a new map, also without a fence.
  b.map.box[1] = 1;
  r = request(b, BulkDirection::to_shared);
  const std::uint64_t bytes = unit_.counters().bytes;
  EXPECT_FALSE(unit_.submit(thread(), r));
  EXPECT_EQ(unit_.counters().bytes - bytes, 128u);
  EXPECT_EQ(unit_.counters().descriptor_misses, 2u);
  // Requests without a map leave it alone.
  EXPECT_FALSE(unit_.submit(thread(), load(tensor(), 64)));
  EXPECT_EQ(unit_.counters().descriptor_hits + unit_.counters().descriptor_misses, 3u);
  // The descriptor of the second is there before the first is generated.
  unit_.set_mode(TmaMode::deferred);
  EXPECT_FALSE(unit_.submit(thread(), r));
  std::vector<std::byte> other(256);
  std::memcpy(aligned(other), reinterpret_cast<const void*>(r.global), 128);
  r.global = address(aligned(other));
  EXPECT_FALSE(unit_.submit(thread(), r));
  EXPECT_EQ(unit_.counters().descriptor_prefetches, 1u);
  EXPECT_FALSE(unit_.drain());
}

// Rows without gaps on both sides are one, also where the last of them lie outside.
// What was planned for one CTA serves another one, its own memory or a neighbour's.
// proves: T-1d
TEST_F(TmaTensor, AKeptPlanIsPlacedAnew) {
  TensorBlock b = apart();
  b.map.address = address(tensor());
  std::mt19937_64 random(1);
  fill_tensor(random);
  set_cluster(2);
  for (std::uint32_t rank : {0u, 1u}) exec::init_mbarrier(barrier(rank), 1);
  const std::uint32_t bytes = b.map.box[0] * b.map.box[1] * element_bytes(b.map.element);
  const struct {
    std::uint32_t asks, block, barrier;
  } turns[] = {{0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {0, 1, 1}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}};
  std::uint32_t asked = 0, counted[2] = {};
  for (const auto& turn : turns) {
    for (std::uint32_t rank : {0u, 1u}) std::memset(shared(kBlock, rank), 0, bytes);
    auto r = request(b, BulkDirection::to_shared);
    r.shared = at(kBlock, turn.block), r.barrier = at(kBarrier, turn.barrier);
    EXPECT_FALSE(unit_.submit(thread(turn.asks), r));
    EXPECT_EQ(unit_.counters().requests, ++asked);
    counted[turn.barrier] += bytes;
    for (std::uint32_t rank : {0u, 1u})
      EXPECT_EQ(exec::Mbarrier::unpack(barrier(rank)).transactions,
                -static_cast<std::int32_t>(counted[rank]));
    EXPECT_EQ(std::memcmp(shared(kBlock, turn.block), tensor(), 128), 0);
    EXPECT_EQ(*shared(kBlock, 1 - turn.block), std::byte{0});
  }
}

// proves: T-19b
TEST_F(TmaTensor, DenseRowsAreOne) {
  TensorBlock b = plain();
  b.map.rank = 3;
  b.map.address = address(tensor());
  b.map.size = {64, 16, 8}, b.map.stride = {2, 128, 2048}, b.map.box = {64, 16, 4}, b.map.step = {1, 1, 1};
  DescriptorCache descriptors;
  TmaCounters counters;
  TmaSetUp set_up(descriptors, counters);
  TmaJob job;
  const auto runs = [&](const TensorBlock& block) {
    const TmaProblem problem = set_up.run(thread(), request(block, BulkDirection::to_shared), {});
    EXPECT_FALSE(problem) << problem.note;
    job = set_up.job();
    TmaGenerator generator;
    generator.begin(job);
    std::vector<TmaRows> all;
    for (TmaRows rows; generator.next(rows);) all.push_back(rows);
    return all;
  };
  auto all = runs(b);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 1u);
  EXPECT_EQ(job.row_bytes, 8192u);
  b.at[2] = 6;
  all = runs(b);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(job.end, 4096u);
  b.map.box[1] = 8;  // planes are apart in memory, their rows are not
  all = runs(b);
  EXPECT_EQ(job.row_bytes, 1024u);
  EXPECT_EQ(all.size(), 2u);  // inside and outside
  b.map.box[0] = 32;
  runs(b);
  EXPECT_EQ(job.row_bytes, 64u);
}

// proves: T-18f, T-23a, T-23b, T-23c
TEST_F(TmaTensor, CountsLines) {
  TensorBlock b = plain();
  b.map.address = address(tensor());
  b.at[1] = 30;  // two rows of 32 lie inside
  auto r = request(b, BulkDirection::to_cache);
  r.shared = at(8), r.barrier = 1;  // nobody looks
  EXPECT_FALSE(unit_.submit(thread(), r));
  EXPECT_EQ(unit_.counters(), (TmaCounters{.requests = 1,
                                           .lines = 2,
                                           .sectors = 8,
                                           .bytes = 256,
                                           .descriptor_misses = 1,
                                           .outside = 30 * 64}));
  EXPECT_EQ(unit_.outstanding(), 0u);
}

// A kept plan counts as a job does, wherever in a line its rows begin.
TEST_F(TmaTensor, CountsLinesOfKeptPlans) {
  TensorBlock b = plain();
  b.map.address = address(tensor());
  b.map.size = {512, 64}, b.map.stride = {2, 1040}, b.map.box = {64, 7}, b.map.step = {1, 1};
  unit_.submit(thread(), request(b, BulkDirection::to_shared));
  for (const int turn : {0, 1})
    for (std::int32_t x = 0; x < 128; x += 8) {
      b.at[0] = x, b.at[1] = x % 5;
      exec::init_mbarrier(barrier(), 1);
      TmaCounters before = unit_.counters();
      EXPECT_FALSE(unit_.submit(thread(), request(b, BulkDirection::to_shared)));
      TmaUnit fresh;
      EXPECT_FALSE(fresh.submit(thread(), request(b, BulkDirection::to_shared)));
      before += fresh.counters();
      ++before.descriptor_hits, --before.descriptor_misses;
      EXPECT_EQ(unit_.counters(), before) << x << ", turn " << turn;
    }
}

// proves: T-10i, T-18h, T-18i
TEST_F(TmaTensor, TheWorkedSwizzle) {
  TensorBlock b;
  b.map.element = TensorMap::Element::u16;
  b.map.rank = 4;
  b.map.address = address(tensor());
  b.map.size = {64, 10, 10, 1};
  b.map.stride = {2, 128, 1280, 12800};
  b.map.box = {64, 10, 10, 1};
  b.map.step = {1, 1, 1, 1};
  b.map.swizzle = TensorMap::Swizzle::bytes128;
  for (std::uint32_t cell = 0; cell < 800; ++cell) std::memcpy(tensor() + cell * 16, &cell, 4);
  expect_bytes(12800);
  ASSERT_FALSE(unit_.submit(thread(), request(b, BulkDirection::to_shared)));
  EXPECT_TRUE(is_over());
  for (std::uint32_t pixel = 0; pixel < 100; ++pixel)
    for (std::uint32_t k = 0; k < 8; ++k) {
      std::uint32_t cell;
      std::memcpy(&cell, shared(kBlock + pixel * 128 + (k ^ pixel % 8) * 16), 4);
      ASSERT_EQ(cell, pixel * 8 + k);
    }
  EXPECT_EQ(unit_.counters().bank_conflicts, 0u) << "sectors change groups, their halves places; none meet";
}

// An 8 x 8 tile of it, 64 channels deep, is 64 rows of 8 cells; a column of 8 cells of one k and consecutive
// pixels lies in eight groups of banks.
// proves: T-10j
TEST_F(TmaTensor, TheWorkedSwizzleReadsWithoutBankConflicts) {
  for (std::uint32_t pixel = 0; pixel < 93; ++pixel)
    for (std::uint32_t k = 0; k < 8; ++k) {
      std::uint32_t groups = 0;
      for (std::uint32_t w = 0; w < 8; ++w)
        groups |= 1u << swizzled((pixel + w) * 128 + k * 16, TensorMap::Swizzle::bytes128) / 16 % 8;
      ASSERT_EQ(groups, 0xffu) << pixel << ' ' << k;
    }
}

}  // namespace
}  // namespace raddle::machine
