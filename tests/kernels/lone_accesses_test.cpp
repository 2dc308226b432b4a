// Volatile and relaxed accesses of shared memory where nobody can look while a warp runs: made as vectors
// (jit/lone_accesses.cpp), with the results of lanes one by one. Faults in them are in fault_table_test.cpp.
#include <numeric>

#include "kernel_test.h"

namespace {

class LoneAccesses : public KernelTest {
 protected:
  static constexpr int kThreads = 64;

  /// A kernel of 64 threads, whose body sees its own word of `in` as %v, its number %t, the shared arrays
  /// `words` of 256 words and `wide` of 256 double words, and leaves its result in %v.
  static std::string program(const std::string& body) {
    return R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry k (.param .u64 in, .param .u64 out)
{
  .reg .pred %is, %other;
  .reg .b32 %t, %v, %w, %x, %y, %z, %a, %b;
  .reg .b64 %in, %out, %o, %c, %d;
  .shared .align 16 .b8 words[1024];
  .shared .align 16 .b8 wide[2048];
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 4;
  add.s64 %in, %in, %o;
  add.s64 %out, %out, %o;
  ld.global.u32 %v, [%in];
  mov.u32 %w, words;
  mad.lo.u32 %a, %t, 4, %w;
  mov.u32 %x, wide;
  mad.lo.u32 %b, %t, 8, %x;
)" + body + "\n  st.global.u32 [%out], %v;\n  ret;\n}\n";
  }

  std::vector<int> results(const std::string& body) {
    load_text(program(body));
    auto found = module().kernel("k");
    if (!found.ok()) {
      ADD_FAILURE() << found.error().to_string();
      return {};
    }
    auto in = buffer(words()), out = buffer(std::vector<int>(kThreads, -1));
    run(*found, {.grid = {1}, .block = {kThreads}}, in, out);
    return contents(out);
  }

  static std::vector<int> words() {
    std::vector<int> in(kThreads);
    for (int t = 0; t < kThreads; ++t) in[t] = t * t + 3;
    return in;
  }

  /// Memory operations that are not vectors; those of `in`, `out` and parameters are.
  unsigned scattered(const std::string& body) {
    load_text(program(body));
    return module().kernel("k")->compile({kThreads})->not_vectorised;
  }

  bool has_vectors() const {
    return !interpreted() && !translated() && std::string(GetParam().simd) != "sse42";
  }
};
ON_EVERY_ENGINE(LoneAccesses);

/// The last steps of a reduction as CUDA's samples wrote it: the first warp works without barriers.
const std::string kReduction = R"(
  st.shared.u32 [%a], %v;
  bar.sync 0;
  setp.ge.u32 %is, %t, 32;
  @%is bra DONE;
  ld.volatile.shared.u32 %y, [%a+128]; ld.volatile.shared.u32 %z, [%a];
  add.u32 %z, %z, %y; st.volatile.shared.u32 [%a], %z;
  ld.volatile.shared.u32 %y, [%a+64]; ld.volatile.shared.u32 %z, [%a];
  add.u32 %z, %z, %y; st.volatile.shared.u32 [%a], %z;
  ld.volatile.shared.u32 %y, [%a+32]; ld.volatile.shared.u32 %z, [%a];
  add.u32 %z, %z, %y; st.volatile.shared.u32 [%a], %z;
  ld.volatile.shared.u32 %y, [%a+16]; ld.volatile.shared.u32 %z, [%a];
  add.u32 %z, %z, %y; st.volatile.shared.u32 [%a], %z;
  ld.volatile.shared.u32 %y, [%a+8]; ld.volatile.shared.u32 %z, [%a];
  add.u32 %z, %z, %y; st.volatile.shared.u32 [%a], %z;
  ld.volatile.shared.u32 %y, [%a+4]; ld.volatile.shared.u32 %z, [%a];
  add.u32 %z, %z, %y; st.volatile.shared.u32 [%a], %z;
DONE:
  bar.sync 0;
  ld.volatile.shared.u32 %v, [words];)";

TEST_P(LoneAccesses, AWarpReducesWithoutBarriers) {
  const std::vector<int> in = words();
  EXPECT_EQ(results(kReduction), std::vector<int>(kThreads, std::accumulate(in.begin(), in.end(), 0)));
  if (has_vectors()) EXPECT_EQ(scattered(kReduction), 0);
}

