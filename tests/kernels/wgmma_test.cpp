// Warpgroups' matrix instructions (PTX ISA "wgmma"): every type, places and layouts of the operands at
// random, against the oracle; what is refused; late ones. Long, as all of them run kernels made here.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>

#include "kernel_test.h"
#include "wgmma_oracle.h"

namespace {

using wgmma::Element;
using wgmma::Layout;
using wgmma::Operands;
using wgmma::Spelling;

constexpr unsigned kWarpgroupThreads = 128;
constexpr Element kF16{"f16", 2}, kBf16{"bf16", 2}, kTf32{"tf32", 4}, kE4m3{"e4m3", 1}, kE5m2{"e5m2", 1},
    kS8{"s8", 1}, kU8{"u8", 1}, kB1{"b1", 4};

/// One wgmma as a kernel is compiled for it.
struct Form {
  Spelling spelling;
  bool a_in_registers = false, a_transposed = false, b_transposed = false;
  int a_sign = 1, b_sign = 1;
  unsigned selector = 0;
};

std::string registers(const char* name, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i != 0 ? ", " : "", name, first + i);
  return text + "}";
}

/// @param step  whose descriptors, scale-d and registers of A it takes
std::string instruction(const Form& form, unsigned step = 0) {
  const Spelling& s = form.spelling;
  std::string text = s.text() + " " + registers("d", 0, s.registers()) + ", " +
                     (form.a_in_registers ? registers("a", step * 4, 4) : fmt::format("%desca{}", step)) +
                     fmt::format(", %descb{}", step);
  if (s.sparse) text += fmt::format(", %meta, {}", form.selector);
  text += fmt::format(", %adds{}", step);
  if (std::string(s.d) != "s32") text += fmt::format(", {}, {}", form.a_sign, form.b_sign);
  if (s.is_half_width() && !form.a_in_registers) text += form.a_transposed ? ", 1" : ", 0";
  if (s.is_half_width()) text += form.b_transposed ? ", 1" : ", 0";
  return text + ";";
}

/// Copies an image to shared memory, executes instructions, and gives D back. Registers lie in memory thread
/// by thread; the metadata of a thread is behind its registers of A, four for each step.
/// @param between  what stands before each instruction
std::string kernel_text(const Form& form, const std::vector<std::string>& between = {""}) {
  const auto steps = static_cast<unsigned>(between.size());
  const unsigned d = form.spelling.registers();
  std::string text = R"(.version 9.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 image[];
.visible .entry multiply(.param .u64 from, .param .u32 bytes, .param .u64 a, .param .u64 d,
                         .param .u64 steps) {
  .reg .b64 %from, %at, %pa, %pd, %start;
  .reg .b32 %id, %bytes, %i, %to, %v<4>, %meta, %n, %first;
  .reg .pred %p;
)";
  text += fmt::format("  .reg .b32 %d<{}>, %a<{}>;\n", d, 4 * steps);
  text += fmt::format("  .reg .b64 %desca<{0}>, %descb<{0}>;\n  .reg .pred %adds<{0}>;\n", steps);
  text += R"(  ld.param.u64 %from, [from];
  ld.param.u32 %bytes, [bytes];
  mov.u32 %id, %tid.x;
  mov.u32 %first, image;
  shl.b32 %i, %id, 4;
COPY:
  setp.ge.u32 %p, %i, %bytes;
  @%p bra COPIED;
  cvt.u64.u32 %at, %i;
  add.u64 %at, %from, %at;
  ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%at];
  add.u32 %to, %first, %i;
  st.shared.v4.u32 [%to], {%v0, %v1, %v2, %v3};
  add.u32 %i, %i, 2048;
  bra COPY;
