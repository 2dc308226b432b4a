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

std::uint32_t units_of(exec::TensorMap::Swizzle swizzle) { return swizzle_bytes(swizzle) / 16; }

std::uint32_t swizzle_mask(const RowCopy& copy) {
  return units_of(copy.swizzle) == 0 ? 0 : units_of(copy.swizzle) - 1;
}

bool has_whole_lines(const RowCopy& copy) {
  return ((copy.bytes | copy.shared | copy.pitch) & (kLine - 1)) == 0;
}

void copy_pairs(const RowCopy& copy) {
  for (std::uint32_t row = 0; row < copy.count; ++row) {
    const std::byte* from = copy.from + row * copy.stride;
    const std::uint32_t shared = copy.shared + row * copy.pitch;
    for (std::uint32_t at = 0; at < copy.bytes; at += 16)
      std::memcpy(copy.memory + swizzled(shared + at, copy.swizzle), from + at, 16);
  }
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
__attribute__((target("avx2"))) void copy_lines(const RowCopy& wanted, std::uint32_t mask) {
  const RowCopy copy = wanted;
  for (std::uint32_t row = 0; row < copy.count; ++row) {
    const std::byte* from = copy.from + row * copy.stride;
    const std::uint32_t first = copy.shared + row * copy.pitch;
    for (std::uint32_t shared = first; shared < first + copy.bytes; shared += kLine, from += kLine) {
      const std::uint32_t moves = shared / kLine & mask, other = (moves & ~1u) * 16;
      if ((moves & 1) != 0)
        copy_whole_line<true>(copy.memory + shared, other, from);
      else
        copy_whole_line<false>(copy.memory + shared, other, from);
    }
  }
}

/// A line by its halves: the highest bit of `moves` exchanges them, the others permute the units of each.
__attribute__((target("avx512f"), always_inline)) inline void copy_line_avx512(std::byte* line,
                                                                               const std::byte* from,
                                                                               std::uint32_t moves) {
  alignas(64) static constexpr std::int64_t kOrders[4][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
  constexpr std::uint32_t kHalf = kLine / 2;
  const __m512i order = _mm512_load_si512(kOrders[moves & 3]);
  const __m512i low = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(from));
  const __m512i high = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(from + kHalf));
  const std::uint32_t half = (moves & 4) * 16;
  _mm512_storeu_si512(line + half, low);
  _mm512_storeu_si512(line + (kHalf - half), high);
}

/// Rows of whole lines. Where a swizzle is, most are one line, one after another in shared memory, and it
/// comes to its begin every eight lines: such eight are copied without a question.
template <bool swizzles>
__attribute__((target("avx512f"))) void copy_lines_avx512(const RowCopy& wanted) {
  // Field by field: they have just been written, and wide loads of a copy would wait for that.
  const std::byte* row = wanted.from;
  std::byte* const memory = wanted.memory;
  std::uint32_t first = wanted.shared, left = wanted.count;
  const std::uint32_t bytes = wanted.bytes, pitch = wanted.pitch;
  const std::int64_t stride = wanted.stride;
  const std::uint32_t mask = swizzles ? swizzle_mask(wanted) : 0;
  constexpr std::uint32_t kTurn = 8;  // lines
  if (mask == kTurn - 1 && bytes == kLine && pitch == kLine && first % (kTurn * kLine) == 0)
    for (; left >= kTurn; left -= kTurn, first += kTurn * kLine)
#pragma GCC unroll 8
      for (std::uint32_t line = 0; line < kTurn; ++line, row += stride)
        copy_line_avx512(memory + first + line * kLine, row, line);
  if (bytes == kLine) {  // a loop in the loop would take half as long again
    for (; left != 0; --left, row += stride, first += pitch)
      copy_line_avx512(memory + first, row, first / kLine & mask);
    return;
  }
  for (; left != 0; --left, row += stride, first += pitch)
    for (std::uint32_t at = 0; at != bytes; at += kLine)
      copy_line_avx512(memory + first + at, row + at, (first + at) / kLine & mask);
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

__attribute__((target("avx2"))) void copy_avx2(const RowCopy& wanted) {
  const RowCopy copy = wanted;
  const std::uint32_t mask = swizzle_mask(copy);
  if (has_whole_lines(copy)) return copy_lines(copy, mask);
  for (std::uint32_t row = 0; row < copy.count; ++row) {
    const std::byte* from = copy.from + row * copy.stride;
    std::uint32_t shared = copy.shared + row * copy.pitch;
    for (std::uint32_t left = copy.bytes; left != 0;) {
      const std::uint32_t bytes = mask == 0 ? left : std::min(left, kLine - shared % kLine);
      const std::uint32_t moves = shared / kLine & mask, other = (moves & ~1u) * 16;
      if ((moves & 1) != 0)
        copy_line<true>(copy.memory, shared, other, from, bytes);
      else
        copy_line<false>(copy.memory, shared, other, from, bytes);
      from += bytes, shared += bytes, left -= bytes;
    }
  }
}
#endif

}  // namespace

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  if (has_avx512 && bytes % (4 * sizeof(__m512i)) == 0) return copy_quarters(to, from, bytes / 4);
#endif
  std::memcpy(to, from, bytes);
}

CopyRows copier_of(const RowCopy& copy) {
#if defined(__x86_64__)
  if (has_avx512 && has_whole_lines(copy))
    return swizzle_mask(copy) == 0 ? copy_lines_avx512<false> : copy_lines_avx512<true>;
  if (has_avx2) return copy_avx2;
#endif
  return copy_pairs;
}

}  // namespace raddle::machine
