// What threads send into their cluster (st.async, red.async) where it lands late: in every form it comes
// before the phase that counts its bytes ends, and a kernel that forgot to wait computes something else.
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <regex>

#include "kernel_test.h"

namespace {

using raddle::Asynchrony;
using Mode = Asynchrony::Mode;
using Words64 = std::vector<std::uint64_t>;

constexpr unsigned kSenders = 45, kSlot = 16;  ///< threads of a block; bytes of memory that each may send to

/// One instruction, and what it does to memory.
struct SendForm {
  std::string instruction;  ///< without operands
  const char* value;
  unsigned bytes;
  std::function<std::uint64_t(std::uint64_t old, std::uint64_t value)> reduce;  ///< null: a store
};

std::uint64_t low(std::uint64_t word) { return word & 0xffffffffu; }
template <class F>
auto on_signed(F f) {
  return [f](std::uint64_t a, std::uint64_t b) {
    return low(static_cast<std::uint64_t>(f(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b))));
  };
}

/// PTX ISA, "st.async" and "red.async".
std::vector<SendForm> send_forms() {
  std::vector<SendForm> forms;
  const std::string counted = ".mbarrier::complete_tx::bytes.";
  for (const char* where : {".weak.shared::cluster", ".shared::cluster", ""}) {
    const std::string st = "st.async" + (where + counted);
    forms.push_back({st + "b32", "%w0", 4, {}});
    forms.push_back({st + "f32", "%f", 4, {}});
    forms.push_back({st + "s64", "%d0", 8, {}});
    forms.push_back({st + "v2.u32", "{%w0, %w1}", 8, {}});
    forms.push_back({st + "v2.f64", "{%e, %d1}", 16, {}});
    forms.push_back({st + "v4.b32", "{%w0, %w1, %w2, %w3}", 16, {}});
  }
  const auto add = [](auto a, auto b) { return a + b; };
  const auto least = [](auto a, auto b) { return std::min(a, b); };
  const auto most = [](auto a, auto b) { return std::max(a, b); };
  for (const char* where : {".shared::cluster", ""}) {
    const std::string red = "red.async.relaxed.cluster" + (where + counted);
    const auto narrow = [&](const char* what, auto f) {
      forms.push_back({red + what, "%w0", 4, [f](auto a, auto b) { return low(f(low(a), low(b))); }});
    };
    narrow("add.u32", add), narrow("add.s32", add), narrow("min.u32", least), narrow("max.u32", most);
    narrow("and.b32", std::bit_and<std::uint64_t>()), narrow("or.b32", std::bit_or<std::uint64_t>());
    narrow("xor.b32", std::bit_xor<std::uint64_t>());
    narrow("inc.u32", [](auto a, auto b) { return a >= b ? 0 : a + 1; });
    narrow("dec.u32", [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; });
    forms.push_back({red + "min.s32", "%w0", 4, on_signed(least)});
    forms.push_back({red + "max.s32", "%w0", 4, on_signed(most)});
    forms.push_back({red + "add.u64", "%d0", 8, add});
    forms.push_back({red + "add.s64", "%d0", 8, add});
  }
  return forms;
}

bool is_sender(unsigned thread) { return thread % 3 != 1; }
/// Stores go to a place of each thread, reductions of several to one.
unsigned place_of(const SendForm& form, unsigned thread) {
  return (form.reduce ? thread % 4 : thread) * kSlot;
}
/// What a thread sends; all send the same where the order of reductions would matter.
Words64 values_to_send(const SendForm& form) {
  std::mt19937_64 random(form.instruction.size());
  const bool counts = form.instruction.find(".inc") + form.instruction.find(".dec") + 2 != 0;
  Words64 values;
  for (unsigned i = 0; i < 2 * 2 * kSenders; ++i) values.push_back(random());
  if (form.reduce && counts) std::fill(values.begin(), values.end(), 9);
  return values;
}

