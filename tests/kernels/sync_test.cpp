// Waiting and exchanging on every engine: locks, producers and consumers, barriers of every kind, warps,
// atomics.
#include <bit>
#include <cstdint>
#include <numeric>
#include <thread>

#include "kernel_test.h"

namespace {

class Sync : public KernelTest {};
ON_EVERY_ENGINE(Sync);

std::vector<int> sync_inputs(int count, std::uint32_t seed = 9) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<int>(seed >> 20));
  }
  return values;
}

// Lanes of one warp, warps of a block, and blocks contend for one lock.
// proves: K-7f
TEST_P(Sync, SpinLocks) {
  for (auto [blocks, threads] : {std::pair{1u, 32u}, {1u, 20u}, {1u, 128u}, {6u, 40u}}) {
    auto mutex = buffer(std::vector<int>{0}), plain = buffer(std::vector<int>{0});
    run(kernel("sync.ptx", "lock"), {.grid = {blocks}, .block = {threads}}, mutex, plain, 3);
    EXPECT_EQ(contents(plain)[0], static_cast<int>(blocks * threads * 3)) << blocks << ' ' << threads;
    run(kernel("sync.ptx", "lock_simple"), {.grid = {blocks}, .block = {threads}}, mutex, plain);
    EXPECT_EQ(contents(plain)[0], static_cast<int>(blocks * threads * 4)) << blocks << ' ' << threads;
  }
}

TEST_P(Sync, EveryThreadWaitsForTheNext) {
  auto flag = buffer(std::vector<int>(80)), out = buffer(std::vector<int>(80));
  run(kernel("sync.ptx", "chain"), {.grid = {1}, .block = {80}}, flag, out);
  std::vector<int> want(80);
  for (int t = 0; t < 80; ++t) want[t] = 80 - t;
  EXPECT_EQ(contents(out), want);
}

// proves: K-7f
TEST_P(Sync, EveryBlockWaitsForTheOneBefore) {
  auto ready = buffer(std::vector<int>(300)), out = buffer(std::vector<int>(300));
  run(kernel("sync.ptx", "relay"), {.grid = {300}, .block = {64}}, ready, out);
  std::vector<int> want(300);
  for (int b = 0; b < 300; ++b) want[b] = b * (b + 1) / 2;
  EXPECT_EQ(contents(out), want);
}

// proves: K-5a, K-5c
TEST_P(Sync, BarriersInALoop) {
  for (int n : {32, 50, 256, 1000}) {
    const auto in = sync_inputs(n);
    auto a = buffer(in), out = buffer(std::vector<int>(n));
    run(kernel("sync.ptx", "barrier_loop"),
        {.grid = {1}, .block = {static_cast<unsigned>(n)}, .shared_bytes = static_cast<std::uint64_t>(n) * 4},
        a, out, 9);
    auto want = in;
    for (int k = 0; k < 9; ++k) {
      const auto old = want;
      for (int t = 0; t < n; ++t) {
        const int v = old[(t + k + 1) % n];
        if (k & 1)
          want[t] += v;
        else
          want[n - 1 - t] = v ^ k;
      }
    }
    EXPECT_EQ(contents(out), want) << n;
  }
}

// proves: K-5f, K-5g, K-17f
TEST_P(Sync, NamedBarriers) {
  constexpr int kRounds = 7;
  const auto in = sync_inputs(64 * kRounds);
  auto a = buffer(in), out = buffer(std::vector<int>(64 * kRounds));
  run(kernel("sync.ptx", "pipeline"), {.grid = {1}, .block = {128}}, a, out, kRounds);
  std::vector<int> want(64 * kRounds);
  for (int k = 0; k < kRounds; ++k)
    for (int t = 0; t < 64; ++t) want[k * 64 + t] = in[k * 64 + (t ^ 33)] * 2 + 1;
  EXPECT_EQ(contents(out), want);

  auto pairs = buffer(std::vector<int>(256));
  run(kernel("sync.ptx", "named"), {.grid = {3}, .block = {256}}, pairs);
  std::vector<int> last(256);
  for (int t = 0; t < 256; ++t) last[t] = (t ^ 32) * 10 + 1 + t / 64 * 3;
  EXPECT_EQ(contents(pairs), last);
}

