// PTX that other compilers than nvcc wrote (tests/kernels/compilers says how): clang for sm_50, NVRTC for
// sm_75, Triton for sm_80; on tensor cores clang for sm_70, NVRTC for sm_90, Triton for sm_90a.
#include <cmath>
#include <cstdint>

#include "kernel_test.h"
#include "numerics/half.h"

namespace {

class Compilers : public KernelTest {};
ON_EVERY_ENGINE(Compilers);

std::vector<float> values(int count) {
  std::vector<float> result;
  for (int i = 0; i < count; ++i) result.push_back(static_cast<float>(i * 37 % 101) / 16 - 3);
  return result;
}

// proves: K-17b
TEST_P(Compilers, Clang) {
  const int n = 600;
  const auto in = values(n);
  auto out = buffer(std::vector<float>(n)), from = buffer(in);
  run(kernel("compilers/clang.ptx", "reverse"), {.grid = {3}, .block = {256}}, out, from, n);
  const auto got = contents(out);
  for (int i = 0; i < n; ++i) {
    const int mirror = i / 256 * 256 + 255 - i % 256;
    EXPECT_EQ(got[i], mirror < n ? in[mirror] * 2 : 0) << i;
  }
}

// proves: K-17c
TEST_P(Compilers, Nvrtc) {
  const int n = 5000;
  const auto in = values(n);
  auto out = buffer(std::vector<float>(1)), from = buffer(in);
  run(kernel("compilers/nvrtc.ptx", "sum_of_squares"), {.grid = {4}, .block = {256}}, out, from, n);
  double want = 0;
  for (float x : in) want += double{x} * x;
  EXPECT_NEAR(contents(out)[0], want, 1e-5 * want);
}

// proves: K-17d
TEST_P(Compilers, Triton) {
  const int rows = 3, columns = 437;
  const auto in = values(rows * columns);
  auto out = buffer(std::vector<float>(in.size())), from = buffer(in);
  run(kernel("compilers/triton.ptx", "softmax_rows"), {.grid = {rows}, .block = {128}, .shared_bytes = 1024},
      out, from, columns);
  const auto got = contents(out);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(double{in[r * columns + c]});
    for (int c = 0; c < columns; ++c)
      EXPECT_NEAR(got[r * columns + c], std::exp(double{in[r * columns + c]}) / sum, 1e-6) << r << ' ' << c;
  }
}

/// A matrix of small whole numbers, whose products and sums are exact in every format, by rows.
struct Matrix {
  int rows, columns;
  int operator()(int row, int column) const { return (row * 7 + column * 5 + rows) % 9 - 4; }
  template <class Format>
  std::vector<std::uint16_t> elements(bool by_columns = false) const {
    std::vector<std::uint16_t> result;
    const int outer = by_columns ? columns : rows, inner = by_columns ? rows : columns;
    for (int i = 0; i < outer; ++i)
      for (int j = 0; j < inner; ++j) {
        const int value = by_columns ? (*this)(j, i) : (*this)(i, j);
        result.push_back(static_cast<std::uint16_t>(raddle::numerics::narrow<Format>(double(value)).bits));
      }
    return result;
  }
};

void expect_product(const std::vector<float>& got, const Matrix& a, const Matrix& b) {
  ASSERT_EQ(got.size(), static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(b.columns));
  for (int row = 0; row < a.rows; ++row)
    for (int column = 0; column < b.columns; ++column) {
      int sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += a(row, k) * b(k, column);
      ASSERT_EQ(got[static_cast<std::size_t>(row * b.columns + column)], static_cast<float>(sum))
          << row << ' ' << column;
    }
}

// proves: K-17b
TEST_P(Compilers, ClangOnTensorCores) {
  using raddle::numerics::f16;
  const Matrix a{16, 16}, b{16, 16};
  auto out = buffer(std::vector<float>(256));
  auto x = buffer(a.elements<f16>()), y = buffer(b.elements<f16>(true));
  run(kernel("compilers/clang_matrices.ptx", "product"), {.grid = {1}, .block = {32}}, out, x, y);
  expect_product(contents(out), a, b);
}

// proves: K-17c
TEST_P(Compilers, NvrtcOnTensorCores) {
  using raddle::numerics::bf16;
  constexpr unsigned n = 96;
  const Matrix a{n, n}, b{n, n};
  auto out = buffer(std::vector<float>(n * n));
  auto x = buffer(a.elements<bf16>()), y = buffer(b.elements<bf16>(true));
  run(kernel("compilers/nvrtc_matrices.ptx", "product"), {.grid = {n / 32, n / 16}, .block = {32, 2}}, out, x,
      y, static_cast<int>(n));
  expect_product(contents(out), a, b);
}

// Parts that stick out of the matrices are masked.
// proves: K-17d
TEST_P(Compilers, TritonOnTensorCores) {
  using raddle::numerics::f16;
  constexpr std::uint64_t kShared = 24576, kNothing = 0;
  const Matrix a{80, 112}, b{112, 144};
  auto out = buffer(std::vector<float>(80 * 144));
  auto x = buffer(a.elements<f16>()), y = buffer(b.elements<f16>());
  run(kernel("compilers/triton_matmul.ptx", "matmul"),
      {.grid = {2, 3}, .block = {128}, .shared_bytes = kShared}, x, y, out, a.rows, b.columns, a.columns,
      kNothing, kNothing);
  expect_product(contents(out), a, b);
}

}  // namespace