TEST_P(LoneAccesses, RelaxedOnesOfDoubleWords) {
  const std::string body = R"(
  cvt.u64.u32 %c, %v;
  mul.lo.u64 %c, %c, 0x100000001;
  st.relaxed.cta.shared.u64 [%b], %c;
  setp.ge.u32 %is, %t, 13;
  @!%is ld.volatile.shared.u64 %c, [%b+24];
  shr.u64 %d, %c, 32;
  cvt.u32.u64 %v, %c;
  cvt.u32.u64 %y, %d;
  add.u32 %v, %v, %y;)";
  std::vector<int> want = words();
  for (int t = 0; t < kThreads; ++t) want[t] = 2 * words()[t < 13 ? t + 3 : t];
  EXPECT_EQ(results(body), want);
  if (has_vectors()) EXPECT_EQ(scattered(body), 0);
}

/// In any order, two to one place, all to one: the highest lane's is kept.
TEST_P(LoneAccesses, InAnyPattern) {
  const std::string body = R"(
  st.volatile.shared.u32 [%a], %v;
  xor.b32 %x, %t, 21;
  mad.lo.u32 %y, %x, 4, %w;
  ld.volatile.shared.u32 %z, [%y];
  bar.sync 0;
  shr.u32 %x, %t, 1;
  mad.lo.u32 %y, %x, 4, %w;
  st.volatile.shared.u32 [%y], %z;
  ld.volatile.shared.u32 %x, [%y];
  add.u32 %z, %z, %x;
  bar.sync 0;
  st.relaxed.cta.shared.u32 [words], %z;
  ld.relaxed.cta.shared.u32 %x, [words];
  mad.lo.u32 %v, %x, 3, %z;)";
  std::vector<int> mine(kThreads), pairs(kThreads), want(kThreads);
  for (int t = 0; t < kThreads; ++t) mine[t] = pairs[t / 2] = words()[t ^ 21];
  for (int t = 0; t < kThreads; ++t) mine[t] += pairs[t / 2];
  for (int t = 0; t < kThreads; ++t) want[t] = 3 * mine[t | 31] + mine[t];
  EXPECT_EQ(results(body), want);
}

/// An address that passes 2^32 on its way: shared addresses wrap.
TEST_P(LoneAccesses, AddressesWrap) {
  const std::string body = R"(
  sub.u32 %x, %a, 2048;
  st.volatile.shared.u32 [%x+2048], %v;
  ld.volatile.shared.u32 %v, [%x+2052];)";
  std::vector<int> got = results(body);
  for (int t = 0; t < kThreads; ++t)
    if (t % 32 != 31) EXPECT_EQ(got[t], words()[t + 1]) << t;
}

/// One stores what the others spin on, in its own warp and in another one.
TEST_P(LoneAccesses, OthersSeeWhatIsStored) {
  const std::string body = R"(
  setp.ne.u32 %is, %t, 40;
  @%is bra WAIT;
  st.volatile.shared.u32 [words+4], 5;
  st.volatile.shared.u32 [words], 1;
  bra DONE;
WAIT:
  ld.volatile.shared.u32 %x, [words];
  setp.ne.u32 %other, %x, 1;
  @%other bra WAIT;
DONE:
  ld.volatile.shared.u32 %x, [words+4];
  add.u32 %v, %v, %x;)";
  std::vector<int> want = words();
  for (int& word : want) word += 5;
  EXPECT_EQ(results("mov.u32 %x, 0;\nst.shared.u32 [words], %x;\nbar.sync 0;" + body), want);
}

/// Each load is made, although nothing is stored between: in a loop that only another warp ends, an address
/// for each lane.
TEST_P(LoneAccesses, EveryTurnLoads) {
  const std::string body = R"(
  st.volatile.shared.u32 [%a], 0;
  bar.sync 0;
  setp.ge.u32 %is, %t, 32;
  @%is bra TELL;
WAIT:
  ld.volatile.shared.u32 %x, [%a];
  setp.eq.u32 %other, %x, 0;
  @%other bra WAIT;
  add.u32 %v, %v, %x;
  bra DONE;
TELL:
  st.volatile.shared.u32 [%a+-128], 7;
DONE:)";
  std::vector<int> want = words();
  for (int t = 0; t < 32; ++t) want[t] += 7;
  EXPECT_EQ(results(body), want);
}

/// Other blocks of a cluster may look: lane by lane.
TEST_P(LoneAccesses, NotInClusters) {
  if (!has_vectors()) GTEST_SKIP() << "there are no vectors";
  std::string text = program(kReduction);
  text.insert(text.find("\n{"), "\n.reqnctapercluster 2, 1, 1");
  load_text(text);
  EXPECT_GE(module().kernel("k")->compile({kThreads})->not_vectorised, 18u);
}

}  // namespace
