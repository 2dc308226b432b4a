// PTX that other compilers than nvcc wrote (tests/kernels/compilers says how): clang for sm_50, NVRTC for
// sm_75, Triton for sm_80.
#include <cmath>
#include <cstdint>

#include "kernel_test.h"

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

}  // namespace
