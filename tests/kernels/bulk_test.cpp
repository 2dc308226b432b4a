// Bulk copies on every engine: every reduction of PTX, and what a wrong request says.
#include <gmock/gmock.h>

#include <bit>

#include "kernel_test.h"

namespace {

using Values = std::vector<int>;
using testing::HasSubstr;

std::string kernel_text(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.global .align 128 .b8 elsewhere[4096];
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .b64 %in, %out, %w;
  .reg .b32 %a, %bar, %far, %n, %id;
  .reg .b16 %mask;
  .reg .pred %p;
  .shared .align 128 .b8 tile[4096];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [n];
  mov.u32 %a, tile;
  mov.u32 %bar, barrier;
  mov.u32 %id, %tid.x;
  mov.b64 %w, 0x2000020000200000;
  st.shared.b64 [%bar], %w;
)" + body +
         "  ret;\n}\n";
}

/// Every reduction onto global memory: 256 bytes of elements, each old one with a value of its own.
template <class T>
struct Reduction {
  const char* op;
  const char* type;
  T (*apply)(T old, T value);
};

template <class T>
T integer(std::size_t i, unsigned salt) {
  return static_cast<T>(0x9e37'79b9'7f4a'7c15ull * (i + salt) >> (sizeof(T) == 8 ? 0 : 13));
}

class BulkReductions : public KernelTest {
 protected:
  template <class T>
  std::vector<T> reduce(const std::string& op, const std::string& type, const std::vector<T>& old,
                        const std::vector<T>& values) {
    load_text(kernel_text(
        "  mbarrier.init.shared.b64 [%bar], 1;\n  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;\n"
        "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in], 256, [%bar];\n"
        "AGAIN:\n  mbarrier.try_wait.parity.shared.b64 %p, [%bar], 0;\n  @!%p bra AGAIN;\n"
        "  cp.reduce.async.bulk.global.shared::cta.bulk_group." +
        op + "." + type +
        " [%out], [%a], 256;\n"
        "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n"));
    auto in = buffer(values), out = buffer(old);
    run(*module().kernel("k"), {.grid = {1}, .block = {1}}, in, out, 0);
    return contents(out);
  }
  template <class T>
  void check(std::initializer_list<Reduction<T>> reductions) {
    std::vector<T> old(256 / sizeof(T)), values(old.size());
    for (std::size_t i = 0; i < old.size(); ++i) old[i] = integer<T>(i, 3), values[i] = integer<T>(i, 1000);
    for (const auto& each : reductions) {
      std::vector<T> expected;
      for (std::size_t i = 0; i < old.size(); ++i) expected.push_back(each.apply(old[i], values[i]));
      EXPECT_EQ(reduce<T>(each.op, each.type, old, values), expected) << each.op << '.' << each.type;
    }
  }
};
ON_EVERY_ENGINE(BulkReductions);

// proves: T-14e
TEST_P(BulkReductions, OfIntegers) {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  using S32 = std::int32_t;
  using S64 = std::int64_t;
  check<U32>({{"and", "b32", [](U32 a, U32 b) { return a & b; }},
              {"or", "b32", [](U32 a, U32 b) { return a | b; }},
              {"xor", "b32", [](U32 a, U32 b) { return a ^ b; }},
              {"add", "u32", [](U32 a, U32 b) { return a + b; }},
              {"inc", "u32", [](U32 a, U32 b) { return a >= b ? 0 : a + 1; }},
              {"dec", "u32", [](U32 a, U32 b) { return a == 0 || a > b ? b : a - 1; }},
              {"min", "u32", [](U32 a, U32 b) { return std::min(a, b); }},
              {"max", "u32", [](U32 a, U32 b) { return std::max(a, b); }}});
  check<S32>({{"add", "s32",
               [](S32 a, S32 b) { return static_cast<S32>(static_cast<U32>(a) + static_cast<U32>(b)); }},
              {"min", "s32", [](S32 a, S32 b) { return std::min(a, b); }},
              {"max", "s32", [](S32 a, S32 b) { return std::max(a, b); }}});
  check<U64>({{"and", "b64", [](U64 a, U64 b) { return a & b; }},
              {"or", "b64", [](U64 a, U64 b) { return a | b; }},
              {"xor", "b64", [](U64 a, U64 b) { return a ^ b; }},
              {"add", "u64", [](U64 a, U64 b) { return a + b; }},
              {"min", "u64", [](U64 a, U64 b) { return std::min(a, b); }},
              {"max", "u64", [](U64 a, U64 b) { return std::max(a, b); }}});
  check<S64>({{"min", "s64", [](S64 a, S64 b) { return std::min(a, b); }},
              {"max", "s64", [](S64 a, S64 b) { return std::max(a, b); }}});
}

// Half-precision values that are small integers: sums are exact.
// proves: T-14e
TEST_P(BulkReductions, OfFloats) {
  std::vector<float> old(64), values(64), sums;
  std::vector<double> wide_old(32), wide_values(32), wide_sums;
  for (int i = 0; i < 64; ++i) {
    old[static_cast<std::size_t>(i)] = 1.5f * static_cast<float>(i);
    values[static_cast<std::size_t>(i)] = 0.25f * static_cast<float>(i * i % 17) - 2;
    sums.push_back(old[static_cast<std::size_t>(i)] + values[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < 32; ++i) {
    wide_old[i] = old[i], wide_values[i] = values[i];
    wide_sums.push_back(wide_old[i] + wide_values[i]);
  }
  EXPECT_EQ(reduce("add", "f32", old, values), sums);
  EXPECT_EQ(reduce("add", "f64", wide_old, wide_values), wide_sums);
  const auto bf16 = [](float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); };
  const auto f16 = [&](float x) {  // of small integers
    if (x == 0) return std::uint16_t{0};
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 |
                                      (bits >> 13 & 0x3ff));
  };
  for (const bool brain : {false, true}) {
    const auto half = [&](int x) {
      const auto value = static_cast<float>(x);
      return brain ? bf16(value) : f16(value);
    };
    std::vector<std::uint16_t> a, b, sum, least, most;
    for (int i = 0; i < 128; ++i) {
      const int x = i % 40 - 20, y = i % 7;
      a.push_back(half(x)), b.push_back(half(y)), sum.push_back(half(x + y));
      least.push_back(half(std::min(x, y))), most.push_back(half(std::max(x, y)));
    }
    const char* type = brain ? "bf16" : "f16";
    EXPECT_EQ(reduce("add.noftz", type, a, b), sum);
    EXPECT_EQ(reduce("min", type, a, b), least);
    EXPECT_EQ(reduce("max", type, a, b), most);
  }
}

/// A wrong request in the kernel's last line but one, and what its fault says.
struct Wrong {
  const char* what;
  const char* body;  ///< the request stands in its last line
  const char* text;
};

class WrongBulk : public KernelTest {};
ON_EVERY_ENGINE(WrongBulk);

// proves: T-1i, T-1j, T-14a, T-14b
TEST_P(WrongBulk, IsAFaultThatNamesTheLine) {
  const Wrong cases[] = {
      {"size", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in], %n, [%bar];\n",
       "illegal instruction in kernel k, block (0,0,0), thread (5,0,0)"},
      {"size's text",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in], %n, [%bar];\n",
       ": a bulk copy of 24 bytes, which is no multiple of 16"},
      {"source",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in+8], 16, [%bar];\n",
       "of global memory, for a bulk copy"},
      {"destination",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a+8], [%in], 16, [%bar];\n",
       "misaligned address"},
      {"barrier's place",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in], 16, [%bar+4];\n",
       "of an mbarrier"},
      {"no barrier",
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%in], 16, [%a+128];\n",
       "illegal barrier"},
      {"past the end",
       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%a+4096], [%in], 4096, [%bar];\n",
       "no shared memory of the block"},
      {"no memory to read",
       "mov.u64 %in, 0x500000;\n  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
       "[%a], [%in], 16, [%bar];\n",
       "illegal address 0x500000"},
      {"no memory to write",
       "mov.u64 %in, 0x500000;\n  @%p cp.async.bulk.global.shared::cta.bulk_group [%in], [%a], 16;\n",
       "illegal address 0x500000"},
      {"misaligned reduction",
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+4], [%a], 16;\n",
       "misaligned address"},
      {"garbage map",
       "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [elsewhere, {0, "
       "0}], [%bar];\n",
       "none was ever encoded there"},
      {"no map",
       "mov.u64 %in, 0x500000;\n  @%p cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%in, {0, 0}], "
       "[%a];\n",
       "illegal address 0x500000"},
      {"misaligned map", "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%in+32, {0}], [%a];\n",
       "of a tensor map"},
  };
  for (const Wrong& each : cases) {
    std::string text =
        kernel_text("  setp.eq.u32 %p, %id, 5;\n  " +
                    (*each.body == 'c' ? "@%p " + std::string(each.body) : std::string(each.body)));
    load_text(text);
    const auto line = std::count(text.begin(), text.end(), '\n') - 2;
    {
      auto data = buffer(Values(2048)), out = buffer(Values(2048));
      auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {32}}, data, out, 24);
      ASSERT_FALSE(report.ok()) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr(each.text)) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr("PTX line " + std::to_string(line))) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr("thread (5,0,0)")) << each.what;
    }
    close();
  }
}

