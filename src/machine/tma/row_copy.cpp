#include "machine/tma/row_copy.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace raddle::machine {
namespace {

constexpr std::uint32_t kPair = 32;   ///< bytes: two units of a swizzle, which stay neighbours
constexpr std::uint32_t kLine = 128;  ///< bytes in which a swizzle moves units

// Loops work on copies of what is wanted: the bytes that they write might belong to what a reference leads
// to.

/// Which bits of a line's number move its units.
std::uint32_t swizzle_mask(exec::TensorMap::Swizzle swizzle) {
  const std::uint32_t units = swizzle_bytes(swizzle) / 16;
  return units == 0 ? 0 : units - 1;
}

bool is_multiple(const RowShape& shape, std::uint32_t shared, std::uint32_t of) {
  return ((shape.bytes | shared | shape.pitch) & (of - 1)) == 0;
}

void copy_pairs(const RowShape& wanted, const std::byte* from, std::byte* memory, std::uint32_t shared) {
  const RowShape shape = wanted;
  for (std::uint32_t row = 0; row < shape.count; ++row, from += shape.stride, shared += shape.pitch)
    for (std::uint32_t at = 0; at < shape.bytes; at += 16)
      std::memcpy(memory + swizzled(shared + at, shape.swizzle), from + at, 16);
}

#if defined(__x86_64__)
/// As many pairs as one line has left, all with the same swizzle: its lowest bit swaps the halves of pairs,
/// the others exchange pairs.
template <bool swaps>
__attribute__((target("avx2"), always_inline)) inline void copy_line(std::byte* memory, std::uint32_t shared,
                                                                     std::uint32_t other,
                                                                     const std::byte* from,
                                                                     std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += kPair) {
    __m256i pair = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    if constexpr (swaps) pair = _mm256_permute4x64_epi64(pair, 0x4e);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(memory + ((shared + at) ^ other)), pair);
  }
}

template <bool swaps>
__attribute__((target("avx2"), always_inline)) inline void copy_whole_line(std::byte* line,
                                                                           std::uint32_t other,
                                                                           const std::byte* from) {
  __m256i pairs[kLine / kPair];
  for (std::uint32_t i = 0; i < kLine / kPair; ++i) {
    pairs[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * kPair));
    if constexpr (swaps) pairs[i] = _mm256_permute4x64_epi64(pairs[i], 0x4e);
  }
  for (std::uint32_t i = 0; i < kLine / kPair; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(line + ((i * kPair) ^ other)), pairs[i]);
}

/// Rows of whole lines, as most are.
__attribute__((target("avx2"))) void copy_lines(const RowShape& wanted, const std::byte* row,
                                                std::byte* memory, std::uint32_t first) {
  const RowShape shape = wanted;
  const std::uint32_t mask = swizzle_mask(shape.swizzle);
  for (std::uint32_t left = shape.count; left != 0; --left, row += shape.stride, first += shape.pitch) {
    const std::byte* from = row;
    for (std::uint32_t shared = first; shared < first + shape.bytes; shared += kLine, from += kLine) {
      const std::uint32_t moves = shared / kLine & mask, other = (moves & ~1u) * 16;
      if ((moves & 1) != 0)
        copy_whole_line<true>(memory + shared, other, from);
      else
        copy_whole_line<false>(memory + shared, other, from);
    }
  }
}

__attribute__((target("avx2"))) void copy_avx2(const RowShape& wanted, const std::byte* row,
                                               std::byte* memory, std::uint32_t first) {
  const RowShape shape = wanted;
  const std::uint32_t mask = swizzle_mask(shape.swizzle);
  for (std::uint32_t rows = shape.count; rows != 0; --rows, row += shape.stride, first += shape.pitch) {
    const std::byte* from = row;
    std::uint32_t shared = first;
    for (std::uint32_t left = shape.bytes; left != 0;) {
      const std::uint32_t bytes = mask == 0 ? left : std::min(left, kLine - shared % kLine);
      const std::uint32_t moves = shared / kLine & mask, other = (moves & ~1u) * 16;
      if ((moves & 1) != 0)
        copy_line<true>(memory, shared, other, from, bytes);
      else
        copy_line<false>(memory, shared, other, from, bytes);
      from += bytes, shared += bytes, left -= bytes;
    }
  }
}

constexpr std::uint32_t kHalf = kLine / 2;  ///< bytes: the widest vector

/// How the lowest two bits that move units permute those of each half of a line.
__attribute__((target("avx512f"), always_inline)) inline __m512i moved(__m512i half, std::uint32_t moves) {
  alignas(64) static constexpr std::int64_t kOrders[4][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
  return _mm512_permutexvar_epi64(_mm512_load_si512(kOrders[moves & 3]), half);
}

/// A line by its halves, which the highest bit of `moves` exchanges.
template <bool swizzles>
__attribute__((target("avx512f"), always_inline)) inline void copy_line_avx512(std::byte* line,
                                                                               const std::byte* from,
                                                                               std::uint32_t moves) {
  __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + kHalf);
  if constexpr (swizzles) low = moved(low, moves), high = moved(high, moves);
  const std::uint32_t half = (moves & 4) * 16;
  _mm512_storeu_si512(line + half, low);
  _mm512_storeu_si512(line + (kHalf - half), high);
}

