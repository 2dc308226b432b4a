// The inner loops of dense rows, with the widest vectors that the host has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/tensor_map.h"

namespace raddle::machine {

/// Rows of equal length at constant distances.
struct RowCopy {
  const std::byte* from;
  std::byte* memory;     ///< of a CTA: where shared address 0 of it lies
  std::uint32_t shared;  ///< offset there of the first row, before the swizzle; a multiple of 32
  std::uint32_t bytes;   ///< of a row; a multiple of 32
  std::uint32_t count;
  std::int64_t stride;  ///< from row to row at `from`
  std::uint32_t pitch;  ///< in shared memory; a multiple of 32
  exec::TensorMap::Swizzle swizzle;
};

/// Whether copier_of() knows a copy.
inline bool has_wide_rows(const RowCopy& copy) { return ((copy.shared | copy.bytes | copy.pitch) & 31) == 0; }
/// memcpy of some KiB, which may come from far away.
void copy_long(std::byte* to, const std::byte* from, std::size_t bytes);

/// From memory to shared memory; `from` need not be aligned.
using CopyRows = void (*)(const RowCopy& copy);
/// What copies such rows on this host, wherever they are.
/// @param copy  `shared` counts for its alignment only
CopyRows copier_of(const RowCopy& copy);

}  // namespace raddle::machine
