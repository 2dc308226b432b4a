// Progress is a guarantee of the machine: whatever waits in a loop lets those behind it run, however it looks
// at memory and however its block is run. In each kernel every warp waits for the next one of the grid, so
// that none of those begun first can end before the last one has begun.
#include <array>

#include "kernel_test.h"

namespace {

/// A way to wait until [%at] is not 0. `functions` stands before the kernel.
struct Spelling {
  const char* name;
  const char* loop;
  const char* functions = "";
};

const Spelling kSpellings[] = {
    {"plain", "again: ld.global.u32 %seen, [%at]; setp.eq.u32 %p, %seen, 0; @%p bra again;"},
    {"cv", "again: ld.global.cv.u32 %seen, [%at]; setp.eq.u32 %p, %seen, 0; @%p bra again;"},
    {"cg", "again: ld.global.cg.u32 %seen, [%at]; setp.eq.u32 %p, %seen, 0; @%p bra again;"},
    {"acquire", "again: ld.acquire.gpu.global.u32 %seen, [%at]; setp.eq.u32 %p, %seen, 0; @%p bra again;"},
    // What the flag says reaches the exit through a branch, not through a register.
    {"branch", R"(
again: ld.volatile.global.u32 %seen, [%at]; setp.ne.u32 %p, %seen, 0; @%p bra set;
  mov.u32 %state, 0; bra.uni look;
set: mov.u32 %state, 7;
look: setp.eq.u32 %p, %state, 0; @%p bra again;)"},
    {"call", R"(
again: { .param .b64 from; .param .b32 result; st.param.b64 [from], %at; call.uni (result), read, (from);
  ld.param.b32 %seen, [result]; } setp.eq.u32 %p, %seen, 0; @%p bra again;)",
     R"(
.func (.param .b32 result) read(.param .b64 from) {
  .reg .b64 %a; .reg .b32 %v;
  ld.param.b64 %a, [from]; ld.volatile.global.u32 %v, [%a]; st.param.b32 [result], %v; ret; })"},
};

/// `before` and `after` the loop: what makes the kernel's blocks one kind or another.
struct Kind {
  const char* name;
  const char* before = "";
  const char* after = "";
};

const Kind kKinds[] = {
    {"loops"},
    {"regions", "bar.sync 0;", "bar.sync 0;"},
    {"fibers", "barrier.sync 1;", "barrier.sync 1;"},
};

/// flags: one more than the grid has warps, the last not 0. A warp waits for the flag after its own, then
/// sets its own. Each thread stores what it held meanwhile.
std::string chain(const Spelling& spelling, const Kind& kind) {
  return std::string(".version 8.0\n.target sm_90\n.address_size 64\n") + spelling.functions + R"(
.visible .entry chain(.param .u64 flags, .param .u64 held) {
  .reg .b64 %at, %out, %mine; .reg .b32 %t, %b, %n, %unit, %seen, %state, %hold; .reg .pred %p;
  ld.param.u64 %at, [flags]; ld.param.u64 %out, [held];
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
  mad.lo.u32 %unit, %b, %n, %t;
  mul.wide.u32 %mine, %unit, 4; add.u64 %out, %out, %mine;
  mul.lo.u32 %hold, %unit, 2654435761;
  shr.u32 %unit, %unit, 5; add.u32 %unit, %unit, 1;
  mul.wide.u32 %mine, %unit, 4; add.u64 %at, %at, %mine;
  )" + kind.before +
         "\n" + spelling.loop + "\n  mov.u32 %seen, 1; st.global.u32 [%at+-4], %seen;\n  " + kind.after + R"(
  st.global.u32 [%out], %hold;
  ret;
})";
}

class Progress : public KernelTest {
 protected:
  void run_chain(const Spelling& spelling, const Kind& kind, unsigned blocks, unsigned warps,
                 unsigned cluster = 1) {
    SCOPED_TRACE(std::string(spelling.name) + ", " + kind.name + ", " + std::to_string(blocks) + " blocks");
    auto loaded = device().load(chain(spelling, kind));
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    std::vector<unsigned> zeros(blocks * warps + 1);
    zeros.back() = 1;
    auto flags = buffer(zeros), held = buffer(std::vector<unsigned>(blocks * warps * 32));
    raddle::LaunchConfig config{.grid = {blocks}, .block = {warps * 32}};
    config.cluster = {cluster};
    auto kernel = loaded->kernel("chain");
    ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
    const raddle::LaunchReport report = run(*kernel, config, flags, held);
    if (!interpreted() && spelling.loop == kSpellings[0].loop) EXPECT_EQ(report.block_kind, kind.name);
    EXPECT_EQ(contents(flags), std::vector<unsigned>(zeros.size(), 1));
    const std::vector<unsigned> values = contents(held);
    for (unsigned i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i * 2654435761u);
  }
};

/// Vector widths make no difference here.
std::vector<EngineChoice> engines() {
  std::vector<EngineChoice> chosen;
  for (const EngineChoice& choice : kEngines)
    if (*choice.simd == '\0') chosen.push_back(choice);
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(Engines, Progress, testing::ValuesIn(engines()), engine_name);

// proves: K-7f
TEST_P(Progress, EveryWarpWaitsForTheNextOne) {
  options_.workers = 1;
  for (const Kind& kind : kKinds)
    for (const Spelling& spelling : kSpellings) run_chain(spelling, kind, 1, 5);
}

// One block in flight per worker, until it has taken long enough.
// proves: K-7f
TEST_P(Progress, EveryBlockWaitsForTheNextOne) {
  options_.workers = 1;
  for (const Kind& kind : kKinds)
    for (const Spelling& spelling : kSpellings) run_chain(spelling, kind, 2, 2);
}

// proves: K-7f
TEST_P(Progress, BlocksOfTwoWorkersWaitForOneAnother) {
  options_.workers = 2;
  for (const Kind& kind : kKinds) run_chain(kSpellings[0], kind, 5, 2);
}

// proves: K-7d
TEST_P(Progress, BlocksOfAClusterWaitForOneAnother) {
  options_.workers = 1;
  for (const Kind& kind : kKinds)
    for (const int spelling : {0, 3}) run_chain(kSpellings[spelling], kind, 4, 1, 2);
}

// The first kernel has every worker; what it waits for comes from a kernel of another stream.
// proves: K-7f
TEST_P(Progress, AKernelWaitsForAnotherStreams) {
  for (const unsigned workers : {1u, 2u}) {
    close();
    options_.workers = workers;
    auto loaded = device().load(chain(kSpellings[0], kKinds[0]));
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    auto kernel = loaded->kernel("chain");
    auto streams = std::array{device().stream(), device().stream(1)};
    ASSERT_TRUE(kernel.ok() && streams[0].ok() && streams[1].ok());
    // The second launch's warp does not wait, and sets what the last warp of the first waits for.
    std::vector<unsigned> zeros(workers * 2 + 2);
    zeros.back() = 1;
    auto flags = buffer(zeros), held = buffer(std::vector<unsigned>(workers * 64));
    const raddle::DevicePtr last{flags.address().value + workers * 2 * sizeof(unsigned)};
    auto waits = kernel->launch({.grid = {workers}, .block = {64}, .stream = &*streams[0]}, flags, held);
    auto sets = kernel->launch({.grid = {1}, .block = {32}, .stream = &*streams[1]}, last, held);
    ASSERT_TRUE(waits.ok() && sets.ok());
    EXPECT_TRUE(waits->wait().ok());
    EXPECT_TRUE(sets->wait().ok());
  }
}

}  // namespace