/// Two blocks; each sends from `in` to the other and writes to `out` what it got.
std::string sending_text(const SendForm& form, const std::string& wait) {
  unsigned senders = 0;
  for (unsigned t = 0; t < kSenders; ++t) senders += is_sender(t);
  const bool generic = form.instruction.find("::cluster") == std::string::npos;
  return R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) .reqnctapercluster 2 {
  .reg .b64 %in, %out, %d<2>, %to, %bar;
  .reg .b32 %w<4>, %id, %t, %a, %b, %peer, %own;
  .reg .f32 %f;
  .reg .f64 %e;
  .reg .pred %p, %first, %sends;
  .shared .align 16 .b8 memory[)" +
         std::to_string(kSenders * kSlot) + R"(];
  .shared .align 8 .b64 barrier;
  .shared .b64 rest;
  mov.u32 %t, rest;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  mov.u32 %t, %cluster_ctarank;
  xor.b32 %peer, %t, 1;
  mad.lo.u32 %t, %t, )" +
         std::to_string(kSenders) + R"(, %id;
  mad.wide.u32 %in, %t, 16, %in;
  mad.wide.u32 %out, %t, 16, %out;
  ld.global.v2.b64 {%d0, %d1}, [%in];
  ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%in];
  mov.b32 %f, %w0;
  mov.b64 %e, %d0;
  mov.u32 %own, memory;
  mad.lo.u32 %own, %id, 16, %own;
  st.shared.v2.b64 [%own], {0x4000000140000001, 0x4000000140000001};
  setp.eq.u32 %first, %id, 0;
  @%first mbarrier.init.b64 [barrier], 1;
  @%first mbarrier.arrive.expect_tx.b64 _, [barrier], )" +
         std::to_string(senders * form.bytes) + R"(;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  rem.u32 %t, %id, 3;
  setp.ne.u32 %sends, %t, 1;
  mov.u32 %a, memory;
  )" + (form.reduce ? "and.b32 %t, %id, 3;" : "mov.u32 %t, %id;") +
         R"(
  mad.lo.u32 %a, %t, 16, %a;
  mapa.shared::cluster.u32 %a, %a, %peer;
  mov.u32 %b, barrier;
  mapa.shared::cluster.u32 %b, %b, %peer;
  cvt.u64.u32 %to, %a;
  cvta.shared.u64 %to, %to;
  cvt.u64.u32 %bar, %b;
  cvta.shared.u64 %bar, %bar;
  @%sends )" +
         form.instruction + (generic ? " [%to], " : " [%a], ") + form.value +
         (generic ? ", [%bar]" : ", [%b]") + ";\n" + wait + R"(
  ld.shared.v2.b64 {%d0, %d1}, [%own];
  st.global.v2.b64 [%out], {%d0, %d1};
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)";
}

const std::string kWait = R"(AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p, [barrier], 0;
  @!%p bra AGAIN;
)";

Words64 what_arrives(const SendForm& form, const Words64& sent) {
  Words64 memory(sent.size(), 0x4000000140000001);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  for (unsigned i = 0; i < 2 * kSenders; ++i) {
    const unsigned thread = i % kSenders, to = (1 - i / kSenders) * kSenders * kSlot;
    if (!is_sender(thread)) continue;
    std::uint64_t value[2] = {sent[2 * i], sent[2 * i + 1]}, old = 0;
    std::memcpy(&old, bytes + to + place_of(form, thread), std::min(form.bytes, 8u));
    if (form.reduce) value[0] = form.reduce(old, value[0]);
    std::memcpy(bytes + to + place_of(form, thread), value, form.bytes);
  }
  return memory;
}

class LateSends : public KernelTest {
 protected:
  /// What a kernel of in and out leaves in the latter; empty: it broke, and error_ says how.
  Words64 sent(const std::string& text, const Words64& in, Asynchrony asynchrony, std::uint32_t blocks = 2) {
    close();
    options_.asynchrony = asynchrony;
    load_text(text);
    auto from = buffer(in), to = buffer(Words64(in.size()));
    const auto report = try_run(*module().kernel("k"), {.grid = {blocks}, .block = {kSenders}}, from, to);
    error_ = report.ok() ? "" : report.error().message;
    return report.ok() ? contents(to) : Words64();
  }
  std::string error_;
};
ON_EVERY_ENGINE(LateSends);

// proves: T-16a, T-16d
TEST_P(LateSends, ComeInEveryForm) {
  std::uint64_t seed = 0;
  for (const SendForm& form : send_forms()) {
    const Words64 values = values_to_send(form);
    const Asynchrony late = ++seed % 2 != 0 ? Asynchrony{Mode::lazy} : Asynchrony{Mode::random, seed};
    EXPECT_EQ(sent(sending_text(form, kWait), values, late), what_arrives(form, values))
        << form.instruction << error_;
  }
}

