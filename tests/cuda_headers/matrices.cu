// nvcuda::wmma: products of whole numbers, which every format holds exactly, of all types, shapes and layouts.
#include <mma.h>

#include <string>

#include "check.h"

using namespace nvcuda;

template <typename Layout>
constexpr bool kByRows = std::is_same_v<Layout, wmma::row_major>;

/// d = a b + c of one warp; d in rows, c in columns, both without gaps.
template <int m, int n, int k, typename T, typename LayoutA, typename LayoutB, typename Stored, typename Sum>
__global__ void multiply(const Stored* a, const Stored* b, const Sum* c, Sum* d) {
  wmma::fragment<wmma::matrix_a, m, n, k, T, LayoutA> left;
  wmma::fragment<wmma::matrix_b, m, n, k, T, LayoutB> right;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> sum, result;
  wmma::load_matrix_sync(left, a, kByRows<LayoutA> ? k : m);
  wmma::load_matrix_sync(right, b, kByRows<LayoutB> ? n : k);
  wmma::load_matrix_sync(sum, c, m, wmma::mem_col_major);
  wmma::mma_sync(result, left, right, sum);
  wmma::mma_sync(result, left, right, result);
  for (int i = 0; i < result.num_elements; ++i) result.x[i] = result.x[i] - sum.x[i] + sum.x[i];
  wmma::store_matrix_sync(d, result, n, wmma::mem_row_major);
}

template <int m, int n, int k, typename T, typename LayoutA, typename LayoutB, typename Stored, typename Sum>
bool product_is_right() {
  const int low = Stored(-1) < Stored(0) ? -3 : 0;
  const auto value = [&](int i) { return low + i * 7 % 6; };
  std::vector<Stored> a(m * k), b(k * n);
  std::vector<Sum> c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = Stored(value(i + i / 5));
  for (int i = 0; i < k * n; ++i) b[i] = Stored(value(i * 5 + i / 3));
  for (int i = 0; i < m * n; ++i) c[i] = Sum(i % 9);
  Buffer<Stored> in_a(a), in_b(b);
  Buffer<Sum> in_c(c), out(m * n);
  multiply<m, n, k, T, LayoutA, LayoutB><<<1, 32>>>(in_a.get(), in_b.get(), in_c.get(), out.get());
  const std::vector<Sum> got = out.contents();
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      double exact = (double)c[column * m + row];
      for (int i = 0; i < k; ++i)
        exact += 2 * (double)a[kByRows<LayoutA> ? row * k + i : i * m + row] * (double)b[kByRows<LayoutB> ? i * n + column : column * k + i];
      if ((double)got[row * n + column] != exact) return false;
    }
  return true;
}

template <int m, int n, int k, typename T, typename Sum, typename Stored = T>
void all_layouts(const char* name) {
  using wmma::col_major, wmma::row_major;
  const bool good = product_is_right<m, n, k, T, row_major, row_major, Stored, Sum>() && product_is_right<m, n, k, T, row_major, col_major, Stored, Sum>() &&
                    product_is_right<m, n, k, T, col_major, row_major, Stored, Sum>() && product_is_right<m, n, k, T, col_major, col_major, Stored, Sum>();
  check(good, name, (std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k)).c_str());
}

template <typename T, typename Sum>
void all_shapes(const char* name) {
  all_layouts<16, 16, 16, T, Sum>(name);
  all_layouts<32, 8, 16, T, Sum>(name);
  all_layouts<8, 32, 16, T, Sum>(name);
}

template <typename T, int bits, typename Word>
__global__ void multiply_parts(const Word* a, const Word* b, int* saturated, int* wrapped) {
  wmma::fragment<wmma::matrix_a, 8, 8, bits, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, bits, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, bits, int> sum, result;
  wmma::load_matrix_sync(left, a, bits);
  wmma::load_matrix_sync(right, b, bits);
  wmma::fill_fragment(sum, 0x7fffffff);
  if constexpr (bits == 128) {
    wmma::fill_fragment(sum, 1);
    wmma::bmma_sync(result, left, right, sum, wmma::experimental::bmmaBitOpAND);
    wmma::store_matrix_sync(saturated, result, 8, wmma::mem_row_major);
    wmma::bmma_sync(result, left, right, sum);
  } else {
    wmma::mma_sync(result, left, right, sum, true);
    wmma::store_matrix_sync(saturated, result, 8, wmma::mem_row_major);
    wmma::mma_sync(result, left, right, sum);
  }
  wmma::store_matrix_sync(wrapped, result, 8, wmma::mem_row_major);
}

