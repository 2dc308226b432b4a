// What products of matrices are compared with, one thread each: hand-written kernels for AVX-512 in floats,
// in pairs of bf16 and in bytes by fours, and oneDNN.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "matrix_numbers.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#ifdef RADDLE_BENCH_ONEDNN
#include <dnnl.hpp>

extern "C" void omp_set_num_threads(int);
#endif

namespace bench {
namespace {

void count_operations(benchmark::State& state) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(kOperations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

#ifdef __x86_64__
constexpr unsigned kRows = 8, kColumns = 48;  // of the tile in registers: 24 sums
constexpr unsigned kPadded = (kSide + kColumns - 1) / kColumns * kColumns;

/// c += a * b, of vectors that hold one, two or four elements along k for each of 16 columns.
struct InFloats {
  using Element = float;
  using Sum = float;
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512 add(__m512 sum, __m512i a, __m512i b) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
  }
  static bool is_here() { return __builtin_cpu_supports("avx512f"); }
};
struct InBf16 {
  using Element = std::uint16_t;
  using Sum = float;
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static __m512 add(__m512 sum, __m512i a,
                                                                              __m512i b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
  static bool is_here() { return __builtin_cpu_supports("avx512bf16"); }
};
/// A by rows of int8 plus 128, as the instruction multiplies uint8 by int8; sums are corrected at the end.
struct InBytes {
  using Element = std::int8_t;
  using Sum = std::int32_t;
  [[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] static __m512i add(__m512i sum, __m512i a,
                                                                               __m512i b) {
    return _mm512_dpbusd_epi32(sum, a, b);
  }
  static bool is_here() { return __builtin_cpu_supports("avx512vnni"); }
};

/// Both packed: word by word along k, the rows of A's tile, the columns of B's.
#define TILE(name, Form, Vector, zero, features)                                                           \
  [[gnu::target(features)]] void name(const std::uint32_t* a, const std::uint32_t* b, Form::Sum* c,        \
                                      unsigned words) {                                                    \
    Vector sums[kRows][3];                                                                                 \
    for (auto& row : sums)                                                                                 \
      for (Vector & sum : row) sum = zero();                                                               \
    for (unsigned k = 0; k < words; ++k, a += kRows, b += kColumns) {                                      \
      const __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 16),                           \
                    b2 = _mm512_loadu_si512(b + 32);                                                       \
      _Pragma("GCC unroll 8") for (unsigned i = 0; i < kRows; ++i) {                                       \
        const __m512i x = _mm512_set1_epi32(static_cast<int>(a[i]));                                       \
        sums[i][0] = Form::add(sums[i][0], x, b0);                                                         \
        sums[i][1] = Form::add(sums[i][1], x, b1);                                                         \
        sums[i][2] = Form::add(sums[i][2], x, b2);                                                         \
      }                                                                                                    \
    }                                                                                                      \
    for (unsigned i = 0; i < kRows; ++i)                                                                   \
      for (unsigned j = 0; j < 3; ++j) _mm512_storeu_si512(c + i * kPadded + j * 16, (__m512i)sums[i][j]); \
  }
TILE(tile_in_floats, InFloats, __m512, _mm512_setzero_ps, "avx512f")
TILE(tile_in_bf16, InBf16, __m512, _mm512_setzero_ps, "avx512f,avx512bf16")
TILE(tile_in_bytes, InBytes, __m512i, _mm512_setzero_si512, "avx512f,avx512vnni")
#undef TILE

template <class Form, class Tile>
void multiply_by_hand(benchmark::State& state, Tile tile) {
  using Element = typename Form::Element;
  if (!Form::is_here()) return state.SkipWithError("this processor has no such instructions");
  constexpr unsigned kInWord = 4 / sizeof(Element), kWords = kSide / kInWord;
  constexpr bool is_bytes = sizeof(Element) == 1;
  std::vector<std::uint32_t> a(kSide * kWords), b(kWords * kPadded);
  auto put = [](std::vector<std::uint32_t>& packed, std::size_t word, unsigned place, Element value) {
    std::memcpy(reinterpret_cast<char*>(&packed[word]) + place * sizeof value, &value, sizeof value);
  };
  for (unsigned i = 0; i < kSide; ++i)
    for (unsigned k = 0; k < kSide; ++k) {
      const unsigned word = k / kInWord;
      put(a, (i / kRows * kWords + word) * kRows + i % kRows, k % kInWord,
          as_element<Element>(element_of_a(i, k) + (is_bytes ? 128 : 0)));
      put(b, (i / kColumns * kWords + word) * kColumns + i % kColumns, k % kInWord,
          as_element<Element>(element_of_b(k, i)));
    }
  std::vector<typename Form::Sum> c(kSide * kPadded), plain(kSide * kSide);
  for (auto step : state) {
    for (unsigned column = 0; column < kPadded; column += kColumns)
      for (unsigned row = 0; row < kSide; row += kRows)
        tile(&a[row * kWords], &b[column * kWords], &c[row * kPadded + column], kWords);
    benchmark::ClobberMemory();
  }
  count_operations(state);
  for (unsigned column = 0; column < kSide; ++column) {
    int too_much = 0;
    for (unsigned k = 0; is_bytes && k < kSide; ++k) too_much += 128 * element_of_b(k, column);
    for (unsigned row = 0; row < kSide; ++row)
      plain[row * kSide + column] = c[row * kPadded + column] - static_cast<typename Form::Sum>(too_much);
  }
  if (auto done = check_product(plain); !done) state.SkipWithError(done.error().message.c_str());
}

void MatrixProductByHandInFloats(benchmark::State& state) {
  multiply_by_hand<InFloats>(state, tile_in_floats);
}
void MatrixProductByHandInBf16(benchmark::State& state) { multiply_by_hand<InBf16>(state, tile_in_bf16); }
void MatrixProductByHandInBytes(benchmark::State& state) { multiply_by_hand<InBytes>(state, tile_in_bytes); }
BENCHMARK(MatrixProductByHandInFloats)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(MatrixProductByHandInBf16)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(MatrixProductByHandInBytes)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
#endif

#ifdef RADDLE_BENCH_ONEDNN
/// B by columns, as the kernels have it.
template <class Element, class Sum>
void multiply_by_onednn(benchmark::State& state, dnnl::memory::data_type element,
                        dnnl::memory::data_type sum) {
  omp_set_num_threads(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::vector<Element> a(kSide * kSide), b(kSide * kSide);
  std::vector<Sum> c(kSide * kSide);
  for (unsigned i = 0; i < kSide; ++i)
    for (unsigned k = 0; k < kSide; ++k) {
      a[i * kSide + k] = as_element<Element>(element_of_a(i, k));
      b[i * kSide + k] = as_element<Element>(element_of_b(k, i));
    }
  using Tag = dnnl::memory::format_tag;
  const dnnl::memory::dims sides = {kSide, kSide};
  const dnnl::memory::desc of_a(sides, element, Tag::ab), of_b(sides, element, Tag::ba),
      of_c(sides, sum, Tag::ab);
  const dnnl::matmul product({{of_a, of_b, of_c}, engine});
  dnnl::memory in_a(of_a, engine, a.data()), in_b(of_b, engine, b.data()), out(of_c, engine, c.data());
  for (auto step : state) {
    product.execute(stream, {{DNNL_ARG_SRC, in_a}, {DNNL_ARG_WEIGHTS, in_b}, {DNNL_ARG_DST, out}});
    stream.wait();
  }
  count_operations(state);
  if (auto done = check_product(c); !done) state.SkipWithError(done.error().message.c_str());
}

using DataType = dnnl::memory::data_type;
void MatrixProductByOneDnnInFloats(benchmark::State& state) {
  multiply_by_onednn<float, float>(state, DataType::f32, DataType::f32);
}
void MatrixProductByOneDnnInBf16(benchmark::State& state) {
  multiply_by_onednn<std::uint16_t, float>(state, DataType::bf16, DataType::f32);
}
void MatrixProductByOneDnnInBytes(benchmark::State& state) {
  multiply_by_onednn<std::int8_t, std::int32_t>(state, DataType::s8, DataType::s32);
}
BENCHMARK(MatrixProductByOneDnnInFloats)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(MatrixProductByOneDnnInBf16)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK(MatrixProductByOneDnnInBytes)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
#endif

}  // namespace
}  // namespace bench
