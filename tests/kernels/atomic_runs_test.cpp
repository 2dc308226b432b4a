// Atomics of shared memory behind each other, which compiled code makes lane by lane, all of a lane's at once
// (src/jit/atomic_run.h): what they leave in memory, for which lanes, and what a fault tells.
#include <fmt/format.h>

#include "kernel_test.h"

namespace {

constexpr unsigned kBins = 64, kThreads = 96;

/// Each thread's word names three bins; what it does with them the text says. The bins go out at the end.
std::string counting_kernel(const std::string& atomics) {
  return fmt::format(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n"
      "  .reg .b64 %in, %out, %x; .reg .b32 %id, %word, %a, %b, %c, %r<8>; .reg .pred %p, %q;\n"
      "  .shared .align 4 .b8 bins[{}];\n"
      "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %id, %tid.x;\n"
      "  setp.lt.u32 %p, %id, {}; mov.u32 %r7, bins; shl.b32 %r6, %id, 2; add.u32 %r7, %r7, %r6;\n"
      "  @%p st.shared.u32 [%r7], 0;\n  bar.sync 0;\n"
      "  mad.wide.u32 %in, %id, 4, %in; ld.global.u32 %word, [%in]; mov.u32 %r6, bins;\n"
      "  and.b32 %a, %word, 252; add.u32 %a, %a, %r6;\n"
      "  shr.u32 %b, %word, 8; and.b32 %b, %b, 252; add.u32 %b, %b, %r6;\n"
      "  shr.u32 %c, %word, 16; and.b32 %c, %c, 252; add.u32 %c, %c, %r6;\n"
      "  and.b32 %r5, %id, 1; setp.eq.u32 %q, %r5, 0;\n{}\n"
      "  bar.sync 0;\n  @!%p ret;\n  mad.wide.u32 %out, %id, 4, %out; ld.shared.u32 %r0, [%r7];\n"
      "  st.global.u32 [%out], %r0;\n  ret;\n}}\n",
      4 * kBins, kBins, atomics);
}

std::vector<std::uint32_t> words() {
  std::vector<std::uint32_t> all(kThreads);
  for (unsigned t = 0; t < kThreads; ++t) all[t] = t * 2654435761u;
  return all;
}
unsigned bin(std::uint32_t word, unsigned k) { return word >> 8 * k & 0xfc; }

class AtomicRuns : public KernelTest {
 protected:
  std::vector<std::uint32_t> bins_after(const std::string& atomics) {
    load_text(counting_kernel(atomics));
    auto in = buffer(words()), out = buffer(std::vector<std::uint32_t>(kBins));
    run(*module().kernel("k"), {.grid = {1}, .block = {kThreads}}, in, out);
    return contents(out);
  }
  /// By each thread that takes part, in its three bins.
  template <class Change>
  std::vector<std::uint32_t> expected(const Change& change) {
    std::vector<std::uint32_t> bins(kBins);
    for (unsigned t = 0; t < kThreads; ++t)
      for (unsigned k = 0; k < 3; ++k) change(t, k, bins[bin(words()[t], k) / 4]);
    return bins;
  }
};
ON_EVERY_ENGINE(AtomicRuns);

TEST_P(AtomicRuns, CountEachOfTheirBins) {
  const auto counted = expected([](unsigned, unsigned, std::uint32_t& bin) { ++bin; });
  for (const char* atomics :
       {"red.shared.add.u32 [%a], 1; red.shared.add.u32 [%b], 1; red.shared.add.u32 [%c], 1;",
        "atom.shared.add.u32 %r0, [%a], 1; atom.shared.add.u32 %r1, [%b], 1; atom.shared.add.u32 _, [%c], 1;",
        "red.shared.add.u32 [%a], 1; mov.b32 %a, %b; red.shared.add.u32 [%a], 1; mov.b32 %a, %c; "
        "red.shared.add.u32 [%a], 1;"})
    EXPECT_EQ(bins_after(atomics), counted) << atomics;
}

TEST_P(AtomicRuns, TakeValuesAsTheyWereAtEach) {
  const auto values =
      expected([](unsigned t, unsigned k, std::uint32_t& bin) { bin = std::max(bin, t + k); });
  EXPECT_EQ(bins_after("red.shared.max.u32 [%a], %id; add.u32 %id, %id, 1; red.shared.max.u32 [%b], %id; "
                       "add.u32 %id, %id, 1; red.shared.max.u32 [%c], %id; sub.u32 %id, %id, 2;"),
            values);
}

TEST_P(AtomicRuns, AreMadeByLanesOfTheirGuard) {
  const auto odd = expected([](unsigned t, unsigned k, std::uint32_t& bin) { bin += t % 2 * (k + 1); });
  EXPECT_EQ(bins_after("@!%q red.shared.add.u32 [%a], 1; @!%q red.shared.add.u32 [%b], 2; "
                       "@!%q red.shared.add.u32 [%c], 3;"),
            odd);
  const auto mixed =
      expected([](unsigned t, unsigned k, std::uint32_t& bin) { bin += k == 1 || t % 2 == 0; });
  EXPECT_EQ(bins_after("@%q red.shared.add.u32 [%a], 1; red.shared.add.u32 [%b], 1; @%q red.shared.add.u32 "
                       "[%c], 1;"),
            mixed);
}

// What was there before is read: each is by itself, and a thread sees its own.
TEST_P(AtomicRuns, GiveWhatWasThereBefore) {
  const auto bins = bins_after(
      "and.b32 %a, %a, 0; add.u32 %a, %a, %r6; shl.b32 %r5, %id, 1; add.u32 %r5, %r5, 8;\n"
      "  setp.ne.u32 %q, %id, 5; @%q bra over;\n"
      "  atom.shared.add.u32 %r0, [%a], 7; atom.shared.add.u32 %r1, [%a], 7; st.shared.u32 [%a+4], "
      "%r1;\nover:");
  EXPECT_EQ(bins[0], 14u);
  EXPECT_EQ(bins[1], 7u);
}

TEST_P(AtomicRuns, FaultsNameTheirLaneAndLine) {
  const std::pair<const char*, const char*> wrongs[] = {
      {"%a", "PTX line 17:"}, {"%b", "PTX line 18:"}, {"%c", "PTX line 19:"}};
  for (const auto& [wrong, line] : wrongs) {
    close();
    load_text(
        counting_kernel(fmt::format("  setp.eq.u32 %q, %id, 77; @%q mov.u32 {}, 0x4000000;\n"
                                    "  red.shared.add.u32 [%a], 1;\n  red.shared.add.u32 [%b], 1;\n"
                                    "  red.shared.add.u32 [%c], 1;",
                                    wrong)));
    auto in = buffer(words()), out = buffer(std::vector<std::uint32_t>(kBins));
    const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {kThreads}}, in, out);
    ASSERT_FALSE(report.ok()) << wrong;
    EXPECT_NE(report.error().message.find("thread (77,0,0)"), std::string::npos) << report.error().message;
    EXPECT_NE(report.error().message.find(line), std::string::npos) << report.error().message;
  }
}

}  // namespace