COPIED:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %first, %first, 4;
  cvt.u64.u32 %start, %first;
  ld.param.u64 %at, [steps];
  ld.param.u64 %pa, [a];
  ld.param.u64 %pd, [d];
)";
  for (unsigned i = 0; i < steps; ++i)
    text += fmt::format(
        "  ld.global.u64 %desca{0}, [%at+{1}]; ld.global.u64 %descb{0}, [%at+{2}]; ld.global.u32 %n, "
        "[%at+{3}];\n"
        "  add.u64 %desca{0}, %desca{0}, %start; add.u64 %descb{0}, %descb{0}, %start;\n"
        "  setp.ne.u32 %adds{0}, %n, 0;\n",
        i, 24 * i, 24 * i + 8, 24 * i + 16);
  text += fmt::format("  mad.wide.u32 %pa, %id, {}, %pa;\n", (4 * steps + 1) * 4);
  text += fmt::format("  mad.wide.u32 %pd, %id, {}, %pd;\n", d * 4);
  for (unsigned i = 0; i < 4 * steps; ++i) text += fmt::format("  ld.global.u32 %a{}, [%pa+{}];\n", i, 4 * i);
  text += fmt::format("  ld.global.u32 %meta, [%pa+{}];\n", 16 * steps);
  for (unsigned i = 0; i < d; ++i) text += fmt::format("  ld.global.u32 %d{}, [%pd+{}];\n", i, 4 * i);
  text += "  wgmma.fence.sync.aligned;\n";
  for (unsigned i = 0; i < steps; ++i) text += between[i] + "\n  " + instruction(form, i) + "\n";
  text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  for (unsigned i = 0; i < d; ++i) text += fmt::format("  st.global.u32 [%pd+{}], %d{};\n", 4 * i, i);
  return text + "  ret;\n}\n";
}

class Wgmma : public KernelTest {
 protected:
  /// A run of the loaded form's kernel on random operands in random layouts.
  void check(const Form& form, std::mt19937& random, std::array<unsigned, 2> swizzles, unsigned steps = 1);
  static void check_bounds(const Spelling& s, const Operands& operands,
                           const std::vector<std::uint32_t>& actual);

  void place(std::vector<std::uint8_t>& image, const Layout& layout, const Element& element, unsigned columns,
             const std::vector<std::uint32_t>& values) {
    for (std::uint32_t i = 0; i < values.size(); ++i)
      for (unsigned byte = 0; byte < element.bytes; ++byte)
        image[layout.place(i / columns, i % columns, byte, element.bytes)] =
            static_cast<std::uint8_t>(values[i] >> 8 * byte);
  }
};
ON_EVERY_ENGINE(Wgmma);