// A pair of warps for each of the sixteen barriers, by a number in a register.
// proves: K-5f
TEST_P(Sync, PairsOfWarpsMeetAtSixteenBarriers) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry pairs(.param .u64 out)
{
.shared .align 4 .b32 cells[1024];
.reg .b32 %t, %id, %at, %v;
.reg .b64 %out, %wide;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  shr.u32 %id, %t, 6;
  mov.u32 %at, cells;
  mad.lo.u32 %at, %t, 4, %at;
  mad.lo.u32 %v, %t, 3, 1;
  st.shared.u32 [%at], %v;
  bar.sync %id, 64;
  xor.b32 %v, %t, 32;
  mov.u32 %at, cells;
  mad.lo.u32 %at, %v, 4, %at;
  ld.shared.u32 %v, [%at];
  mul.wide.u32 %wide, %t, 4;
  add.u64 %out, %out, %wide;
  st.global.u32 [%out], %v;
  ret;
})");
  constexpr int kThreads = 1024;
  auto out = buffer(std::vector<int>(kThreads));
  run(*module().kernel("pairs"), {.grid = {1}, .block = {kThreads}}, out);
  std::vector<int> want(kThreads);
  for (int t = 0; t < kThreads; ++t) want[t] = (t ^ 32) * 3 + 1;
  EXPECT_EQ(contents(out), want);
}

TEST_P(Sync, WarpExchanges) {
  constexpr int kN = 96;
  const auto in = sync_inputs(kN);
  auto a = buffer(in), out = buffer(std::vector<int>(2 * kN));
  run(kernel("sync.ptx", "warp_exchange"), {.grid = {1}, .block = {kN}}, a, out, kN);
  std::vector<int> want(2 * kN);
  for (int t = 0; t < kN; ++t) {
    const int l = t & 31, w = t - l, v = in[t];
    auto at = [&](int lane) { return in[w + lane]; };
    auto count = [&](auto test) {
      int n = 0;
      for (int k = 0; k < 32; ++k) n += test(k);
      return n;
    };
    int r = at(l ^ 5) + 3 * at(l < 3 ? l : l - 3) + 5 * at((l & 15) + 7 > 15 ? l : l + 7) + 7 * at(v & 31);
    r += 11 * count([&](int k) { return (at(k) & 4) != 0; });
    auto odd = [&](int k) { return (at(k) & 1) != 0; };
    if (v & 1) {
      int first = 0;
      while (!odd(first)) ++first;
      r += at(first) + count([&](int k) { return odd(k) && (at(k) & 2); });
      if (!count([&](int k) { return odd(k) && !(at(k) & 8); })) r += 100;
      if (count([&](int k) { return odd(k) && (at(k) & 16); })) r += 200;
    } else {
      for (int k = 0; k < 32; ++k) r -= odd(k) ? 0 : k;
      r -= 13 * count([&](int k) { return !odd(k) && (at(k) & 6) == (v & 6); });
    }
    want[t] = r;
    want[kN + t] = v & 1 ? 0 : -1;
  }
  EXPECT_EQ(contents(out), want);
}

TEST_P(Sync, AtomicsUnderContention) {
  constexpr int kN = 2000;
  const auto in = sync_inputs(kN);
  std::vector<int> start(16);
  start[1] = 1 << 30;
  auto a = buffer(in), g = buffer(start), out = buffer(std::vector<int>(kN));
  run(kernel("sync.ptx", "atomics"), {.grid = {16}, .block = {128}}, a, g, out, kN);
  std::vector<int> want(16);
  want[1] = 1 << 30;
  std::uint64_t wide = 0;
  for (int v : in) {
    want[0] += v;
    want[1] = std::min(want[1], v);
    want[2] = std::max(want[2], v);
    want[3] ^= v;
    want[4] |= v;
    want[5] += v & 1;
    wide += 0x100000001ull * static_cast<std::uint64_t>(v);
  }
  want[8] = std::bit_cast<int>(static_cast<float>(kN));
  want[10] = static_cast<int>(wide);
  want[11] = static_cast<int>(wide >> 32);
  want[12] = kN % 7;
  EXPECT_EQ(contents(g), want);
  const auto tickets = contents(out);
  for (int b = 0; b < 16; ++b) {  // within a block the odd values got distinct tickets from 0
    std::vector<bool> seen(128);
    int odd = 0;
    for (int i = b * 128; i < std::min(kN, b * 128 + 128); ++i) {
      if (!(in[i] & 1)) {
        EXPECT_EQ(tickets[i], -1);
        continue;
      }
      ++odd;
      ASSERT_TRUE(tickets[i] >= 0 && tickets[i] < 128 && !seen[tickets[i]]) << i;
      seen[tickets[i]] = true;
    }
    for (int k = 0; k < odd; ++k) EXPECT_TRUE(seen[k]) << b;
  }
}

TEST_P(Sync, AMillionBlocks) {
  const unsigned blocks = interpreted() ? 100000 : 1000000;
  auto counter = buffer(std::vector<int>{0});
  auto sum = buffer(std::vector<std::uint64_t>{0});
  run(kernel("sync.ptx", "count_blocks"), {.grid = {blocks}, .block = {2}}, counter, sum);
  std::uint64_t want = 0;
  for (unsigned b = 0; b < blocks; b += 1024) want += b;
  EXPECT_EQ(contents(counter)[0], static_cast<int>(blocks));
  EXPECT_EQ(contents(sum)[0], want);
}

