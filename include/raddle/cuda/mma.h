// nvcuda::wmma: matrices that the 32 threads of a warp hold together, by PTX's wmma instructions. A
// fragment's elements are in the order of the registers of its instruction. Declared by macros, since a
// type's shapes and layouts are parts of the instruction's name. Source: CUDA C++ Programming Guide,
// "Warp Matrix Functions";
// PTX ISA, "Matrix Fragments for WMMA".
#pragma once

#include "raddle/cuda/cuda_bf16.h"
#include "raddle/cuda/cuda_fp16.h"
#include "raddle/cuda/cuda_runtime.h"

#ifdef __CUDACC__

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment;

template <typename T, typename Stored, int count>
struct raddle_fragment {
  using element_type = T;
  using storage_element_type = Stored;
  static constexpr int num_elements = count, num_storage_elements = count;
  Stored x[count];
};

template <typename Use, int m, int n, int k, typename T, typename Layout, typename Value>
RADDLE_DEVICE void fill_fragment(fragment<Use, m, n, k, T, Layout>& all, const Value& value) {
  for (auto& element : all.x) element = value;
}

/// The nearest number of 10 bits after the point, as tf32 matrices want them.
RADDLE_DEVICE float __float_to_tf32(float x) {
  unsigned int bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

// Registers of an instruction: their list in its text, and as operands of asm.
#define RADDLE_LIST_1(x) "{%[" #x "0]}"
#define RADDLE_LIST_2(x) "{%[" #x "0], %[" #x "1]}"
#define RADDLE_LIST_4(x) "{%[" #x "0], %[" #x "1], %[" #x "2], %[" #x "3]}"
#define RADDLE_LIST_8(x) \
  "{%[" #x "0], %[" #x "1], %[" #x "2], %[" #x "3], %[" #x "4], %[" #x "5], %[" #x "6], %[" #x "7]}"
#define RADDLE_WORDS_1(x, kind) [x##0] kind(x[0])
#define RADDLE_WORDS_2(x, kind) RADDLE_WORDS_1(x, kind), [x##1] kind(x[1])
#define RADDLE_WORDS_4(x, kind) RADDLE_WORDS_2(x, kind), [x##2] kind(x[2]), [x##3] kind(x[3])
#define RADDLE_WORDS_8(x, kind) \
  RADDLE_WORDS_4(x, kind), [x##4] kind(x[4]), [x##5] kind(x[5]), [x##6] kind(x[6]), [x##7] kind(x[7])
#define RADDLE_TEXT(x) #x
#define RADDLE_SHAPE(m, n, k) "m" RADDLE_TEXT(m) "n" RADDLE_TEXT(n) "k" RADDLE_TEXT(k)

// One layout of a factor. Word: what a register holds; kind: its letter in asm.
#define RADDLE_LOAD_FACTOR(use, letter, m, n, k, T, Stored, type, count, Word, kind, layout)              \
  template <>                                                                                             \
  class fragment<use, m, n, k, T, layout##_major>                                                         \
      : public raddle_fragment<T, Stored, count * sizeof(Word) / sizeof(Stored)> {};                      \
  RADDLE_DEVICE void load_matrix_sync(fragment<use, m, n, k, T, layout##_major>& to, const void* from,    \
                                      unsigned int stride) {                                              \
    Word r[count];                                                                                        \
    asm volatile("wmma.load." #letter ".sync.aligned." #layout                                            \
                 "." RADDLE_SHAPE(m, n, k) "." #type " " RADDLE_LIST_##count(r) ", [%[from]], %[stride];" \
                 : RADDLE_WORDS_##count(r, "=" kind)                                                      \
                 : [from] "l"(from), [stride] "r"(stride)                                                 \
                 : "memory");                                                                             \
    __builtin_memcpy(to.x, r, sizeof r);                                                                  \
  }
#define RADDLE_FACTORS_ROW_COL(m, n, k, T, Stored, type, A, B, Word, kind)      \
  RADDLE_LOAD_FACTOR(matrix_a, a, m, n, k, T, Stored, type, A, Word, kind, row) \
  RADDLE_LOAD_FACTOR(matrix_b, b, m, n, k, T, Stored, type, B, Word, kind, col)
#define RADDLE_FACTORS(m, n, k, T, Stored, type, A, B, Word, kind)              \
  RADDLE_FACTORS_ROW_COL(m, n, k, T, Stored, type, A, B, Word, kind)            \
  RADDLE_LOAD_FACTOR(matrix_a, a, m, n, k, T, Stored, type, A, Word, kind, col) \
  RADDLE_LOAD_FACTOR(matrix_b, b, m, n, k, T, Stored, type, B, Word, kind, row)

// Sums: the layout is an argument.
#define RADDLE_MOVE_SUM(m, n, k, type, count, kind, layout, load)                                       \
  if constexpr (load)                                                                                   \
    asm volatile("wmma.load.c.sync.aligned." #layout                                                    \
                 "." RADDLE_SHAPE(m, n, k) "." #type " " RADDLE_LIST_##count(r) ", [%[at]], %[stride];" \
                 : RADDLE_WORDS_##count(r, "=" kind)                                                    \
                 : [at] "l"(at), [stride] "r"(stride)                                                   \
                 : "memory");                                                                           \
  else                                                                                                  \
    asm volatile("wmma.store.d.sync.aligned." #layout                                                   \
                 "." RADDLE_SHAPE(m, n, k) "." #type " [%[at]], " RADDLE_LIST_##count(                  \
                     r) ", %[stride];" ::RADDLE_WORDS_##count(r, kind),                                 \
                 [at] "l"(at), [stride] "r"(stride)                                                     \
                 : "memory");
#define RADDLE_SUM(m, n, k, T, type, count, Word, kind)                                      \
  template <>                                                                                \
  class fragment<accumulator, m, n, k, T, void>                                              \
      : public raddle_fragment<T, T, count * sizeof(Word) / sizeof(T)> {};                   \
  RADDLE_DEVICE void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const T* at,    \
                                      unsigned int stride, layout_t layout) {                \
    Word r[count];                                                                           \
    if (layout == mem_row_major) {                                                           \
      RADDLE_MOVE_SUM(m, n, k, type, count, kind, row, true)                                 \
    } else {                                                                                 \
      RADDLE_MOVE_SUM(m, n, k, type, count, kind, col, true)                                 \
    }                                                                                        \
    __builtin_memcpy(to.x, r, sizeof r);                                                     \
  }                                                                                          \
  RADDLE_DEVICE void store_matrix_sync(T* at, const fragment<accumulator, m, n, k, T>& from, \
                                       unsigned int stride, layout_t layout) {               \
    Word r[count];                                                                           \
    __builtin_memcpy(r, from.x, sizeof r);                                                   \
    if (layout == mem_row_major) {                                                           \
      RADDLE_MOVE_SUM(m, n, k, type, count, kind, row, false)                                \
    } else {                                                                                 \
      RADDLE_MOVE_SUM(m, n, k, type, count, kind, col, false)                                \
    }                                                                                        \
  }

