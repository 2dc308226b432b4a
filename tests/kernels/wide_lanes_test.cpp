// Vectors of 16 bytes at addresses without a common distance: which element of which lane goes where, and
// what a fault tells of its lane.
#include <fmt/format.h>

#include "kernel_test.h"

namespace {

/// Thread t reads the unit of 16 bytes with the number t * 7 % 32 and writes it to unit t ^ 5, by these
/// accesses.
std::string moving_kernel(const std::string& load, const std::string& store, const std::string& change = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) "
         "{\n"
         "  .reg .b64 %in, %out, %x<2>; .reg .b32 %id, %t, %r<4>; .reg .pred %p;\n"
         "  .shared .align 16 .b8 tile[512];\n"
         "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %id, %tid.x;\n"
         "  mul.lo.u32 %t, %id, 7; and.b32 %t, %t, 31; mad.wide.u32 %in, %t, 16, %in;\n"
         "  xor.b32 %t, %id, 5; mad.wide.u32 %out, %t, 16, %out;\n" +
         change + "  " + load + "\n  " + store + "\n  ret;\n}\n";
}
constexpr const char *kLoadWords = "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%in];",
                     *kStoreWords = "st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};";

class WideLanes : public KernelTest {
 protected:
  std::vector<std::uint32_t> units() {
    std::vector<std::uint32_t> all(128);
    for (unsigned i = 0; i < all.size(); ++i) all[i] = i + 1000;
    return all;
  }
};
ON_EVERY_ENGINE(WideLanes);

TEST_P(WideLanes, MoveUnitsWhereTheyAreTold) {
  std::vector<std::uint32_t> expected(128);
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned e = 0; e < 4; ++e) expected[(t ^ 5) * 4 + e] = t * 7 % 32 * 4 + e + 1000;
  const std::pair<const char*, const char*> ways[] = {
      {kLoadWords, kStoreWords},
      {"ld.global.v2.b64 {%x0, %x1}, [%in];", "st.global.v2.b64 [%out], {%x0, %x1};"},
      {kLoadWords, "mov.b64 %x0, {%r0, %r1}; mov.b64 %x1, {%r2, %r3}; st.global.v2.b64 [%out], {%x0, %x1};"},
  };
  for (const auto& [load, store] : ways) {
    load_text(moving_kernel(load, store));
    auto in = buffer(units()), out = buffer(std::vector<std::uint32_t>(128));
    run(*module().kernel("k"), {.grid = {1}, .block = {32}}, in, out);
    EXPECT_EQ(contents(out), expected) << load << store;
  }
}

// Of lanes that write to one place the highest counts.
TEST_P(WideLanes, AreWrittenInTheirOrder) {
  load_text(moving_kernel(kLoadWords, kStoreWords,
                          "  and.b32 %t, %id, 3; ld.param.u64 %out, [out]; "
                          "mad.wide.u32 %out, %t, 16, %out;\n"));
  auto in = buffer(units()), out = buffer(std::vector<std::uint32_t>(16));
  run(*module().kernel("k"), {.grid = {1}, .block = {32}}, in, out);
  std::vector<std::uint32_t> expected;
  for (unsigned t = 28; t < 32; ++t)
    for (unsigned e = 0; e < 4; ++e) expected.push_back(t * 7 % 32 * 4 + e + 1000);
  EXPECT_EQ(contents(out), expected);
}

TEST_P(WideLanes, FaultsNameTheirLane) {
  const std::pair<const char*, const char*> wrongs[] = {
      {"  setp.eq.u32 %p, %id, 21; @%p add.u64 %in, %in, 8;\n", "misaligned address"},
      {"  setp.eq.u32 %p, %id, 21; @%p mov.u64 %in, 0x500000;\n", "illegal address"},
      {"  setp.eq.u32 %p, %id, 21; @%p mov.u64 %out, 0x500000;\n", "illegal address"},
  };
  for (const auto& [change, what] : wrongs) {
    close();
    load_text(moving_kernel(kLoadWords, kStoreWords, change));
    auto in = buffer(units()), out = buffer(std::vector<std::uint32_t>(128));
    const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {32}}, in, out);
    ASSERT_FALSE(report.ok()) << change;
    EXPECT_NE(report.error().message.find(what), std::string::npos) << report.error().message;
    EXPECT_NE(report.error().message.find("thread (21,0,0)"), std::string::npos) << report.error().message;
  }
}

}  // namespace
