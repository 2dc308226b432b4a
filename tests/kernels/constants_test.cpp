// Constants on every engine: as initialised and as the host writes them, read-only for kernels, at addresses
// of 32 bits, once for all cores; initialised pointers.
#include <algorithm>
#include <cstdint>

#include "kernel_test.h"

namespace {

class Constants : public KernelTest {};
ON_EVERY_ENGINE(Constants);

/// What the host writes into `table`.
std::vector<int> table_of(int seed) {
  std::vector<int> words;
  for (int k = 0; k < 64; ++k) words.push_back(k * k * seed - 1000);
  return words;
}

int constants_of(const std::vector<int>& table, const std::vector<std::int16_t>& weights, const int* values,
                 int i) {
  const int* const pointers[] = {values + 2, values, values + 3};
  const auto at = [&](int k) { return static_cast<unsigned>(table[k & 63]); };  // wraps, as on the device
  unsigned r = at(i) + at(7) * weights[i % 5] + static_cast<unsigned>(*pointers[i % 3]) + "raddle"[i % 7];
  for (int k = 0; k < 5; ++k) r += at(i + k) * weights[k];
  return static_cast<int>(r);
}

// Constants as initialised, and as the host writes them between launches in every way there is; initialisers
// that are addresses; strings.
// proves: K-9a
TEST_P(Constants, AndInitialisedPointers) {
  constexpr int kN = 200;
  auto out = buffer(std::vector<int>(kN));
  auto constants = kernel("memory.ptx", "constants");
  std::vector<int> table(64);
  std::vector<std::int16_t> weights = {1, -2, 3, -4, 5};
  int values[] = {11, 22, 33, 44};
  const auto expect = [&](const char* when) {
    run(constants, {.grid = {1}, .block = {kN}}, out, kN);
    std::vector<int> want(kN);
    for (int i = 0; i < kN; ++i) want[i] = constants_of(table, weights, values, i);
    EXPECT_EQ(contents(out), want) << when;
  };
  const auto at = [&](const char* name) {
    auto variable = module().variable(name);
    EXPECT_TRUE(variable.ok());
    return *variable;
  };
  expect("as initialised");

  table = table_of(3);
  ASSERT_EQ(at("table").bytes, 256u);
  ASSERT_TRUE(device().write(at("table").address, table.data(), 256).ok());
  expect("written by the device");
  std::vector<int> back(64);
  ASSERT_TRUE(device().read(back.data(), at("table").address, 256).ok());
  EXPECT_EQ(back, table);

  weights[3] = 1000;
  raddle::Stream& stream = device().default_stream();
  ASSERT_TRUE(stream.write(at("weights").address + 6, &weights[3], 2).ok());
  table = table_of(9);
  auto source = buffer(table);
  ASSERT_TRUE(stream.copy(at("table").address, source.address(), 256).ok());
  expect("written and copied by a stream");

  ASSERT_TRUE(stream.fill(at("table").address + 128, 1, 128).ok());
  std::fill(table.begin() + 32, table.end(), 0x01010101);
  values[3] = -5;
  ASSERT_TRUE(device().write(at("values").address, values, sizeof values).ok());
  expect("filled by a stream");
  EXPECT_FALSE(device().write(at("weights").address + 8, table.data(), 256).ok());  // past the end
}

// A kernel cannot write them, whichever way it got the address.
// proves: K-11d
TEST_P(Constants, AreReadOnlyForKernels) {
  (void)kernel("memory.ptx", "constants");
  auto table = module().variable("table");
  ASSERT_TRUE(table.ok());
  auto out = buffer(std::vector<int>(256));
  auto failed =
      try_run(kernel("memory.ptx", "wrap_product"), {.grid = {1}, .block = {32}}, out, table->address);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("which is read-only"), std::string::npos) << failed.error().message;
}

// ptxas takes 32-bit addresses of constants on 64-bit targets, in registers and for cvta.
TEST_P(Constants, HaveAddressesOf32Bits) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.const .align 4 .b32 table[65] = {7, 6, 5, 4, 3, 2, 1};
.const .align 4 .b32 other[4] = {90, 91, 92, 93};
.visible .entry narrow(.param .u64 out)
{
.reg .b32 %t, %at, %same, %a, %b, %c;
.reg .b64 %out, %wide, %place;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %at, table;
  mad.lo.u32 %at, %t, 4, %at;
  ld.const.u32 %a, [%at];
  mov.u32 %same, other;
  ld.const.u32 %b, [%same+8];
  add.u32 %a, %a, %b;
  cvt.u64.u32 %wide, %at;
  ld.const.u32 %c, [%wide+4];
  mad.lo.u32 %a, %c, 100, %a;
  cvta.const.u64 %wide, %wide;
  ld.u32 %c, [%wide];
  mad.lo.u32 %a, %c, 1000, %a;
  mov.u64 %wide, table;
  cvta.const.u64 %wide, %wide;
  cvta.to.const.u64 %wide, %wide;
  ld.const.u32 %c, [%wide+4];
  mad.lo.u32 %a, %c, 100000, %a;
  mul.wide.u32 %place, %t, 4;
  add.u64 %out, %out, %place;
  st.global.u32 [%out], %a;
  ret;
})");
  auto out = buffer(std::vector<int>(64));
  run(*module().kernel("narrow"), {.grid = {1}, .block = {64}}, out);
  const auto found = contents(out);
  const auto entry = [](int t) { return t < 7 ? 7 - t : 0; };
  for (int t = 0; t < 64; ++t) EXPECT_EQ(found[t], entry(t) * 1001 + entry(t + 1) * 100 + 92 + 600000) << t;
}

// proves: K-11b, K-11c
TEST_P(Constants, ExistOnceForAllCores) {
  load_text(R"(.version 8.0
.target sm_75
.address_size 64
.const .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry where(.param .u64 places, .param .u64 values)
{
.reg .b32 %block, %a;
.reg .b64 %places, %values, %wide, %at;
  ld.param.u64 %places, [places];
  ld.param.u64 %values, [values];
  mov.u32 %block, %ctaid.x;
  mov.u64 %at, table;
  ld.const.u32 %a, [%at+8];
  cvta.const.u64 %at, %at;
  mul.wide.u32 %wide, %block, 4;
  add.u64 %values, %values, %wide;
  st.global.u32 [%values], %a;
  shl.b64 %wide, %wide, 1;
  add.u64 %places, %places, %wide;
  st.global.u64 [%places], %at;
  ret;
})");
  constexpr unsigned kBlocks = 500;
  auto places = buffer(std::vector<std::uint64_t>(kBlocks));
  auto values = buffer(std::vector<unsigned>(kBlocks));
  run(*module().kernel("where"), {.grid = {kBlocks}, .block = {1}}, places, values);
  const auto found = contents(places);
  EXPECT_EQ(found, std::vector<std::uint64_t>(kBlocks, found[0]));
  EXPECT_EQ(contents(values), std::vector<unsigned>(kBlocks, 3));
}

}  // namespace
