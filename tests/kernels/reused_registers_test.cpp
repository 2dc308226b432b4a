// Kernels that take the same register for one thing after another, as people write PTX: the JIT gives each
// use its own register, and must not take apart what is one value, nor leave what another path still reads.
#include <fmt/format.h>

#include <cstdint>

#include "kernel_test.h"

namespace {

class ReusedRegisters : public KernelTest {};
ON_EVERY_ENGINE(ReusedRegisters);

constexpr const char* kReusing = R"(.version 8.0
.target sm_90
.address_size 64

// Its formal parameter and its result are set twice: x * 3 + 1
.func (.reg .b32 %y) triple(.reg .b32 %x) {
  mov.u32 %y, %x;
  shl.b32 %x, %x, 1;
  add.u32 %x, %x, %y;
  mov.u32 %y, 1;
  add.u32 %y, %y, %x;
  ret;
}

// out[i], a thread of the grid. Registers: %r, %s and %w are everything in turn.
.visible .entry reuse(.param .u64 in, .param .u64 out)
{
.shared .align 4 .b8 shared[512];
.reg .pred %p;
.reg .b32 %r, %s, %t, %i, %sum, %odd;
.reg .b64 %w, %base;
  mov.u32 %r, %tid.x;
  mov.u32 %s, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mad.lo.u32 %r, %s, %t, %r;
  mov.u32 %i, %r;
  ld.param.u64 %base, [in];
  mul.wide.u32 %w, %r, 4;
  add.u64 %w, %base, %w;
  ld.global.u32 %r, [%w];

  // Lanes of even values wait with their %s while those of odd ones have another.
  and.b32 %s, %r, 7;
  and.b32 %t, %r, 1;
  setp.ne.u32 %p, %t, 0;
  mov.u32 %odd, 0;
  @!%p bra EVEN;
  mov.u32 %sum, 0;
COUNT:
  add.u32 %sum, %sum, %s;
  sub.u32 %s, %s, 1;
  setp.gt.s32 %p, %s, 0;
  @%p bra COUNT;
  mov.u32 %s, 100;
  add.u32 %odd, %s, 1;
  mov.u32 %r, %sum;
  bra JOIN;
EVEN:
  mul.lo.u32 %r, %s, 5;
JOIN:
  add.u32 %sum, %r, %odd;

  // A guarded write leaves the others' values, also those of another kind.
  mov.u32 %r, 7;
  setp.lt.u32 %p, %sum, 20;
  @%p mov.u32 %r, %i;
  mad.lo.u32 %sum, %r, 1000, %sum;
  mov.u32 %r, %i;

  // Around a loop goes what was set at its end; its turns depend on the lane.
  and.b32 %t, %i, 3;
  mov.u32 %s, 1;
TURN:
  add.u32 %sum, %sum, %s;
  shl.b32 %s, %s, 2;
  mov.u32 %r, %s;
  sub.u32 %t, %t, 1;
  setp.ge.s32 %p, %t, 0;
  @%p bra TURN;
  add.u32 %sum, %sum, %r;

  // Over a barrier, in shared memory: the neighbour's sum.
  mov.u32 %r, %tid.x;
  shl.b32 %s, %r, 2;
  mov.u32 %r, shared;
  add.u32 %s, %s, %r;
  st.shared.u32 [%s], %sum;
  mov.u32 %r, %tid.x;
  bar.sync 0;
  xor.b32 %s, %r, 33;
  shl.b32 %s, %s, 2;
  mov.u32 %r, shared;
  add.u32 %r, %r, %s;
  ld.shared.u32 %r, [%r];
  call (%r), triple, (%r);
  setp.eq.u32 %p, %odd, 0;
  @%p call (%r), triple, (%r);
  mul.wide.u32 %w, %i, 4;
  ld.param.u64 %base, [out];
  add.u64 %w, %w, %base;
  st.global.u32 [%w], %r;
  ret;
}
)";

constexpr unsigned kReuseThreads = 128, kReuseBlocks = 3;

TEST_P(ReusedRegisters, GiveWhatTheTextSays) {
  std::vector<std::uint32_t> in(kReuseThreads * kReuseBlocks), sums, want;
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = (i * 2654435761u) >> 11;
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    const std::uint32_t low = in[i] & 7;
    std::uint32_t sum = in[i] & 1 ? low * (low + 1) / 2 + 101 : low * 5;
    sum += (sum < 20 ? i : 7) * 1000;
    std::uint32_t power = 1;
    for (std::uint32_t turn = 0; turn <= (i & 3); ++turn, power *= 4) sum += power;
    sums.push_back(sum + power);
  }
  for (std::uint32_t i = 0; i < in.size(); ++i) {
    const std::uint32_t once = sums[i ^ 33] * 3 + 1;
    want.push_back(in[i] & 1 ? once : once * 3 + 1);
  }
  load_text(kReusing);
  auto kernel = module().kernel("reuse");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  auto a = buffer(in), out = buffer(std::vector<std::uint32_t>(in.size()));
  run(*kernel, {.grid = {kReuseBlocks}, .block = {kReuseThreads}}, a, out);
  EXPECT_EQ(contents(out), want);
}