void Wgmma::check(const Form& form, std::mt19937& random, std::array<unsigned, 2> swizzles, unsigned steps) {
  const Spelling& s = form.spelling;
  std::vector<Operands> operands;
  std::vector<Layout> layouts_a, layouts_b;
  std::uint32_t end = 0;
  for (unsigned step = 0; step < steps; ++step) {
    operands.push_back(wgmma::random_operands(random, s));
    operands[step].sign = form.a_sign * form.b_sign;
    layouts_a.push_back(
        wgmma::random_layout(random, swizzles[0], !form.a_transposed, 64, s.kept() * s.a.bytes, end, end));
    layouts_b.push_back(
        wgmma::random_layout(random, swizzles[1], !form.b_transposed, s.n, s.depth() * s.b.bytes, end, end));
  }
  std::vector<std::uint8_t> image((end + 15) / 16 * 16);
  for (auto& byte : image) byte = static_cast<std::uint8_t>(random());
  std::vector<std::uint64_t> in_steps;
  std::vector<std::uint32_t> in_registers;
  for (unsigned step = 0; step < steps; ++step) {
    place(image, layouts_a[step], s.a, s.kept(), operands[step].a);
    place(image, layouts_b[step], s.b, s.depth(), operands[step].b);
    in_steps.insert(in_steps.end(), {layouts_a[step].descriptor(), layouts_b[step].descriptor(),
                                     std::uint64_t{operands[step].adds}});
  }
  const auto meta = s.sparse ? wgmma::metadata(s, operands[0], form.selector, random)
                             : std::vector<std::uint32_t>(kWarpgroupThreads);
  for (unsigned thread = 0; thread < kWarpgroupThreads; ++thread) {
    for (const Operands& step : operands) {
      const auto fragment = wgmma::fragment_of_a(s, step.a);
      in_registers.insert(in_registers.end(), &fragment[thread * 4], &fragment[thread * 4] + 4);
    }
    in_registers.push_back(meta[thread]);
  }
  auto from = buffer(image);
  auto registers = buffer(in_registers);
  auto d = buffer(wgmma::fragment_of_d(s, operands[0].d));
  auto described = buffer(in_steps);
  run(*module().kernel("multiply"), {.grid = {1}, .block = {kWarpgroupThreads}, .shared_bytes = image.size()},
      from, static_cast<std::uint32_t>(image.size()), registers, d, described);
  const auto actual = contents(d);
  if (options_.matrix_arithmetic == raddle::MatrixArithmetic::fast)
    return check_bounds(s, operands[0], actual);
  for (unsigned step = 1; step < steps; ++step) operands[step].d = wgmma::product(s, operands[step - 1]);
  const auto expected = wgmma::fragment_of_d(s, wgmma::product(s, operands.back()));
  const Layout &a = layouts_a[0], &b = layouts_b[0];
  const bool halves = std::string(s.d) == "f16";
  unsigned wrong = 0;
  for (std::size_t i = 0; i < expected.size() && wrong < 3; ++i) {
    const std::uint32_t x = expected[i], y = actual[i];
    if (halves ? wgmma::same(s, x & 0xffff, y & 0xffff) && wgmma::same(s, x >> 16, y >> 16)
               : wgmma::same(s, x, y))
      continue;
    ++wrong;
    ADD_FAILURE() << fmt::format(
        "{}\nA: {} bytes, leading {}, stride {}, pattern {}+{}; B: {} bytes, leading {}, stride {}, pattern "
        "{}+{}\nthread {}, register {}: {:#x}, not {:#x}",
        instruction(form), a.swizzle, a.leading, a.stride, a.pattern, a.advance, b.swizzle, b.leading,
        b.stride, b.pattern, b.advance, i / s.registers(), i % s.registers(), y, x);
  }
}

void Wgmma::check_bounds(const Spelling& s, const Operands& operands,
                         const std::vector<std::uint32_t>& actual) {
  const wgmma::Bounded wanted = wgmma::bounded_product(s, operands);
  std::vector<std::uint32_t> numbers(wanted.sums.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto element = wgmma::fragment_of_d(s, numbers);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double sum = wanted.sums[element[i]], found = std::bit_cast<float>(actual[i]);
    if (!(std::abs(sum) < std::numeric_limits<float>::max())) continue;
    ASSERT_LE(std::abs(found - sum), wanted.bounds[element[i]])
        << s.text() << ": " << found << ", not " << sum;
  }
}

struct Types {
  Element a, b;
  const char* d;
  bool saturates = false;
};
constexpr Types kTypes[] = {{kF16, kF16, "f32"},   {kF16, kF16, "f16"},   {kBf16, kBf16, "f32"},
                            {kTf32, kTf32, "f32"}, {kE4m3, kE5m2, "f32"}, {kE5m2, kE4m3, "f16"},
                            {kE4m3, kE4m3, "f16"}, {kE5m2, kE5m2, "f32"}, {kS8, kU8, "s32", true},
                            {kS8, kS8, "s32"},     {kU8, kU8, "s32"},     {kU8, kS8, "s32", true},
                            {kB1, kB1, "s32"}};

/// Few columns more often than many, which take the interpreter long.
unsigned random_columns(std::mt19937& random, const Types& types) {
  static constexpr unsigned kWhole[] = {8, 24, 16, 32, 48, 80, 256};
  if (std::string(types.d) == "s32") return kWhole[random() % std::size(kWhole)];
  return random() % 8 == 0 ? 256 - random() % 8 * 8 : 8 + random() % 10 * 8;
}

constexpr unsigned kSwizzles[] = {16, 32, 64, 128};

