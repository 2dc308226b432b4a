// Sums that an H200's tensor cores gave, of every kind of product and at the edges: NaN, infinities,
// subnormals, zeros of both signs, overflow. tests/hardware/tensor_core_model.py wrote the file from the
// answers of tests/hardware/probes/tensor_cores_more.cu. A line: operation, types of A, B and D, C, D, a
// row of A, a column of B.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "numerics/half.h"
#include "numerics/matrix.h"
#include "numerics/tensor_core.h"

namespace raddle::numerics {
namespace {

Format format_of(const std::string& name) {
  return name == "f16"    ? kF16
         : name == "bf16" ? kBf16
         : name == "tf32" ? kTf32
         : name == "e4m3" ? kE4m3
                          : kE5m2;
}

float element(std::uint32_t bits, const std::string& type) {
  return matrix_float(type == "tf32" ? bits << 13 : bits, format_of(type));
}

/// What a line says, and what the engine's model makes of it; a NaN is the one with all bits but the
/// sign.
struct Line {
  std::string operation, a_type, b_type, d_type;
  std::uint32_t c = 0, d = 0;
  std::vector<float> a, b;

  explicit Line(const std::string& text) {
    std::istringstream in(text);
    in >> operation >> a_type >> b_type >> d_type >> std::hex >> c >> d;
    std::vector<std::uint32_t> words;
    for (std::uint32_t word; in >> word;) words.push_back(word);
    for (std::size_t i = 0; i < words.size() / 2; ++i) {
      a.push_back(element(words[i], a_type));
      b.push_back(element(words[words.size() / 2 + i], b_type));
    }
  }

  bool to_halves() const { return d_type == "f16"; }

  std::uint32_t computed() const {
    const float start =
        to_halves() ? static_cast<float>(widen(f16{static_cast<std::uint16_t>(c)})) : std::bit_cast<float>(c);
    const Format format = format_of(a_type);
    const bool bytes = a_type == "e4m3" || a_type == "e5m2",
               in_halves = bytes && !operation.starts_with("wgmma");
    const TensorCore core = to_halves() ? hopper_tensor_core_to_halves(format) : hopper_tensor_core(format);
    const float sum =
        in_halves ? byte_sum_in_halves(start, a, b, to_halves()) : tensor_core_sum(core, start, a, b);
    return to_halves() ? narrow<f16>(sum).bits : std::bit_cast<std::uint32_t>(sum);
  }
};

TEST(TensorCoreOfAnH200, GivesTheBitsThatWereAsked) {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "h200_tensor_cores.txt");
  unsigned lines = 0;
  for (std::string text; std::getline(file, text); ++lines) {
    const Line line(text);
    EXPECT_EQ(line.computed(), line.d) << text;
  }
  EXPECT_GT(lines, 400u);
}

}  // namespace
}  // namespace raddle::numerics