// d = a * b + c. `operation`: what follows wmma.mma; `types`: the end of the instruction's name.
#define RADDLE_MULTIPLY_ASM(operation, la, lb, m, n, k, types, A, B, kind, D, d_kind, C, c_kind)         \
  asm volatile(                                                                                          \
      "wmma.mma" operation ".sync.aligned." #la "." #lb "." RADDLE_SHAPE(m, n, k) types                  \
      " " RADDLE_LIST_##D(d) ", " RADDLE_LIST_##A(a) ", " RADDLE_LIST_##B(b) ", " RADDLE_LIST_##C(c) ";" \
      : RADDLE_WORDS_##D(d, "=" d_kind)                                                                  \
      : RADDLE_WORDS_##A(a, kind), RADDLE_WORDS_##B(b, kind), RADDLE_WORDS_##C(c, c_kind))
#define RADDLE_MULTIPLY(la, lb, m, n, k, T, A, B, Word, kind, TD, D, WordD, d_kind, TC, C, WordC, c_kind, \
                        types, saturated)                                                                 \
  RADDLE_DEVICE void mma_sync(fragment<accumulator, m, n, k, TD>& result,                                 \
                              const fragment<matrix_a, m, n, k, T, la##_major>& left,                     \
                              const fragment<matrix_b, m, n, k, T, lb##_major>& right,                    \
                              const fragment<accumulator, m, n, k, TC>& sum, bool saturate = false) {     \
    Word a[A], b[B];                                                                                      \
    WordD d[D];                                                                                           \
    WordC c[C];                                                                                           \
    __builtin_memcpy(a, left.x, sizeof a);                                                                \
    __builtin_memcpy(b, right.x, sizeof b);                                                               \
    __builtin_memcpy(c, sum.x, sizeof c);                                                                 \
    if (saturate)                                                                                         \
      RADDLE_MULTIPLY_ASM("", la, lb, m, n, k, types saturated, A, B, kind, D, d_kind, C, c_kind);        \
    else                                                                                                  \
      RADDLE_MULTIPLY_ASM("", la, lb, m, n, k, types, A, B, kind, D, d_kind, C, c_kind);                  \
    __builtin_memcpy(result.x, d, sizeof d);                                                              \
  }