// A kernel in one stream spins until a copy in another stream sets its flag.
TEST_P(Sync, TheHostEndsARunningKernel) {
  auto flag = buffer(std::vector<int>{0}), out = buffer(std::vector<int>(96));
  auto one = device().stream(), two = device().stream();
  auto launch =
      kernel("sync.ptx", "until_told").launch({.grid = {3}, .block = {32}, .stream = &*one}, flag, out);
  ASSERT_TRUE(launch.ok()) << launch.error().to_string();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(launch->done());
  const int told = 42;
  ASSERT_TRUE(two->write(flag.address(), &told, 4).ok());
  auto report = launch->wait();
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(contents(out), std::vector<int>(96, 42));
}

// Two streams: blocks of both kernels make progress side by side, and each stream keeps its order.
TEST_P(Sync, TwoStreams) {
  auto mutex = buffer(std::vector<int>{0}), plain = buffer(std::vector<int>{0});
  auto one = device().stream(), two = device().stream();
  auto code = kernel("sync.ptx", "lock");
  for (int k = 0; k < 5; ++k)
    for (raddle::Stream* stream : {&*one, &*two})
      ASSERT_TRUE(code.launch({.grid = {2}, .block = {33}, .stream = stream}, mutex, plain, 2).ok());
  ASSERT_TRUE(device().synchronize().ok());
  EXPECT_EQ(contents(plain)[0], 10 * 2 * 33 * 2);
}

// proves: K-6b
TEST_P(Sync, BarriersAfterEarlyExits) {
  auto out = buffer(std::vector<int>(256, -7));
  run(kernel("sync.ptx", "barrier_exits"), {.grid = {1}, .block = {256}}, out);
  std::vector<int> want(256), shared(256);
  auto gone = [](int t) { return ((t & 64) && t < 128) || t % 5 == 2; };
  for (int t = 0; t < 256; ++t) shared[t] = gone(t) ? 1 : t;
  for (int t = 0; t < 256; ++t)
    want[t] = (t & 64) && t < 128 ? -7 : t % 5 == 2 ? -1 : shared[t ^ 128] + 1000 * shared[(t + 1) & 255];
  EXPECT_EQ(contents(out), want);
}

// proves: K-5h
TEST_P(Sync, BarriersReduce) {
  auto in = sync_inputs(150);
  for (int& v : in) v = v % 90 + 11;
  in[77] = 50;
  auto a = buffer(in), out = buffer(std::vector<int>(150, -1));
  run(kernel("sync.ptx", "barrier_reduce"), {.grid = {1}, .block = {150}}, a, out);
  int odd = 0, second = 0;
  for (int t = 0; t < 150; ++t) odd += in[t] & 1, second += t >= 3 && (in[t] & 2);
  std::vector<int> want(150, odd + 1000 + 2000 + 10000 * second);
  want[0] = want[1] = want[2] = -1;
  EXPECT_EQ(contents(out), want);
}

// The two halves of a warp exchange through memory, at barriers in two branches.
TEST_P(Sync, WarpBarriersInTwoBranches) {
  auto out = buffer(std::vector<int>(64));
  run(kernel("sync.ptx", "warp_sync"), {.grid = {1}, .block = {64}}, out);
  std::vector<int> want(64);
  for (int t = 0; t < 64; ++t) {
    auto first = [](int k) { return k & 1 ? k * 3 : k * 5; };
    auto taken = [&](int k) { return k & 1 ? first(k ^ 1) : first(k ^ 1) * 2; };
    auto second = [&](int k) { return k & 1 ? taken(k) + 1 : taken(k) + 2; };
    want[t] = t & 1 ? taken(t) + second(t ^ 1) : taken(t) - second(t ^ 1);
  }
  EXPECT_EQ(contents(out), want);
}