/// The interpreter tries every form; of the others, which are compiled, each engine tries some, another time
/// others.
bool is_in_turn(const EngineChoice& engine, unsigned form) {
  const char* seed = std::getenv("RADDLE_TEST_SEED");
  if (std::string(engine.engine) == "interp" || std::getenv("RADDLE_TEST_EXHAUSTIVE") != nullptr) return true;
  const unsigned every = *engine.simd == 0 ? 5 : 13;
  return (form + (seed != nullptr ? std::strtoul(seed, nullptr, 10) : 0)) % every == 0;
}

TEST_P(Wgmma, MultipliesEveryTypeInEveryLayout) {
  std::mt19937 random(20261123);
  unsigned number = 0;
  for (const Types& types : kTypes)
    for (const bool sparse : {false, true})
      for (const bool a_in_registers : {false, true}) {
        if (sparse && std::string(types.a.name) == "b1") continue;
        Form form;
        form.spelling = {types.a, types.b, types.d, random_columns(random, types), sparse, types.saturates};
        form.a_in_registers = a_in_registers;
        form.a_transposed = types.a.bytes == 2 && !a_in_registers && random() % 2 == 0;
        form.b_transposed = types.a.bytes == 2 && random() % 2 == 0;
        form.a_sign = random() % 2 == 0 ? 1 : -1;
        form.b_sign = random() % 2 == 0 ? 1 : -1;
        if (std::string(types.d) == "s32") form.a_sign = form.b_sign = 1;
        form.selector = types.a.bytes == 1 ? 0 : random() % 2;
        if (!is_in_turn(GetParam(), number++)) continue;
        load_text(kernel_text(form));
        for (unsigned i = 0; i < 4; ++i) {
          // 64 bytes of K do not fit a swizzle of 32.
          const unsigned of_b = kSwizzles[sparse && !form.b_transposed && i == 1 ? 2 : i];
          check(form, random, {kSwizzles[random() % 4], of_b});
          if (HasFailure()) return;
        }
        close();
      }
}

/// Compiled code makes several by one call, where they follow each other.
TEST_P(Wgmma, AddsStepAfterStep) {
  std::mt19937 random(59);
  const std::string commit = "  wgmma.commit_group.sync.aligned;";
  const std::string between[] = {"", "", "  add.u32 %i, %i, 1;", commit,
                                 commit + "\n  wgmma.wait_group.sync.aligned 0;"};
  unsigned number = 0;
  for (const Types& types : kTypes)
    for (unsigned i = 0; i < 4; ++i) {
      Form form;
      form.spelling = {types.a, types.b,        types.d, static_cast<unsigned>(8 + random() % 4 * 8),
                       false,   types.saturates};
      form.a_in_registers = i % 2 != 0;
      form.a_transposed = types.a.bytes == 2 && i == 0;
      form.b_transposed = types.a.bytes == 2 && random() % 2 == 0;
      if (std::string(types.d) != "s32") form.a_sign = random() % 2 == 0 ? 1 : -1;
      if (!is_in_turn(GetParam(), number++)) continue;
      std::vector<std::string> steps(2 + random() % 5);
      for (std::string& before : steps) before = between[random() % std::size(between)];
      load_text(kernel_text(form, steps));
      for (unsigned run = 0; run < 3; ++run)
        check(form, random, {kSwizzles[random() % 4], kSwizzles[random() % 4]},
              static_cast<unsigned>(steps.size()));
      if (HasFailure()) return;
      close();
    }
}

TEST_P(Wgmma, MultipliesFastWithinBounds) {
  options_.matrix_arithmetic = raddle::MatrixArithmetic::fast;
  std::mt19937 random(53);
  for (unsigned i = 0; i < 8; ++i) {
    Form form;
    form.spelling = {kBf16, kBf16, "f32", 8 + i % 4 * 8};
    form.a_in_registers = i % 2 != 0;
    form.a_transposed = i % 4 == 0;
    form.b_transposed = i / 2 % 2 != 0;
    form.a_sign = i % 3 == 0 ? -1 : 1;
    load_text(kernel_text(form));
    for (const unsigned swizzle : kSwizzles) check(form, random, {swizzle, swizzle});
    close();
  }
}