// proves: T-16e, T-16f
TEST_P(LateSends, AreNotThereWithoutAWait) {
  const auto forms = send_forms();
  for (std::size_t i = 0; i < forms.size(); i += 5) {
    const Words64 values = values_to_send(forms[i]);
    // Or one block is gone before its values come: a fault.
    EXPECT_NE(sent(sending_text(forms[i], ""), values, {Mode::lazy}), what_arrives(forms[i], values))
        << forms[i].instruction;
  }
}

TEST_P(LateSends, DependOnTheSeedAlone) {
  const SendForm form = send_forms().front();
  const Words64 values = values_to_send(form);
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    const Words64 first = sent(sending_text(form, ""), values, {Mode::random, seed});
    EXPECT_EQ(sent(sending_text(form, ""), values, {Mode::random, seed}), first) << seed;
  }
}

std::string with_change(std::string text, const std::string& what, const std::string& by) {
  EXPECT_NE(text.find(what), std::string::npos) << what;
  return text.replace(text.find(what), what.size(), by);
}

// Each names a thread that sent, and its line, whenever it is found.
TEST_P(LateSends, FaultWhereTheyWereSent) {
  const SendForm form = send_forms().front();
  const Words64 values = values_to_send(form);
  const std::string text = sending_text(form, kWait), send = "@%sends " + form.instruction;
  const struct {
    std::string text;
    const char* fault;
  } wrong[] = {
      {with_change(text, send, "add.u32 %a, %a, 2; " + send), "misaligned address"},
      {with_change(text, send, "add.u32 %b, %b, 4; " + send), "misaligned address"},
      {with_change(text, send, "mov.u32 %b, %own; " + send), "illegal barrier"},
      {with_change(text, send, "add.u32 %a, %a, 0x8000; " + send), "illegal cluster address"},
  };
  for (const auto& each : wrong) {
    EXPECT_EQ(sent(each.text, values, {Mode::lazy}), Words64());
    EXPECT_THAT(error_, testing::HasSubstr(each.fault));
    EXPECT_THAT(error_, testing::HasSubstr(",0,0), PTX line 46"));
  }
}

// A block that exits while something is on its way to it.
TEST_P(LateSends, FaultIfTheirReceiverHasExited) {
  const SendForm form = send_forms().front();
  std::string text = sending_text(form, "");
  text = with_change(text, "@%sends", "setp.eq.u32 %sends, %peer, 1;\n  @%sends");
  text = with_change(text, "  barrier.cluster.wait;\n  ret;",
                     std::string("  @%sends bra SENT;\n  barrier.cluster.wait;\n  ret;\nSENT:\n") +
                         "  nanosleep.u32 1;\n  nanosleep.u32 1;\n  ret;");
  EXPECT_NE(sent(text, values_to_send(form), {}), Words64()) << error_;
  EXPECT_EQ(sent(text, values_to_send(form), {Mode::lazy}), Words64());
  EXPECT_THAT(error_, testing::HasSubstr("of rank 1 in cluster (0,0,0): the block has exited"));
}

// Block 0 exits while what it sent to block 2 is on its way; block 1 looks into its memory all the time.
// proves: W-19f
TEST_P(LateSends, KeepNoMemoryForOthers) {
  const std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) .reqnctapercluster 3 {
  .reg .b32 %rank, %a, %b, %i;
  .reg .pred %p, %more;
  .shared .align 8 .b64 barrier;
  .shared .b32 word;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %p, %tid.x, 0;
  @%p mbarrier.init.shared.b64 [barrier], 1;
  mov.u32 %a, word;
  mov.u32 %b, barrier;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ne.u32 %p, %rank, 0;
  @%p bra STAYS;
  mapa.shared::cluster.u32 %a, %a, 2;
  mapa.shared::cluster.u32 %b, %b, 2;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%a], 5, [%b];
  ret;
STAYS:
  mapa.shared::cluster.u32 %a, %a, 0;
  setp.eq.u32 %p, %rank, 1;
  mov.u32 %i, 400;
MORE:
  @%p ld.shared::cluster.u32 %b, [%a];
  nanosleep.u32 1;
  sub.u32 %i, %i, 1;
  setp.ne.u32 %more, %i, 0;
  @%more bra MORE;
  ret;
}
)";
  int given_back = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    EXPECT_EQ(sent(text, Words64(4), {Mode::random, seed}, 3), Words64());
    EXPECT_THAT(error_, testing::HasSubstr("of rank 0 in cluster (0,0,0): the block has"));
    EXPECT_THAT(error_, testing::HasSubstr("block (1,0,0)"));
    given_back +=
        error_.find("the block has given it back, as all its warps have exited") != std::string::npos;
  }
  EXPECT_GT(given_back, 0);
}