// Shuffles, votes, reductions and matches whose members come on two paths: each brings its own path's value.
TEST_P(Sync, WarpExchangesInTwoBranches) {
  constexpr int kN = 96;
  const auto in = sync_inputs(kN, 21);
  for (int width : {32, 16}) {
    auto a = buffer(in), out = buffer(std::vector<int>(kN));
    run(kernel("sync.ptx", "warp_meet"), {.grid = {1}, .block = {kN}}, a, out, width);
    std::vector<int> v = in, want(kN), brought(kN);
    auto odd = [&](int t) { return (v[t] & 1) != 0; };
    auto over_members = [&](int t, auto add) {  // the members of t's exchange
      for (int k = t / width * width; k < t / width * width + width; ++k) add(k);
    };
    for (int k = 0; k < 3; ++k) {
      auto bring = [&](auto if_odd, auto if_even) {
        for (int t = 0; t < kN; ++t) brought[t] = odd(t) ? if_odd(t) : if_even(t);
      };
      auto sum = [&](int t) {
        int total = 0;
        over_members(t, [&](int m) { total += brought[m]; });
        return total;
      };
      bring([&](int t) { return v[t] + k; }, [&](int t) { return v[t] * 2 + k; });
      for (int t = 0; t < kN; ++t) want[t] += odd(t) ? brought[t ^ (1 + k)] * 3 : -brought[t ^ (1 + k)];
      bring([&](int t) { return (v[t] & (4 << k)) != 0; }, [&](int t) { return (v[t] & 2) != 0; });
      for (int t = 0; t < kN; ++t)
        want[t] += odd(t) ? sum(t) * 1000 : brought[t & ~31] && (width == 32 || (t & 31) < 16) ? 5000 : 0;
      for (int t = 0; t < kN; ++t) want[t] = odd(t) ? want[t] ^ 77 : want[t] * 3;
      bring([&](int t) { return v[t] & 255; }, [](int t) { return t & 31; });
      for (int t = 0; t < kN; ++t) want[t] += odd(t) ? sum(t) : -sum(t);
      bring([&](int t) { return v[t] & 6; }, [&](int t) { return v[t] & 2; });
      for (int t = 0; t < kN; ++t) {
        int same = 0;
        over_members(t, [&](int m) { same += brought[m] == brought[t]; });
        want[t] = odd(t) ? want[t] + same : want[t] ^ (same << 3);
      }
      for (int t = 0; t < kN; ++t) v[t] = v[t] * 5 + k;
    }
    EXPECT_EQ(contents(out), want) << width;
  }
}

// Lanes of one warp at one barrier on two paths count one by one.
// proves: K-5a
TEST_P(Sync, BlockBarriersInTwoBranches) {
  constexpr int kRounds = 5;
  for (int n : {64, 128, 50}) {
    auto out = buffer(std::vector<int>(n));
    run(kernel("sync.ptx", "barrier_meet"), {.grid = {2}, .block = {static_cast<unsigned>(n)}}, out, kRounds);
    std::vector<int> want(n);
    int count = 0;
    for (int t = 0; t < n; ++t) count += t % 3 == 0 ? t < 40 : t > 60;
    for (int t = 0; t < n; ++t)
      for (int k = 0; k < kRounds; ++k) {
        const int other = n - 1 - t + k;
        want[t] = (t + k) & 1 ? want[t] + 3 * other : (want[t] - other) ^ 5;
        want[t] += count * 1000;
      }
    EXPECT_EQ(contents(out), want) << n;
  }
}

// Lanes of two warps at two barriers: each warp waits for whichever completes first.
// proves: K-5f
TEST_P(Sync, LanesOfAWarpAtTwoBarriers) {
  auto out = buffer(std::vector<int>(64));
  run(kernel("sync.ptx", "barrier_lanes"), {.grid = {3}, .block = {64}}, out);
  std::vector<int> want(64);
  for (int t = 0; t < 64; ++t)
    for (int k = 0; k < (t & 1 ? 5 : 9); ++k) want[t] += t & 1 ? (t ^ 32) + k : k - (t ^ 32);
  EXPECT_EQ(contents(out), want);
}

// A warp takes a number when it begins and one when it ends: nobody else takes one between them.
// proves: K-4a
TEST_P(Sync, WarpsOfABlockThatCannotWaitRunOneAfterAnother) {
  options_.deterministic = 0;  // no time slice ends because this machine is busy
  auto module = device().load(R"(.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 next;
.visible .entry turns(.param .u64 out)
{
.reg .pred %first, %more;
.reg .b32 %t, %lane, %count, %begin, %end;
.reg .b64 %out, %at;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  setp.eq.u32 %first, %lane, 0;
  @%first atom.global.add.u32 %begin, [next], 1;
  mov.u32 %count, 0;
LOOP:
  add.u32 %count, %count, 1;
  mul.wide.u32 %at, %t, 4;
  add.u64 %at, %at, %out;
  st.global.u32 [%at], %count;
  setp.lt.u32 %more, %count, 50;
  @%more bra LOOP;
  @%first atom.global.add.u32 %end, [next], 1;
  @!%first bra DONE;
  st.global.u32 [%at], %begin;
  st.global.u32 [%at+4], %end;
DONE:
  ret;
})",
                              "turns");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  constexpr unsigned kWarps = 8;
  auto out = buffer(std::vector<unsigned>(32 * kWarps));
  run(*module->kernel("turns"), {.grid = {1}, .block = {32 * kWarps}}, out);
  const auto numbers = contents(out);
  for (unsigned warp = 0; warp < kWarps; ++warp) {
    EXPECT_EQ(numbers[32 * warp], 2 * warp);
    EXPECT_EQ(numbers[32 * warp + 1], 2 * warp + 1);
  }
}

}  // namespace