/// A kernel of so many threads with an instruction that is wrong, at line 12.
std::string wrong_kernel(const std::string& before, const std::string& instruction) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .f32 %d<4>;
  .reg .b32 %id, %r;
  .reg .b64 %a, %b;
  .reg .pred %p, %q;
  .shared .align 1024 .b8 tile[3072];
  mov.u32 %id, %tid.x; mov.b64 %a, 0x0040000400000040; mov.b64 %b, %a; setp.ne.u32 %p, %id, 1000;
  )" + before +
         "\n  " + instruction + "\n  st.shared.f32 [tile], %d0;\n  ret;\n}\n";
}

const std::string kProduct =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %a, %b, %p, 1, 1, 0, 0;";

TEST_P(Wgmma, SaysWhatIsWrong) {
  struct Wrong {
    std::string before, instruction;
    unsigned threads;
    const char *fault, *text;
  };
  const Wrong cases[] = {
      {"setp.ne.u32 %q, %id, 7;", "@%q " + kProduct, 128, "illegal instruction", "all 32 threads"},
      {"", kProduct, 96, "illegal instruction", "four whole warps"},
      {"", "wgmma.wait_group.sync.aligned 0;", 32, "illegal instruction", "four whole warps"},
      {"cvt.u64.u32 %a, %id;", kProduct, 128, "illegal instruction", "the same descriptors"},
      {"setp.ne.u32 %p, %id, 3;", kProduct, 128, "illegal instruction", "the same scale-d"},
      {"mov.b64 %a, 0x0040000400002000;", kProduct, 128, "illegal address",
       "outside the block's shared memory"},
      {"mov.b64 %b, 0x4000000000000100;", kProduct, 128, "illegal address",
       "outside the block's shared memory"}};
  for (const Wrong& wrong : cases) {
    close();
    load_text(wrong_kernel(wrong.before, wrong.instruction));
    auto out = buffer(std::vector<std::uint32_t>(1));
    const auto report = try_run(*module().kernel("k"), {.grid = {1}, .block = {wrong.threads}}, out);
    ASSERT_FALSE(report.ok()) << wrong.instruction;
    EXPECT_THAT(report.error().message, testing::HasSubstr(wrong.fault));
    EXPECT_THAT(report.error().message, testing::HasSubstr(wrong.text));
    EXPECT_THAT(report.error().message, testing::HasSubstr("PTX line 12"));
  }
}

/// The first warp goes on from its wait and overwrites what the others multiply by; they come late.
TEST_P(Wgmma, WaitsForTheWholeWarpgroup) {
  load_text(R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .f32 %d<4>;
  .reg .b32 %id, %at, %a, %r;
  .reg .b64 %b, %out;
  .reg .pred %first;
  .shared .align 128 .b8 tile[256];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  and.b32 %at, %id, 63;
  mov.u32 %a, tile;
  mad.lo.u32 %at, %at, 4, %a;
  st.shared.u32 [%at], 0x3f803f80;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %a, %a, 4;
  cvt.u64.u32 %b, %a;
  or.b64 %b, %b, 0x80000;
  mov.u32 %r, 0x3f803f80;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, {%r, %r, %r, %r}, %b, 0, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  setp.lt.u32 %first, %id, 32;
  @%first st.shared.u32 [%at], 0;
  mad.wide.u32 %out, %id, 4, %out;
  st.global.f32 [%out], %d3;
  ret;
}
)");
  auto out = buffer(std::vector<float>(kWarpgroupThreads));
  run(*module().kernel("k"), {.grid = {1}, .block = {kWarpgroupThreads}}, out);
  EXPECT_EQ(contents(out), std::vector<float>(kWarpgroupThreads, 16.0f));
}