/// 4-bit numbers, and single bits: 8 rows of a and 8 columns of b, of 128 bits each.
template <typename T, int count, typename Word>
void parts(const char* name) {
  std::vector<Word> a(32), b(32);
  unsigned state = 5;
  for (int i = 0; i < 32; ++i) a[i] = state = state * 1664525 + 1013904223, b[i] = state = state * 1664525 + 1013904223;
  Buffer<Word> in_a(a), in_b(b);
  Buffer<int> first(64), second(64);
  multiply_parts<T, count><<<1, 32>>>(in_a.get(), in_b.get(), first.get(), second.get());
  const std::vector<int> one = first.contents(), other = second.contents();
  const auto part = [](const std::vector<Word>& from, int i) {
    const int bits = 128 / count;
    const int each = (unsigned)from[i / (32 / bits)] >> (i % (32 / bits) * bits) & ((1u << bits) - 1);
    return std::is_signed_v<Word> && each > 7 ? each - 16 : each;
  };
  bool good = true;
  for (int i = 0; i < 64; ++i) {
    long long sum = 0, differ = 0;
    for (int j = 0; j < count; ++j) {
      const int left = part(a, i / 8 * count + j), right = part(b, i % 8 * count + j);
      sum += left * right;
      differ += left != right;
    }
    if (count == 128) good = good && one[i] == 1 + sum && other[i] == 1 + differ;
    else good = good && one[i] == std::min(0x7fffffffll + sum, 0x7fffffffll) && other[i] == (int)(unsigned)(0x7fffffffll + sum);
  }
  check(good, name);
}

/// c = a b of matrices of many tiles, as programs use fragments.
__global__ void gemm(const half* a, const half* b, float* c, int size) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < size; i += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::load_matrix_sync(left, a + blockIdx.y * 16 * size + i, size);
    wmma::load_matrix_sync(right, b + blockIdx.x * 16 * size + i, size);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (float& each : sum.x) each *= 0.5f;
  wmma::store_matrix_sync(c + blockIdx.y * 16 * size + blockIdx.x * 16, sum, size, wmma::mem_row_major);
}

void whole_product() {
  constexpr int kSize = 64;
  std::vector<half> a(kSize * kSize), b(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i) a[i] = half(i % 11 - 5), b[i] = half(i % 7 - 3);
  Buffer<half> in_a(a), in_b(b);
  Buffer<float> out(kSize * kSize);
  gemm<<<dim3(kSize / 16, kSize / 16), 32>>>(in_a.get(), in_b.get(), out.get(), kSize);
  const std::vector<float> got = out.contents();
  bool good = true;
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column) {
      float exact = 0;
      for (int i = 0; i < kSize; ++i) exact += (float)a[row * kSize + i] * (float)b[column * kSize + i] / 2;
      good = good && got[row * kSize + column] == exact;
    }
  check(good, "a product of tiles");
}

__global__ void round(float* x) { *x = wmma::__float_to_tf32(*x); }

int main() {
  all_shapes<half, float>("half to float");
  all_shapes<half, half>("half to half");
  all_shapes<__nv_bfloat16, float>("bfloat16");
  all_shapes<signed char, int>("signed bytes");
  all_shapes<unsigned char, int>("unsigned bytes");
  all_layouts<16, 16, 8, wmma::precision::tf32, float, float>("tf32");
  all_layouts<8, 8, 4, double, double>("double");
  parts<wmma::experimental::precision::s4, 32, int>("signed 4-bit numbers, saturated");
  parts<wmma::experimental::precision::u4, 32, unsigned>("unsigned 4-bit numbers, saturated");
  parts<wmma::experimental::precision::b1, 128, unsigned>("bits");
  whole_product();
  Buffer<float> number(std::vector<float>{1.0f + 0x1p-11f});
  round<<<1, 1>>>(number.get());
  check(number.contents()[0] == 1.0f + 0x1p-10f, "__float_to_tf32");
  return finish();
}
