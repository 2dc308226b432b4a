// Accesses whose lanes lie by fours in rows, which compiled code makes row by row where it finds them so:
// pairs of words that are stored, lines that are copied to shared memory; and addresses of lanes that bit
// operations make.
#include <fmt/format.h>

#include <functional>

#include "kernel_test.h"

namespace {

/// A kernel of one warp: %t is the thread's number, %q its row, %c its place there, %n a number that is not
/// known when code is written.
std::string row_kernel(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n"
         "  .reg .b64 %in, %out, %x<4>; .reg .b32 %t, %q, %c, %n, %r<8>; .reg .pred %p;\n"
         "  .shared .align 128 .b8 tile[4096];\n"
         "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;\n"
         "  shr.u32 %q, %t, 2; and.b32 %c, %t, 3;\n" +
         body + "  ret;\n}\n";
}

class RowAccesses : public KernelTest {
 protected:
  static constexpr unsigned kLanes = 32, kWords = 1024;

  std::vector<std::uint32_t> results(const std::string& body, unsigned n) {
    load_text(row_kernel(body));
    std::vector<std::uint32_t> numbers(kWords);
    for (unsigned i = 0; i < kWords; ++i) numbers[i] = i + 5000;
    auto in = buffer(numbers), out = buffer(std::vector<std::uint32_t>(kWords));
    run(*module().kernel("k"), {.grid = {1}, .block = {kLanes}}, in, out, std::uint32_t{n});
    return contents(out);
  }
};
ON_EVERY_ENGINE(RowAccesses);

// Rows n bytes apart: side by side, apart, upon each other, and where they are no rows of pairs.
TEST_P(RowAccesses, StoresOfPairsAreStoresOfTheirWords) {
  const std::string address =
      "mad.lo.u32 %r0, %q, %n, 0; mad.lo.u32 %r0, %c, 8, %r0; cvt.u64.u32 %x0, %r0; "
      "add.u64 %x0, %x0, %out; add.u32 %r1, %t, 100; add.u32 %r2, %t, 200;\n";
  for (const char* stores : {"st.global.u32 [%x0], %r1; st.global.u32 [%x0+4], %r2;\n",
                             "st.global.u32 [%x0+8], %r1; st.global.u32 [%x0+12], %r2;\n"})
    for (const unsigned n : {32u, 40u, 36u, 8u, 4u, 0u}) {
      const unsigned first = std::string(stores).find("+8]") == std::string::npos ? 0 : 2;
      std::vector<std::uint32_t> expected(kWords);
      for (unsigned word = 0; word < 2; ++word)
        for (unsigned t = 0; t < kLanes; ++t)
          expected[t / 4 * n / 4 + t % 4 * 2 + first + word] = t + 100 * (word + 1);
      EXPECT_EQ(results(address + stores, n), expected) << stores << n;
    }
}

TEST_P(RowAccesses, FaultsOfPairsNameTheirThread) {
  close();
  load_text(
      row_kernel("setp.eq.u32 %p, %q, 3; @%p mov.u64 %out, 0x500000; mad.lo.u32 %r0, %c, 8, 0;\n"
                 "cvt.u64.u32 %x0, %r0; add.u64 %x0, %x0, %out; st.global.u32 [%x0], %t;\n"
                 "st.global.u32 [%x0+4], %t;\n"));
  auto in = buffer(std::vector<std::uint32_t>(kWords)), out = buffer(std::vector<std::uint32_t>(kWords));
  const auto report =
      try_run(*module().kernel("k"), {.grid = {1}, .block = {kLanes}}, in, out, std::uint32_t{0});
  ASSERT_FALSE(report.ok());
  const char* who = tells_lanes_of_gathers() ? "thread (12,0,0)" : "warp 0";
  EXPECT_NE(report.error().message.find(who), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().message.find("PTX line 10"), std::string::npos) << report.error().message;
}

TEST_P(RowAccesses, VectorsOfPairsGoWhereTheyAreTold) {
  std::vector<std::uint32_t> expected(kWords);
  for (unsigned t = 0; t < kLanes; ++t)
    for (unsigned e = 0; e < 2; ++e) expected[t / 4 * 32 + t % 4 * 2 + e] = t + e * 64;
  EXPECT_EQ(results("mad.wide.u32 %out, %q, 128, %out; mad.wide.u32 %out, %c, 8, %out; add.u32 %r0, %t, 64;\n"
                    "st.global.v2.u32 [%out], {%t, %r0};\n",
                    0),
            expected);
}

// Threads copy 16 bytes each, rows n bytes apart: whole lines in their order, swizzled, and what is no line.
TEST_P(RowAccesses, CopiesOfLinesAreCopiesOfTheirChunks) {
  const auto copy = [](const std::string& swizzle, unsigned pitch, unsigned begin) {
    return "mad.lo.u32 %r0, %q, %n, 0; mad.lo.u32 %r0, %c, 16, %r0; cvt.u64.u32 %x0, %r0; add.u64 %x0, %x0, "
           "%in;\n" +
           swizzle +
           fmt::format(
               "mov.u32 %r2, tile; mad.lo.u32 %r2, %q, {}, %r2; mad.lo.u32 %r2, %r1, 16, %r2;\n"
               "cp.async.cg.shared.global [%r2], [%x0+{}], 16; cp.async.wait_all;\n",
               pitch, begin) +
           "bar.sync 0; mad.wide.u32 %out, %t, 4, %out; mov.u32 %r2, tile; mad.lo.u32 %r2, %t, 4, %r2;\n"
           "mov.u32 %r3, 0;\nLOOP:\n ld.shared.u32 %r4, [%r2]; st.global.u32 [%out], %r4; add.u32 %r2, %r2, "
           "128;\n"
           "add.u64 %out, %out, 128; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 4; @%p bra LOOP;\n";
  };
  const std::pair<std::string, std::function<unsigned(unsigned t)>> swizzles[] = {
      {"mov.b32 %r1, %c;\n", [](unsigned t) { return t % 4; }},
      {"xor.b32 %r1, %q, %n; and.b32 %r1, %r1, 3; xor.b32 %r1, %r1, %c;\n",
       [](unsigned t) { return t / 4 % 4 ^ t % 4; }},
      {"add.u32 %r1, %c, %n; add.u32 %r1, %r1, 1; and.b32 %r1, %r1, 3;\n",
       [](unsigned t) { return (t + 1) % 4; }},
  };
  for (const auto& [text, chunk] : swizzles)
    for (const unsigned n : {64u, 128u, 80u, 0u})
      for (const unsigned begin : {0u, 16u}) {
        const unsigned pitch = 64;
        std::vector<std::uint32_t> expected(kWords);
        // 80 is 16 more than a multiple of 64, so that n takes no part in the swizzle's two low bits.
        for (unsigned t = 0; t < kLanes; ++t)
          for (unsigned e = 0; e < 4; ++e)
            expected[(t / 4 * pitch + chunk(t) * 16) / 4 + e] =
                5000 + (t / 4 * n + t % 4 * 16 + begin) / 4 + e;
        EXPECT_EQ(results(copy(text, pitch, begin), n), expected) << text << n << ' ' << begin;
      }
}

// The same where the four lanes' places in a line are known, and rows lie n bytes apart in their source. What
// begins within a line of the host is none.
TEST_P(RowAccesses, CopiesToKnownPlacesAreCopiesOfTheirChunks) {
  const auto copy = [](const std::string& chunk, unsigned to, unsigned from) {
    return "mov.u32 %r2, tile; mad.lo.u32 %r2, %t, 4, %r2; mov.u32 %r3, 0;\nCLEAR: st.shared.u32 [%r2], 0;\n"
           "add.u32 %r2, %r2, 128; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 5; @%p bra CLEAR;\nbar.sync 0;\n"
           "mul.lo.u32 %r0, %q, %n; cvt.u64.u32 %x0, %r0; shl.b32 %r1, %c, 4; cvt.u64.u32 %x1, %r1;\n"
           "add.u64 %x0, %x0, %in; add.u64 %x0, %x0, %x1;\n" +
           chunk +
           fmt::format(
               "mov.u32 %r2, tile; mad.lo.u32 %r2, %q, 64, %r2; mad.lo.u32 %r2, %r1, 16, %r2;\n"
               "cp.async.cg.shared.global [%r2+{}], [%x0+{}], 16; cp.async.wait_all;\n",
               to, from) +
           "bar.sync 0; mad.wide.u32 %out, %t, 4, %out; mov.u32 %r2, tile; mad.lo.u32 %r2, %t, 4, %r2;\n"
           "mov.u32 %r3, 0;\nLOOP:\n ld.shared.u32 %r4, [%r2]; st.global.u32 [%out], %r4; add.u32 %r2, %r2, "
           "128;\n"
           "add.u64 %out, %out, 128; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 5; @%p bra LOOP;\n";
  };
  const std::pair<std::string, std::function<unsigned(unsigned t)>> chunks[] = {
      {"mov.b32 %r1, %c;\n", [](unsigned t) { return t % 4; }},
      {"shr.u32 %r1, %q, 1; and.b32 %r1, %r1, 3; xor.b32 %r1, %r1, %c;\n",
       [](unsigned t) { return t / 8 % 4 ^ t % 4; }},
      {"shr.u32 %r1, %c, 1; shl.b32 %r1, %r1, 1;\n", [](unsigned t) { return t % 4 / 2 * 2; }},
  };
  for (const auto& [text, chunk] : chunks)
    for (const unsigned n : {64u, 128u, 80u, 0u})
      for (const auto& [to, from] : {std::pair{0u, 0u}, {16u, 0u}, {0u, 16u}, {64u, 64u}}) {
        std::vector<std::uint32_t> expected(kWords);
        for (unsigned t = 0; t < kLanes; ++t)
          for (unsigned e = 0; e < 4; ++e)
            expected[(t / 4 * 64 + chunk(t) * 16 + to) / 4 + e] =
                5000 + (t / 4 * n + t % 4 * 16 + from) / 4 + e;
        EXPECT_EQ(results(copy(text, to, from), n), expected) << text << n << ' ' << to << ' ' << from;
      }
}

// Rows of matrices at swizzled addresses, whose distances are known when code is written.
TEST_P(RowAccesses, LoadsOfMatricesFollowSwizzledAddresses) {
  const std::string fill =
      "mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 128, %r0; mov.u32 %r1, 0;\nFILL: mad.lo.u32 %r2, %t, 32, %r1; "
      "st.shared.u32 [%r0], %r2; add.u32 %r0, %r0, 4; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 32; @%p bra "
      "FILL;\n"
      "bar.sync 0;\n";
  const std::string load =
      "and.b32 %r0, %t, 15; shr.u32 %r1, %t, 1; and.b32 %r1, %r1, 3; shr.u32 %r2, %t, 4; or.b32 %r2, %r2, "
      "2;\n"
      "xor.b32 %r1, %r1, %r2; shl.b32 %r1, %r1, 4; shl.b32 %r0, %r0, 6; add.u32 %r0, %r0, %r1; add.u32 %r0, "
      "%r0, %n;\n"
      "mov.u32 %r1, tile; add.u32 %r0, %r0, %r1;\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r0];\n"
      "mad.wide.u32 %out, %t, 16, %out; st.global.v4.b32 [%out], {%r4, %r5, %r6, %r7};\n";
  for (const unsigned n : {0u, 256u}) {
    std::vector<std::uint32_t> expected(kWords);
    for (unsigned t = 0; t < kLanes; ++t)
      for (unsigned m = 0; m < 4; ++m) {
        const unsigned lane = m * 8 + t / 4;  // that names the row
        const unsigned address = lane % 16 * 64 + ((lane / 2 % 4) ^ (lane / 16 | 2)) * 16 + n;
        expected[t * 4 + m] = address / 4 + t % 4;
      }
    EXPECT_EQ(results(fill + load, n), expected) << n;
  }
}

// What code takes for known of addresses is so.
TEST_P(RowAccesses, BitOperationsOfLanesMakeTheirAddresses) {
  const std::pair<std::string, std::function<unsigned(unsigned t, unsigned n)>> computations[] = {
      {"shr.u32 %r0, %t, 1; and.b32 %r0, %r0, 3; shr.u32 %r1, %t, 4; xor.b32 %r0, %r0, %r1;",
       [](unsigned t, unsigned) { return (t / 2 % 4) ^ (t / 16); }},
      {"add.u32 %r0, %t, 16; shr.u32 %r0, %r0, 1; xor.b32 %r0, %r0, %q;",
       [](unsigned t, unsigned) { return (t + 16) / 2 ^ t / 4; }},
      {"add.u32 %r0, %t, 9; and.b32 %r0, %r0, %q;", [](unsigned t, unsigned) { return (t + 9) & (t / 4); }},
      {"or.b32 %r0, %q, 2; xor.b32 %r0, %r0, %c;", [](unsigned t, unsigned) { return (t / 4 | 2) ^ t % 4; }},
      {"or.b32 %r0, %q, %c; shl.b32 %r1, %n, 2; or.b32 %r0, %r0, %r1;",
       [](unsigned t, unsigned n) { return (t / 4 | t % 4) | n << 2; }},
      {"shl.b32 %r0, %n, 3; and.b32 %r1, %t, 7; add.u32 %r0, %r0, %r1; or.b32 %r0, %r0, 16; and.b32 %r1, %t, "
       "8; "
       "add.u32 %r0, %r0, %r1; shr.u32 %r0, %r0, 4;",
       [](unsigned t, unsigned n) { return (((n * 8 + t % 8) | 16) + (t & 8)) >> 4; }},
      {"mad.lo.u32 %r0, %n, 32, %t; xor.b32 %r0, %r0, 5; and.b32 %r0, %r0, 63;",
       [](unsigned t, unsigned n) { return ((n * 32 + t) ^ 5) & 63; }},
      {"@%p add.u32 %r0, %n, 3; and.b32 %r0, %r0, 7; xor.b32 %r0, %r0, %c;",
       [](unsigned t, unsigned) { return t % 4; }},  // %p is false, %r0 has not been written
  };
  for (const auto& [text, value] : computations)
    for (const unsigned n : {0u, 1u, 3u}) {
      std::vector<std::uint32_t> expected(kWords);
      for (unsigned t = 0; t < kLanes; ++t) expected[t] = 5000 + value(t, n);
      EXPECT_EQ(results("setp.ne.u32 %p, %n, %n;\n" + text +
                            "\nmad.wide.u32 %in, %r0, 4, %in; ld.global.u32 %r2, [%in];\n"
                            "mad.wide.u32 %out, %t, 4, %out; st.global.u32 [%out], %r2;\n",
                        n),
                expected)
          << text << ' ' << n;
    }
}

}  // namespace