// All threads of a block exit right after they have sent.
// proves: W-20a
TEST_P(LateSends, ComeThoughTheirSenderIsGone) {
  const SendForm form = send_forms().front();
  const Words64 values = values_to_send(form), all = what_arrives(form, values);
  std::string text =
      with_change(sending_text(form, kWait), "AGAIN:", "  setp.eq.u32 %p, %peer, 1;\n  @%p ret;\nAGAIN:");
  text = with_change(text, "@%sends", "setp.eq.u32 %p, %peer, 0;\n  @%p bra AGAIN;\n  @%sends");
  for (const Asynchrony late :
       {Asynchrony{Mode::lazy}, Asynchrony{Mode::random, 2}, Asynchrony{Mode::random, 3}}) {
    const Words64 got = sent(text, values, late);
    ASSERT_FALSE(got.empty()) << error_;
    EXPECT_EQ(Words64(got.begin() + 2 * kSenders, got.end()), Words64(all.begin() + 2 * kSenders, all.end()));
  }
}

// Its eight bytes are all that is judged, however many come.
TEST_P(LateSends, MayBeCountedAtTheEndOfMemory) {
  const auto forms = send_forms();
  const auto wide = std::ranges::find(forms, 16u, &SendForm::bytes);
  const Words64 values = values_to_send(*wide);
  std::string text = with_change(sending_text(*wide, kWait), "  .shared .b64 rest;\n", "");
  text = with_change(text, "  mov.u32 %t, rest;\n", "");
  EXPECT_EQ(sent(text, values, {}), what_arrives(*wide, values)) << error_;
  EXPECT_EQ(sent(text, values, {Mode::lazy}), what_arrives(*wide, values)) << error_;
}

// ---- as nvcc compiles it ----

class LateHalos : public KernelTest {
 protected:
  static constexpr int kCells = 40, kRods = 2, kBlocks = 4;

  static std::string text() {
    std::ifstream file(RADDLE_KERNEL_TESTS "/../../examples/kernels/halo_exchange.ptx");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The kernel does not wait for what its neighbours send.
  static std::string without_wait() {
    return std::regex_replace(text(), std::regex(R"(mbarrier\.try_wait\S*\s+(\S+),[^;]*;)"),
                              "setp.eq.u32 $1, 0, 0;");
  }

  static std::vector<float> after(std::vector<float> cells, int steps) {
    constexpr std::size_t kRod = std::size_t{kCells} * kBlocks;
    for (; steps != 0; --steps) {
      const std::vector<float> now = cells;
      for (std::size_t i = 0; i < now.size(); ++i) {
        const float left = i % kRod == 0 ? 0 : now[i - 1], right = i % kRod == kRod - 1 ? 0 : now[i + 1];
        cells[i] = std::fma(0.25f, std::fma(-2.0f, now[i], left) + right, now[i]);
      }
    }
    return cells;
  }

  bool is_right(const std::string& text, Asynchrony asynchrony) {
    close();
    options_.asynchrony = asynchrony;
    load_text(text);
    constexpr int kSteps = 5;
    std::vector<float> cells(kCells * kBlocks * kRods);
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = static_cast<float>(i * 37 % 101);
    auto in = buffer(cells), out = buffer(std::vector<float>(cells.size(), -1));
    const auto report =
        try_run(*module().kernel("halo_exchange"),
                {.grid = {kBlocks * kRods}, .block = {kCells}, .cluster = {kBlocks}}, in, out, kSteps);
    return report.ok() && contents(out) == after(cells, kSteps);
  }
};
ON_EVERY_ENGINE(LateHalos);

// proves: T-16a, T-16d
TEST_P(LateHalos, ReachTheirNeighbours) {
  EXPECT_TRUE(is_right(text(), {}));
  EXPECT_TRUE(is_right(text(), {Mode::lazy}));
  for (std::uint64_t seed = 1; seed < 12; ++seed) EXPECT_TRUE(is_right(text(), {Mode::random, seed})) << seed;
}

// proves: T-16e, T-16f
TEST_P(LateHalos, ShowThatNobodyWaited) {
  EXPECT_FALSE(is_right(without_wait(), {Mode::lazy}));
  int wrong = 0;
  for (std::uint64_t seed = 1; seed < 12; ++seed) wrong += !is_right(without_wait(), {Mode::random, seed});
  EXPECT_NE(wrong, 0);
}

}  // namespace