// proves: T-1i
TEST_P(WrongBulk, OfAClusterNamesTheMember) {
  const Wrong cases[] = {
      {"mask",
       "mov.b16 %mask, 0x10;\n  "
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%a], [%in], "
       "16, [%bar], %mask;\n",
       "of the shared memory of rank 4 in cluster (0,0,0), which has 4 blocks"},
      {"rank",
       "mapa.shared::cluster.u32 %far, %a, 5;\n  "
       "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%far], [%a], 16, [%bar];\n",
       "of the shared memory of rank 5 in cluster (0,0,0), which has 4 blocks"},
      {"exited",
       "mov.u32 %far, %cluster_ctarank;\n  setp.ne.u32 %p, %far, 0;\n  @%p exit;\n"
       "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"  // for those that have not exited
       "  mapa.shared::cluster.u32 %far, %a, 3;\n  "
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%far], [%in], 16, [%bar];\n",
       "of the shared memory of rank 3 in cluster (0,0,0): the block has exited"},
  };
  for (const Wrong& each : cases) {
    load_text(kernel_text("  " + std::string(each.body)));
    {
      auto data = buffer(Values(2048)), out = buffer(Values(2048));
      auto report =
          try_run(*module().kernel("k"), {.grid = {4}, .block = {1}, .cluster = {4}}, data, out, 24);
      ASSERT_FALSE(report.ok()) << each.what;
      EXPECT_THAT(report.error().message, HasSubstr(each.text)) << each.what;
    }
    close();
  }
}

}  // namespace