// Lanes below the limit count up, the others down, each through a ring of four slots: of a warp with both,
// one half runs while the other waits with its slot.
constexpr const char* kRingsOfSlots = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry slots(.param .u32 limit, .param .u64 out)
{
.reg .pred %p;
.reg .b32 %t, %limit, %slot, %turn, %sum, %a;
.reg .b64 %w, %out;
  ld.param.u32 %limit, [limit];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %slot, 0;
  mov.u32 %turn, 0;
  mov.u32 %sum, 0;
  setp.ge.u32 %p, %t, %limit;
  @%p bra DOWN;
UP:
  add.u32 %slot, %slot, 1;
  and.b32 %slot, %slot, 3;
  shl.b32 %a, %slot, 4;
  xor.b32 %a, %a, 5;
  mad.lo.u32 %sum, %sum, 3, %a;
  add.u32 %turn, %turn, 1;
  setp.lt.u32 %p, %turn, 7;
  @%p bra UP;
  bra END;
DOWN:
  sub.u32 %slot, %slot, 1;
  and.b32 %slot, %slot, 3;
  mul.lo.u32 %a, %slot, %slot;
  or.b32 %a, %a, 32;
  shr.u32 %a, %a, 1;
  mad.lo.u32 %sum, %sum, 5, %a;
  add.u32 %turn, %turn, 1;
  setp.lt.u32 %p, %turn, 9;
  @%p bra DOWN;
END:
  mad.lo.u32 %sum, %sum, 4, %slot;
  mul.wide.u32 %w, %t, 4;
  add.u64 %w, %w, %out;
  st.global.u32 [%w], %sum;
  ret;
}
)";

TEST_P(ReusedRegisters, HoldWhatAreEqualInLanesOfOneSide) {
  std::uint32_t up = 0, down = 0, slot = 0;
  for (int turn = 0; turn < 7; ++turn) slot = (slot + 1) & 3, up = up * 3 + ((slot << 4) ^ 5);
  up = up * 4 + slot;
  slot = 0;
  for (int turn = 0; turn < 9; ++turn) slot = (slot - 1) & 3, down = down * 5 + ((slot * slot | 32) >> 1);
  down = down * 4 + slot;
  load_text(kRingsOfSlots);
  auto kernel = module().kernel("slots");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  for (const std::uint32_t limit : {0u, 1u, 32u, 40u, 63u, 96u}) {
    auto out = buffer(std::vector<std::uint32_t>(96));
    run(*kernel, {.grid = {1}, .block = {96}}, limit, out);
    std::vector<std::uint32_t> want(96, down);
    std::fill_n(want.begin(), limit, up);
    EXPECT_EQ(contents(out), want) << limit;
  }
}

/// How a thread's number compares with numbers, those at the ends of warps among them.
struct Comparison {
  const char* relation;
  std::int64_t limit;
  bool is_swapped;
};

std::vector<Comparison> comparisons() {
  std::vector<Comparison> all;
  for (const char* relation : {"lt", "le", "gt", "ge", "eq", "ne"})
    for (const std::int64_t limit : {-32, -1, 0, 1, 31, 32, 33, 63, 64, 95, 96})
      for (const bool is_swapped : {false, true}) all.push_back({relation, limit, is_swapped});
  return all;
}

template <class Number>
bool holds(const Comparison& c, std::uint32_t thread) {
  Number a = static_cast<Number>(thread), b = static_cast<Number>(c.limit);
  if (c.is_swapped) std::swap(a, b);
  const std::string relation = c.relation;
  return relation == "lt"   ? a < b
         : relation == "le" ? a <= b
         : relation == "gt" ? a > b
         : relation == "ge" ? a >= b
         : relation == "eq" ? a == b
                            : a != b;
}

TEST_P(ReusedRegisters, CompareAsEachThreadDoes) {
  std::string body;
  for (const char* type : {"u32", "s32"})
    for (const Comparison& c : comparisons()) {
      const std::string limit = std::to_string(*type == 'u' ? static_cast<std::uint32_t>(c.limit) : c.limit);
      body += fmt::format("setp.{}.{} %p, {}, {}; selp.u32 %a, 1, 0, %p; mad.lo.u32 %sum, %sum, 3, %a;\n",
                          c.relation, type, c.is_swapped ? limit : "%t", c.is_swapped ? "%t" : limit);
    }
  load_text(fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
.reg .pred %p; .reg .b32 %t, %a, %sum; .reg .b64 %w, %out;
mov.u32 %t, %tid.x; mov.u32 %sum, 0; ld.param.u64 %out, [out];
{} mul.wide.u32 %w, %t, 4; add.u64 %w, %w, %out; st.global.u32 [%w], %sum; ret;
}})",
                        body));
  auto kernel = module().kernel("k");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  for (const std::uint32_t threads : {96u, 100u}) {
    auto out = buffer(std::vector<std::uint32_t>(threads));
    run(*kernel, {.grid = {1}, .block = {threads}}, out);
    std::vector<std::uint32_t> want(threads);
    for (std::uint32_t t = 0; t < threads; ++t) {
      for (const Comparison& c : comparisons()) want[t] = want[t] * 3 + holds<std::uint32_t>(c, t);
      for (const Comparison& c : comparisons()) want[t] = want[t] * 3 + holds<std::int32_t>(c, t);
    }
    EXPECT_EQ(contents(out), want) << threads;
  }
}

}  // namespace
