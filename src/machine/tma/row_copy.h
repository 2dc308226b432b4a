// The inner loops of dense rows, with the widest vectors that the host has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/tensor_map.h"

namespace raddle::machine {

/// Rows of equal length at constant distances.
struct RowShape {
  std::uint32_t bytes;  ///< of a row; a multiple of 32
  std::uint32_t count;
  std::int64_t stride;  ///< from row to row in memory
  std::uint32_t pitch;  ///< in shared memory; a multiple of 32
  exec::TensorMap::Swizzle swizzle;
};

/// Whether copier_of() knows a copy. @param shared  offset of the first row, before the swizzle
inline bool has_wide_rows(const RowShape& shape, std::uint32_t shared) {
  return ((shared | shape.bytes | shape.pitch) & 31) == 0;
}
/// memcpy of some KiB, which may come from far away.
void copy_long(std::byte* to, const std::byte* from, std::size_t bytes);

/// From memory to shared memory.
/// @param from    the first row; need not be aligned
/// @param memory  of a CTA: where shared address 0 of it lies
/// @param shared  offset there of the first row, before the swizzle
using CopyRows = void (*)(const RowShape& shape, const std::byte* from, std::byte* memory,
                          std::uint32_t shared);

/// The widest vectors that a copy uses.
enum class CopyVectors : std::uint8_t { none, avx2, avx512 };
/// Those of this host.
CopyVectors host_vectors();
/// What copies such rows on this host, wherever they are.
/// @param shared   as in has_wide_rows(), counts for its alignment only
/// @param vectors  at most the host's
CopyRows copier_of(const RowShape& shape, std::uint32_t shared, CopyVectors vectors = host_vectors());

}  // namespace raddle::machine