/// Ones times ones; what is behind the wait, or before it, is what the test is about.
std::string late_kernel(const std::string& before_wait, const std::string& after_wait) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .f32 %d<4>;
  .reg .b32 %id, %at, %a, %r;
  .reg .b64 %b, %out;
  .shared .align 128 .b8 tile[256];
  ld.param.u64 %out, [out];
  mov.u32 %id, %tid.x;
  and.b32 %at, %id, 63;
  mov.u32 %a, tile;
  mad.lo.u32 %at, %at, 4, %a;
  st.shared.u32 [%at], 0x3f803f80;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %a, %a, 4;
  cvt.u64.u32 %b, %a;
  or.b64 %b, %b, 0x80000;
  mov.u32 %r, 0x3f803f80;
  mad.wide.u32 %out, %id, 4, %out;
  mov.f32 %d3, 0f00000000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, {%r, %r, %r, %r}, %b, 0, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  )" + before_wait +
         "\n  wgmma.wait_group.sync.aligned 0;\n  " + after_wait + "\n  ret;\n}\n";
}

class LateWgmma : public KernelTest {
 protected:
  using Mode = raddle::Asynchrony::Mode;
  /// What a warpgroup's kernel k(out) leaves in `words` words of each thread.
  std::vector<std::uint32_t> results(const std::string& text, raddle::Asynchrony asynchrony, unsigned words) {
    close();
    options_.asynchrony = asynchrony;
    load_text(text);
    auto out = buffer(std::vector<std::uint32_t>(kWarpgroupThreads * words));
    run(*module().kernel("k"), {.grid = {1}, .block = {kWarpgroupThreads}}, out);
    return contents(out);
  }
  /// What the interpreter leaves.
  static std::vector<std::uint32_t> interpreted(const std::string& text, raddle::Asynchrony asynchrony,
                                                unsigned words) {
    raddle::DeviceOptions options;
    options.engine = "interp";
    options.asynchrony = asynchrony;
    auto device = raddle::Device::open(options);
    auto module = device->load(text);
    auto out = device->buffer(std::vector<std::uint32_t>(kWarpgroupThreads * words));
    auto launch = module->kernel("k")->launch({.grid = {1}, .block = {kWarpgroupThreads}}, *out);
    EXPECT_TRUE(launch.ok() && launch->wait().ok());
    std::vector<std::uint32_t> left(out->size());
    EXPECT_TRUE(out->read(left).ok());
    return left;
  }
  /// The same in each thread.
  void expect(const std::string& text, Mode mode, float expected) {
    EXPECT_EQ(results(text, {mode}, 1),
              std::vector(kWarpgroupThreads, std::bit_cast<std::uint32_t>(expected)))
        << text;
  }
};
ON_EVERY_ENGINE(LateWgmma);

/// Where copies land late a wgmma ends when it is waited for.
TEST_P(LateWgmma, EndsWhereItIsWaitedFor) {
  struct Case {
    const char *before, *after;
    Mode mode;
    float expected;
  };
  const char* const store = "st.global.f32 [%out], %d3;";
  const char* const overwrite = "st.shared.u32 [%at], 0; fence.proxy.async.shared::cta; bar.sync 0;";
  const Case cases[] = {
      {"", store, Mode::eager, 16},
      {store, "", Mode::eager, 16},
      {"", store, Mode::lazy, 16},
      {store, "", Mode::lazy, 0},
      {overwrite, store, Mode::lazy, 0},
      {"mov.u32 %r, 0;", store, Mode::eager, 16},
      {"mov.u32 %r, 0;", store, Mode::lazy, 0},
      {"st.shared.u32 [%at], 0; bar.sync 0;", store, Mode::lazy, 16},
      {"wgmma.wait_group.sync.aligned 1;\n  st.global.f32 [%out], %d3;", "", Mode::lazy, 0}};
  for (const Case& each : cases) expect(late_kernel(each.before, each.after), each.mode, each.expected);
}

/// Elements of A may be constants.
TEST_P(LateWgmma, TakesConstants) {
  std::string text = late_kernel("", "st.global.f32 [%out], %d3;");
  const std::string a = "{%r, %r, %r, %r}";
  text.replace(text.find(a), a.size(), "{0x3f803f80, 0x3f803f80, 0x3f803f80, %r}");
  for (const auto mode : {Mode::eager, Mode::lazy}) expect(text, mode, 16);
}

