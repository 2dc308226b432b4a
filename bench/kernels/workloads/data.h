// Inputs and comparisons of all workloads. Inputs come from a hash of the index, so references need no copy
// of them; comparisons are written so that a NaN fails. References are double precision (integers: exact)
// in the plainest form there is.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "../parallel.h"
#include "../workload.h"

namespace bench {

/// @param stream  another input, other numbers
inline std::uint32_t hash(std::uint32_t stream, std::uint32_t i) {
  std::uint64_t z = (std::uint64_t{stream} << 32 | i) + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 16);
}

/// Uniform in [low, high), 24 bits.
inline float uniform(std::uint32_t stream, long i, float low, float high) {
  return low + (high - low) * static_cast<float>(hash(stream, static_cast<std::uint32_t>(i)) >> 8) * 0x1p-24f;
}

void fill_uniform(const Buffer& buffer, std::uint32_t stream, float low, float high);
void fill_hash(const Buffer& buffer, std::uint32_t stream);
/// Bytes that no kernel is expected to leave behind: what was never written is not taken for a right result.
void fill_unwritten(const Buffer& buffer);
void clear(const Buffer& buffer);

/// The lowest index for which `wrong` holds, or -1.
template <class Wrong>
long first_wrong(long count, const Wrong& wrong) {
  std::atomic<long> lowest{count};
  parallel_for(count, [&](long begin, long end) {
    for (long i = begin; i < end; ++i) {
      if (!wrong(i)) continue;
      long seen = lowest.load();
      while (i < seen && !lowest.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  return lowest == count ? -1 : lowest.load();
}

/// Compares floats with `expected(i)`: |got - expected| <= relative * |expected| + absolute.
template <class Expected>
Result<void> compare(std::span<const float> got, double relative, double absolute, const Expected& expected) {
  const long bad = first_wrong(static_cast<long>(got.size()), [&](long i) {
    const double want = expected(i);
    return !(std::abs(got[i] - want) <= relative * std::abs(want) + absolute);
  });
  if (bad < 0) return {};
  return Error::invalid("element {}: {} instead of {} (tolerance {} relative, {} absolute)", bad, got[bad],
                        expected(bad), relative, absolute);
}

/// Compares integers, exactly.
template <class T>
Result<void> compare_exactly(std::span<const T> got, std::span<const T> want) {
  const long bad = first_wrong(static_cast<long>(want.size()), [&](long i) { return got[i] != want[i]; });
  if (bad < 0) return {};
  return Error::invalid("element {}: {} instead of {}", bad, got[bad], want[bad]);
}

}  // namespace bench
