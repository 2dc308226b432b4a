// The persistent GEMM and attention of examples/kernels, as nvcc compiles them, on devices where copies and
// wgmmas end late; and without each line that orders what they do.
#include <fstream>
#include <iterator>

#include "kernel_test.h"
#include "lost_lines.h"
#include "runner.h"

namespace {

using examples::BufferRef;
using examples::Bytes;
using examples::Example;

/// Whole numbers that bf16 has, and whose products f32 sums without error.
Bytes small_numbers(std::uint32_t seed, std::size_t count) {
  std::vector<std::uint16_t> numbers;
  for (const std::uint32_t word : examples::random_words(seed, count)) {
    const float number = static_cast<float>(word % 9) - 4;
    std::uint32_t bits;
    std::memcpy(&bits, &number, 4);
    numbers.push_back(static_cast<std::uint16_t>(bits >> 16));
  }
  return examples::to_bytes(numbers);
}

examples::TensorMapOf tiles_of(int buffer, unsigned rows, unsigned depth) {
  return {.tensor = {buffer},
          .element = examples::TensorMapOf::bf16,
          .sizes = {depth, rows},
          .box = {64, 64},
          .swizzled = true};
}

/// Two tiles, one after the other, in two passes each: the ring of three stages begins anew.
Example gemm() {
  constexpr unsigned kRows = 256, kColumns = 256, kDepth = 128;
  Example example{"wgmma_gemm",
                  "wgmma_gemm",
                  {small_numbers(1, kRows * kDepth), small_numbers(2, kColumns * kDepth),
                   examples::unwritten(kRows * kColumns * 4)}};
  example.steps = {{"wgmma_gemm",
                    {2, 1, 1},
                    {384, 1, 1},
                    {tiles_of(0, kRows, kDepth), tiles_of(1, kColumns, kDepth), BufferRef{2}, 2, 2, 2},
                    3 * 32768 + 1024,
                    2}};
  return example;
}

/// One tile of queries. The producer's loop is unrolled four times: it is run twice, and a loop for the rest.
Example attention() {
  constexpr unsigned kTiles = 11, kRows = kTiles * 64;
  Example example{"attention", "attention", {}};
  for (std::uint32_t i = 0; i < 3; ++i) example.buffers.push_back(small_numbers(3 + i, kRows * 64));
  example.buffers.push_back(examples::unwritten(kRows * 64 * 4));
  example.steps = {{"attention",
                    {1, 1, 1},
                    {256, 1, 1},
                    {tiles_of(0, kRows, 64), tiles_of(1, kRows, 64), tiles_of(2, kRows, 64), BufferRef{3},
                     static_cast<std::int32_t>(kTiles), 0, 0.03f}}};
  return example;
}

class LateMatrices : public KernelTest {
 protected:
  /// The result of the example with this text is what eager copies give with the right one.
  std::string problem_of(const Example& example, const std::string& text, raddle::Asynchrony asynchrony) {
    close();
    options_.shape = "tiny";
    options_.asynchrony = asynchrony;
    options_.time_limit = std::chrono::seconds(20);
    load_text(text);
    auto results = examples::results_of(example, device(), module());
    if (!results.ok()) return results.error().to_string();
    return results->back() == expected_ ? "" : "wrong result";
  }

  void check(const Example& example) {
    if (interpreted()) GTEST_SKIP() << "this build has no compiler, and the interpreter takes too long";
    std::ifstream file(RADDLE_EXAMPLES_DIR "/kernels/" + example.file + ".ptx");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    load_text(text);
    auto results = examples::results_of(example, device(), module());
    ASSERT_TRUE(results.ok()) << results.error().to_string();
    expected_ = results->back();
    constexpr std::size_t kLines = 20, kEvery = 16;  // each takes as long as it takes to compile
    lost_lines::check(text, kLines, kEvery, false,
                      [&](const std::string& changed, raddle::Asynchrony asynchrony) {
                        return problem_of(example, changed, asynchrony);
                      });
  }

 private:
  Bytes expected_;
};
INSTANTIATE_TEST_SUITE_P(Engines, LateMatrices, testing::Values(kEngines.back()), engine_name);

TEST_P(LateMatrices, OfAGemm) { check(gemm()); }
TEST_P(LateMatrices, OfAnAttention) { check(attention()); }

}  // namespace
