// Moves bytes between memory and shared memory: what a response does when it lands. Rows that are dense in
// both move as whole vectors.
#pragma once

#include "machine/tma/generator.h"
#include "machine/tma/proxy_views.h"
#include "machine/tma/row_copy.h"

namespace raddle::machine {

/// Whether rows lie in the tensor as a whole, do not change on their way to shared memory, and copier_of() is
/// for them. copy_long() is for long ones.
bool copies_whole_rows(const TmaJob& job, const TmaRows& rows);
RowShape shape_of(const TmaJob& job, const TmaRows& rows);

/// Lands rows in the memory of every receiver, or takes them from there, as the job says.
void move_rows(const TmaJob& job, const TmaRows& rows);

/// Whether rows may be stored past the host's caches: as they are, in pieces that are worth it.
bool may_go_past_caches(const TmaJob& job);
/// move_rows() of such a job, past the caches. Nothing orders them yet.
void move_rows_past_caches(const TmaJob& job, const TmaRows& rows);

/// The same in a modelled space: piece by piece, as pages tell where rows lie. Stops at what leads nowhere.
TmaProblem move_rows_by_pages(const TmaJob& job, const TmaRows& rows);

/// One memory request: at most a line, with where it lands, so that requests may do so in any order.
struct TmaLine {
  std::uint64_t global = 0;  ///< 0: nothing in memory, these bytes are filled
  std::uint32_t shared = 0;  ///< offset in a CTA's memory, before the swizzle
  std::uint32_t bytes = 0;
};

/// Lands a line of a job that loads in one receiver's memory. @param views  of sources in shared memory, and
/// of the receivers; null: the memory itself
void land_line(const TmaJob& job, const TmaLine& line, std::uint32_t rank, const ProxyViews* views);
/// Of a job that stores: takes the bytes from shared memory; writes them.
void read_line(const TmaJob& job, const TmaLine& line, std::byte* buffer, const ProxyViews* views);
/// Whether what such a line reads of shared memory is what threads have left there.
TmaMistake staleness_of(const TmaJob& job, const TmaLine& line, const ProxyViews& views);
void write_line(const TmaJob& job, const TmaLine& line, const std::byte* buffer);

/// Some bytes, by their generic address.
struct ByteRange {
  std::uint64_t begin = 0, bytes = 0;

  bool meets(const ByteRange& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};
/// What a copy does with bytes.
enum class TmaUse : std::uint8_t { reads, writes };
/// Whether such a line, or one of any length, does so with some of these.
/// @param rank  of its receiver; of a job that stores, of its source
bool touches(const TmaJob& job, const TmaLine& line, std::uint32_t rank, const ByteRange& place, TmaUse use);

}  // namespace raddle::machine