#define RADDLE_MULTIPLIES(...)           \
  RADDLE_MULTIPLY(row, row, __VA_ARGS__) \
  RADDLE_MULTIPLY(row, col, __VA_ARGS__) \
  RADDLE_MULTIPLY(col, row, __VA_ARGS__) \
  RADDLE_MULTIPLY(col, col, __VA_ARGS__)

// Only whole numbers saturate.
#define RADDLE_F16_SHAPE(m, n, k)                                                                            \
  RADDLE_FACTORS(m, n, k, __half, __half, f16, 8, 8, unsigned int, "r")                                      \
  RADDLE_SUM(m, n, k, __half, f16, 4, unsigned int, "r")                                                     \
  RADDLE_SUM(m, n, k, float, f32, 8, float, "f")                                                             \
  RADDLE_SUM(m, n, k, int, s32, 8, int, "r")                                                                 \
  RADDLE_MULTIPLIES(m, n, k, __half, 8, 8, unsigned int, "r", float, 8, float, "f", float, 8, float, "f",    \
                    ".f32.f32", "")                                                                          \
  RADDLE_MULTIPLIES(m, n, k, __half, 8, 8, unsigned int, "r", __half, 4, unsigned int, "r", __half, 4,       \
                    unsigned int, "r", ".f16.f16", "")                                                       \
  RADDLE_MULTIPLIES(m, n, k, __half, 8, 8, unsigned int, "r", float, 8, float, "f", __half, 4, unsigned int, \
                    "r", ".f32.f16", "")                                                                     \
  RADDLE_MULTIPLIES(m, n, k, __half, 8, 8, unsigned int, "r", __half, 4, unsigned int, "r", float, 8, float, \
                    "f", ".f16.f32", "")
#define RADDLE_BF16_SHAPE(m, n, k, A, B)                                                                    \
  RADDLE_FACTORS(m, n, k, __nv_bfloat16, __nv_bfloat16, bf16, A, B, unsigned int, "r")                      \
  RADDLE_MULTIPLIES(m, n, k, __nv_bfloat16, A, B, unsigned int, "r", float, 8, float, "f", float, 8, float, \
                    "f", ".f32.bf16.bf16.f32", "")