/// In a device function it ends at once: its registers go with the function.
TEST_P(LateWgmma, EndsInItsFunction) {
  const std::string text = late_kernel("", "st.global.f32 [%out], %d3;");
  const std::size_t first = text.find("  wgmma.fence"), end = text.find("  st.global"),
                    entry = text.find(".visible");
  std::string called = text;
  called.replace(first, end - first, "  call (%d3), product, (%b, %r);\n");
  called.insert(entry,
                ".func (.reg .f32 %d3) product(.reg .b64 %b, .reg .b32 %r) {\n  .reg .f32 %d<3>;\n"
                "  mov.f32 %d3, 0f00000000;\n" +
                    text.substr(first, text.find("  wgmma.wait") - first) + "  ret;\n}\n");
  expect(called, Mode::lazy, 16);
}

/// Wrong programs: they read, and overwrite, what wgmmas in flight use, whose results' registers lie in
/// different orders.
std::string racing_kernel() {
  const auto product = [](const char* d, const char* a) {
    return fmt::format(
        "  wgmma.fence.sync.aligned;\n"
        "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{{}}}, {{{}}}, %b, 1, 1, 1, 0;\n",
        d, a);
  };
  std::string text = late_kernel("", "");
  text.resize(text.find("  wgmma.fence"));
  const char* const d = "%d0, %d1, %d2, %d3";
  const char* const e = "%d3, %e1, %e2, %d0";
  unsigned stored = 0;
  const auto look = [&] {
    for (const char* name : {"%d0", "%d1", "%d3", "%e1"})
      text += fmt::format("  st.global.f32 [%out+{}], {};\n", 4 * stored++, name);
  };
  for (unsigned turn = 0; turn < 3; ++turn) {
    text += product(d, "%r, %r, %r, %r") + "  wgmma.commit_group.sync.aligned;\n";
    look();
    text += "  add.u32 %r, %r, 0x00800080;\n" + product(e, "%r, %id, %r, %id") +
            "  wgmma.commit_group.sync.aligned;\n";
    look();
    text += fmt::format("  wgmma.wait_group.sync.aligned {};\n", 2 - turn);
    look();
  }
  text.replace(text.find("%id, 4, %out"), 12, fmt::format("%id, {}, %out", 4 * stored));
  text.replace(text.find("%d<4>"), 5, "%d<4>, %e<4>");
  return text + "  ret;\n}\n";
}

/// The same seed, the same answer on every engine, be it wrong.
TEST_P(LateWgmma, EndsWhenTheSeedSays) {
  constexpr unsigned kWords = 36;
  const std::string text = racing_kernel();
  std::set<std::vector<std::uint32_t>> answers;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const raddle::Asynchrony asynchrony{seed == 0 ? Mode::lazy : Mode::random, seed};
    const auto answer = results(text, asynchrony, kWords);
    EXPECT_EQ(answer, interpreted(text, asynchrony, kWords)) << seed;
    answers.insert(answer);
  }
  EXPECT_GT(answers.size(), 4u);
}

/// Without a fence D is garbage, and users are told of the line.
TEST_P(LateWgmma, WantsItsFence) {
  const std::string text = late_kernel("", "st.global.f32 [%out], %d3;");
  const std::string fence = "wgmma.fence.sync.aligned;";
  std::string unfenced = text;
  unfenced.erase(unfenced.find(fence), fence.size());
  for (const auto mode : {Mode::lazy, Mode::random}) {
    testing::internal::CaptureStderr();
    expect(text, mode, 16);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    testing::internal::CaptureStderr();
    expect(unfenced, mode, std::bit_cast<float>(0xb7b7b7b7));
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_THAT(told, testing::HasSubstr("warning: a wgmma in kernel k"));
    EXPECT_THAT(told, testing::HasSubstr("PTX line 24"));
    EXPECT_THAT(told, testing::HasSubstr("wgmma.fence is missing"));
    EXPECT_EQ(std::ranges::count(told, '\n'), 1);
  }
  expect(unfenced, Mode::eager, 16);
}

}  // namespace