/// Rows of one line, as most are. Where the widest swizzle is, they follow each other in shared memory, and
/// it comes to its begin every eight lines: such eight are copied without a question.
template <bool swizzles>
__attribute__((target("avx512f"))) void copy_single_lines(const RowShape& shape, const std::byte* row,
                                                          std::byte* memory, std::uint32_t first) {
  const std::int64_t stride = shape.stride;
  const std::uint32_t pitch = shape.pitch, mask = swizzles ? swizzle_mask(shape.swizzle) : 0;
  std::uint32_t left = shape.count;
  constexpr std::uint32_t kTurn = 8;  // lines
  if (swizzles && mask == kTurn - 1 && pitch == kLine && first % (kTurn * kLine) == 0)
    for (; left >= kTurn; left -= kTurn, first += kTurn * kLine)
#pragma GCC unroll 8
      for (std::uint32_t line = 0; line < kTurn; ++line, row += stride)
        copy_line_avx512<true>(memory + first + line * kLine, row, line);
  for (; left != 0; --left, row += stride, first += pitch)
    copy_line_avx512<swizzles>(memory + first, row, first / kLine & mask);
}

/// Rows of several lines.
template <bool swizzles>
__attribute__((target("avx512f"))) void copy_lines_avx512(const RowShape& wanted, const std::byte* row,
                                                          std::byte* memory, std::uint32_t first) {
  const RowShape shape = wanted;
  const std::uint32_t mask = swizzles ? swizzle_mask(shape.swizzle) : 0;
  for (std::uint32_t left = shape.count; left != 0; --left, row += shape.stride, first += shape.pitch)
    for (std::uint32_t at = 0; at != shape.bytes; at += kLine)
      copy_line_avx512<swizzles>(memory + first + at, row + at, (first + at) / kLine & mask);
}

/// Rows of half a line, of which narrower swizzles permute each by itself.
template <bool swizzles>
__attribute__((target("avx512f"))) void copy_half_lines(const RowShape& shape, const std::byte* row,
                                                        std::byte* memory, std::uint32_t first) {
  const std::int64_t stride = shape.stride;
  const std::uint32_t pitch = shape.pitch, mask = swizzles ? swizzle_mask(shape.swizzle) : 0;
  for (std::uint32_t left = shape.count; left != 0; --left, row += stride, first += pitch) {
    const __m512i half = _mm512_loadu_si512(row);
    _mm512_storeu_si512(memory + first, swizzles ? moved(half, first / kLine & mask) : half);
  }
}

/// By quarters, a line of each in turn: the processor fetches ahead of four streams more than of one.
/// @param bytes  of a quarter; a multiple of a line of the host's caches
__attribute__((target("avx512f"))) void copy_quarters(std::byte* to, const std::byte* from,
                                                      std::size_t bytes) {
  for (std::size_t at = 0; at != bytes; at += sizeof(__m512i))
    for (unsigned quarter = 0; quarter < 4; ++quarter)
      _mm512_storeu_si512(to + quarter * bytes + at, _mm512_loadu_si512(from + quarter * bytes + at));
}

const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

/// @returns null: rows of other lengths
CopyRows copier_by_lines(const RowShape& shape, std::uint32_t shared) {
  const bool swizzles = shape.swizzle != exec::TensorMap::Swizzle::none;
  if (shape.bytes == kHalf && swizzle_mask(shape.swizzle) < 4 && is_multiple(shape, shared, kHalf))
    return swizzles ? copy_half_lines<true> : copy_half_lines<false>;
  if (!is_multiple(shape, shared, kLine)) return nullptr;
  if (shape.bytes == kLine) return swizzles ? copy_single_lines<true> : copy_single_lines<false>;
  return swizzles ? copy_lines_avx512<true> : copy_lines_avx512<false>;
}
#endif

}  // namespace

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  if (has_avx512 && bytes % (4 * sizeof(__m512i)) == 0) return copy_quarters(to, from, bytes / 4);
#endif
  std::memcpy(to, from, bytes);
}

CopyVectors host_vectors() {
#if defined(__x86_64__)
  if (has_avx512) return CopyVectors::avx512;
  if (has_avx2) return CopyVectors::avx2;
#endif
  return CopyVectors::none;
}

CopyRows copier_of(const RowShape& shape, std::uint32_t shared, CopyVectors vectors) {
#if defined(__x86_64__)
  if (vectors == CopyVectors::avx512)
    if (const CopyRows copy = copier_by_lines(shape, shared)) return copy;
  if (vectors != CopyVectors::none) return is_multiple(shape, shared, kLine) ? copy_lines : copy_avx2;
#endif
  return copy_pairs;
}

}  // namespace raddle::machine