#define RADDLE_BYTE_SHAPE(m, n, k, T, type, A, B)                                            \
  RADDLE_FACTORS(m, n, k, T, T, type, A, B, unsigned int, "r")                               \
  RADDLE_MULTIPLIES(m, n, k, T, A, B, unsigned int, "r", int, 8, int, "r", int, 8, int, "r", \
                    ".s32." #type "." #type ".s32", ".satfinite")

RADDLE_F16_SHAPE(16, 16, 16)
RADDLE_F16_SHAPE(32, 8, 16)
RADDLE_F16_SHAPE(8, 32, 16)
RADDLE_BF16_SHAPE(16, 16, 16, 4, 4)
RADDLE_BF16_SHAPE(32, 8, 16, 8, 2)
RADDLE_BF16_SHAPE(8, 32, 16, 2, 8)
RADDLE_BYTE_SHAPE(16, 16, 16, signed char, s8, 2, 2)
RADDLE_BYTE_SHAPE(32, 8, 16, signed char, s8, 4, 1)
RADDLE_BYTE_SHAPE(8, 32, 16, signed char, s8, 1, 4)
RADDLE_BYTE_SHAPE(16, 16, 16, unsigned char, u8, 2, 2)
RADDLE_BYTE_SHAPE(32, 8, 16, unsigned char, u8, 4, 1)
RADDLE_BYTE_SHAPE(8, 32, 16, unsigned char, u8, 1, 4)

RADDLE_FACTORS(16, 16, 8, precision::tf32, float, tf32, 4, 4, unsigned int, "r")
RADDLE_SUM(16, 16, 8, float, f32, 8, float, "f")
RADDLE_MULTIPLIES(16, 16, 8, precision::tf32, 4, 4, unsigned int, "r", float, 8, float, "f", float, 8, float,
                  "f", ".f32.tf32.tf32.f32", "")

RADDLE_FACTORS(8, 8, 4, double, double, f64, 1, 1, double, "d")
RADDLE_SUM(8, 8, 4, double, f64, 2, double, "d")
RADDLE_MULTIPLIES(8, 8, 4, double, 1, 1, double, "d", double, 2, double, "d", double, 2, double, "d",
                  ".f64.f64.f64.f64", "")

// Parts of bytes: a in rows, b in columns.
RADDLE_FACTORS_ROW_COL(8, 8, 32, experimental::precision::s4, int, s4, 1, 1, int, "r")
RADDLE_FACTORS_ROW_COL(8, 8, 32, experimental::precision::u4, unsigned int, u4, 1, 1, unsigned int, "r")
RADDLE_SUM(8, 8, 32, int, s32, 2, int, "r")
RADDLE_MULTIPLY(row, col, 8, 8, 32, experimental::precision::s4, 1, 1, int, "r", int, 2, int, "r", int, 2,
                int, "r", ".s32.s4.s4.s32", ".satfinite")
RADDLE_MULTIPLY(row, col, 8, 8, 32, experimental::precision::u4, 1, 1, unsigned int, "r", int, 2, int, "r",
                int, 2, int, "r", ".s32.u4.u4.s32", ".satfinite")
RADDLE_FACTORS_ROW_COL(8, 8, 128, experimental::precision::b1, unsigned int, b1, 1, 1, unsigned int, "r")
RADDLE_SUM(8, 8, 128, int, s32, 2, int, "r")

/// The sum of a's and b's bits that differ (XOR), or are both set (AND).
RADDLE_DEVICE void bmma_sync(
    fragment<accumulator, 8, 8, 128, int>& result,
    const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& left,
    const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& right,
    const fragment<accumulator, 8, 8, 128, int>& sum,
    experimental::bmmaBitOp operation = experimental::bmmaBitOpXOR,
    experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  const unsigned int *a = left.x, *b = right.x;
  const int* c = sum.x;
  int* d = result.x;
  if (operation == experimental::bmmaBitOpXOR)
    RADDLE_MULTIPLY_ASM(".xor.popc", row, col, 8, 8, 128, ".s32.b1.b1.s32", 1, 1, "r", 2, "r", 2, "r");
  else
    RADDLE_MULTIPLY_ASM(".and.popc", row, col, 8, 8, 128, ".s32.b1.b1.s32", 1, 1, "r", 2, "r", 2, "r");
}

#undef RADDLE_LIST_1
#undef RADDLE_LIST_2
#undef RADDLE_LIST_4
#undef RADDLE_LIST_8
#undef RADDLE_WORDS_1
#undef RADDLE_WORDS_2
#undef RADDLE_WORDS_4
#undef RADDLE_WORDS_8
#undef RADDLE_TEXT
#undef RADDLE_SHAPE
#undef RADDLE_LOAD_FACTOR
#undef RADDLE_FACTORS_ROW_COL
#undef RADDLE_FACTORS
#undef RADDLE_MOVE_SUM
#undef RADDLE_SUM
#undef RADDLE_MULTIPLY_ASM
#undef RADDLE_MULTIPLY
#undef RADDLE_MULTIPLIES
#undef RADDLE_F16_SHAPE
#undef RADDLE_BF16_SHAPE
#undef RADDLE_BYTE_SHAPE

}  // namespace wmma
}  // namespace nvcuda

#endif
