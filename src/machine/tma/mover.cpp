#include "machine/tma/mover.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/past_caches.h"
#include "exec/cluster.h"
#include "machine/services/reach.h"

namespace raddle::machine {

using exec::BulkDirection;
using exec::swizzled;
using exec::TensorMap;

namespace {

constexpr std::uint32_t kSwizzleUnit = 16;  ///< bytes: what a swizzle moves as one
constexpr std::uint32_t kLong = 2048;       ///< bytes of a row that is worth copy_long()

/// Whether rows lie in the tensor as a whole and only lie elsewhere in shared memory.
bool moves_whole_rows(const TmaJob& job, const TmaRows& rows) {
  return rows.inside && job.begin == 0 && job.end == job.row_bytes && !job.converts && job.reduce == nullptr;
}

const std::byte* host(std::uint64_t address) { return reinterpret_cast<const std::byte*>(address); }
std::byte* writable(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

/// Calls `part(place in shared memory, distance from the begin, bytes)` for each part of [offset, offset +
/// bytes) that the swizzle leaves in one piece.
template <class Part>
void each_part(TensorMap::Swizzle swizzle, std::uint32_t offset, std::uint32_t bytes, Part part) {
  if (swizzle == TensorMap::Swizzle::none) return part(offset, 0u, bytes);
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t here = offset + at;
    const std::uint32_t size = std::min(kSwizzleUnit - here % kSwizzleUnit, bytes - at);
    part(swizzled(here, swizzle), at, size);
    at += size;
  }
}

void convert(TensorMap::Element element, std::byte* to, const std::byte* from, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t word;
    std::memcpy(&word, from + at, sizeof word);
    word = exec::converted(word, element);
    std::memcpy(to + at, &word, sizeof word);
  }
}

/// Copies, or converts, or reduces.
void put(const TmaJob& job, std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if (job.reduce != nullptr)
    job.reduce(to, from, bytes);
  else if (job.converts)
    convert(job.element, to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

void fill(const TmaJob& job, std::byte* memory, std::uint32_t offset, std::uint32_t bytes) {
  if (bytes == 0) return;
  each_part(job.swizzle, offset, bytes, [&](std::uint32_t place, std::uint32_t, std::uint32_t size) {
    if (job.fill == 0)
      std::memset(memory + place, 0, size);
    else  // of floating-point elements: places and sizes are even
      for (std::uint32_t i = 0; i < size; i += 2) std::memcpy(memory + place + i, &job.fill, 2);
  });
}

void load(const TmaJob& job, std::byte* memory, std::uint32_t offset, const std::byte* from,
          std::uint32_t bytes) {
  each_part(job.swizzle, offset, bytes, [&](std::uint32_t place, std::uint32_t at, std::uint32_t size) {
    put(job, memory + place, from + at, size);
  });
}

void store(const TmaJob& job, const std::byte* memory, std::uint32_t offset, std::byte* to,
           std::uint32_t bytes) {
  each_part(job.swizzle, offset, bytes, [&](std::uint32_t place, std::uint32_t at, std::uint32_t size) {
    put(job, to + at, memory + place, size);
  });
}

void load_rows(const TmaJob& job, const TmaRows& rows, std::byte* memory) {
  if (copies_whole_rows(job, rows)) {
    const RowShape shape = shape_of(job, rows);
    return copier_of(shape, rows.shared)(shape, host(rows.global), memory, rows.shared);
  }
  const bool is_long =
      moves_whole_rows(job, rows) && job.swizzle == TensorMap::Swizzle::none && job.row_bytes >= kLong;
  std::uint64_t global = rows.global;
  std::uint32_t shared = rows.shared;
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const std::uint32_t begin = rows.inside ? job.begin : job.row_bytes, end = rows.inside ? job.end : begin;
    fill(job, memory, shared, begin);
    if (is_long)
      copy_long(memory + shared, host(global), job.row_bytes);
    else if (begin < end)
      load(job, memory, shared + begin, host(global + begin), end - begin);
    fill(job, memory, shared + end, job.row_bytes - end);
    global += static_cast<std::uint64_t>(rows.stride);
    shared += rows.pitch;
  }
}

std::byte* seen_by_proxy(std::byte* memory, const ProxyViews* views) {
  return views != nullptr ? views->of(memory) : memory;
}

/// Where a load's line comes from.
const std::byte* source_of(const TmaJob& job, const TmaLine& line, const ProxyViews* views) {
  if (job.kind.direction != BulkDirection::shared_to_shared) return host(line.global);
  std::byte* memory = job.memory[exec::rank_of(job.source)];
  return seen_by_proxy(memory, views) + (line.global - reinterpret_cast<std::uint64_t>(memory));
}

void store_rows(const TmaJob& job, const TmaRows& rows, const std::byte* memory) {
  if (!rows.inside || job.begin == job.end) return;
  std::uint64_t global = rows.global + job.begin;
  std::uint32_t shared = rows.shared + job.begin;
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    store(job, memory, shared, writable(global), job.end - job.begin);
    global += static_cast<std::uint64_t>(rows.stride);
    shared += rows.pitch;
  }
}

}  // namespace

RowShape shape_of(const TmaJob& job, const TmaRows& rows) {
  return {.bytes = job.row_bytes,
          .count = rows.count,
          .stride = rows.stride,
          .pitch = rows.pitch,
          .swizzle = job.swizzle};
}

bool copies_whole_rows(const TmaJob& job, const TmaRows& rows) {
  if (!moves_whole_rows(job, rows)) return false;
  const bool is_plain = job.swizzle == TensorMap::Swizzle::none;
  if (is_plain && (rows.count == 1 || job.row_bytes >= kLong)) return false;
  return has_wide_rows(shape_of(job, rows), rows.shared);
}

void move_rows(const TmaJob& job, const TmaRows& rows) {
  for (std::uint32_t rest = job.receivers; rest != 0; rest &= rest - 1) {
    std::byte* memory = job.memory[static_cast<std::uint32_t>(std::countr_zero(rest))];
    if (job.kind.direction == BulkDirection::to_global)
      store_rows(job, rows, memory);
    else
      load_rows(job, rows, memory);
  }
}

bool may_go_past_caches(const TmaJob& job) {
  constexpr std::uint32_t kWorthIt = 1024;  // bytes
  return job.kind.direction == BulkDirection::to_global && job.reduce == nullptr &&
         job.swizzle == TensorMap::Swizzle::none && job.end - job.begin >= kWorthIt;
}

void move_rows_past_caches(const TmaJob& job, const TmaRows& rows) {
  if (!rows.inside) return;
  const std::byte* const memory = job.memory[static_cast<std::uint32_t>(std::countr_zero(job.receivers))];
  std::uint64_t global = rows.global + job.begin;
  const std::byte* from = memory + rows.shared + job.begin;
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    copy_past_caches(writable(global), from, job.end - job.begin);
    global += static_cast<std::uint64_t>(rows.stride);
    from += rows.pitch;
  }
}

namespace {
exec::AccessKind access_of_global(const TmaJob& job) {
  if (job.kind.direction != BulkDirection::to_global) return exec::AccessKind::load;
  return job.kind.reduction == exec::BulkReduction::none ? exec::AccessKind::store
                                                         : exec::AccessKind::reduction;
}

/// Calls `part(host memory, distance, bytes)` for each piece of a row that lies in one page.
template <class Part>
TmaProblem each_page(const TmaJob& job, std::uint64_t global, std::uint32_t bytes, Part part) {
  for (std::uint32_t at = 0; at < bytes;) {
    const Translated place = reach(*job.requester.cta, global + at, 1, access_of_global(job));
    if (place.problem != MmuProblem::none)
      return {
          .fault = exec::FaultKind::illegal_address, .address = global + at, .note = note_of(place.problem)};
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(place.left, bytes - at));
    part(place.host, at, size);
    at += size;
  }
  return {};
}

TmaProblem move_row(const TmaJob& job, std::byte* memory, std::uint64_t global, std::uint32_t shared,
                    bool inside) {
  const std::uint32_t begin = inside ? job.begin : job.row_bytes, end = inside ? job.end : begin;
  if (job.kind.direction == BulkDirection::to_global)
    return each_page(job, global + begin, end - begin,
                     [&](std::byte* to, std::uint32_t at, std::uint32_t size) {
                       store(job, memory, shared + begin + at, to, size);
                     });
  fill(job, memory, shared, begin);
  fill(job, memory, shared + end, job.row_bytes - end);
  return each_page(job, global + begin, end - begin,
                   [&](const std::byte* from, std::uint32_t at, std::uint32_t size) {
                     load(job, memory, shared + begin + at, from, size);
                   });
}
}  // namespace

TmaProblem move_rows_by_pages(const TmaJob& job, const TmaRows& rows) {
  if (job.kind.direction == BulkDirection::to_cache) return {};
  for (std::uint32_t rest = job.receivers; rest != 0; rest &= rest - 1) {
    std::byte* const memory = job.memory[static_cast<std::uint32_t>(std::countr_zero(rest))];
    for (std::uint32_t i = 0; i < rows.count; ++i)
      if (const auto problem =
              move_row(job, memory,
                       rows.global + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(rows.stride),
                       rows.shared + i * rows.pitch, rows.inside))
        return problem;
  }
  return {};
}

void land_line(const TmaJob& job, const TmaLine& line, std::uint32_t rank, const ProxyViews* views) {
  auto land = [&](std::byte* memory) {
    if (line.global == 0)
      fill(job, memory, line.shared, line.bytes);
    else
      load(job, memory, line.shared, source_of(job, line, views), line.bytes);
  };
  std::byte* memory = job.memory[rank];
  std::byte* seen = seen_by_proxy(memory, views);
  if (seen != memory) land(seen);
  land(memory);
}

void read_line(const TmaJob& job, const TmaLine& line, std::byte* buffer, const ProxyViews* views) {
  const std::byte* memory =
      seen_by_proxy(job.memory[static_cast<std::uint32_t>(std::countr_zero(job.receivers))], views);
  each_part(job.swizzle, line.shared, line.bytes,
            [&](std::uint32_t place, std::uint32_t at, std::uint32_t size) {
              std::memcpy(buffer + at, memory + place, size);
            });
}

TmaMistake staleness_of(const TmaJob& job, const TmaLine& line, const ProxyViews& views) {
  using enum TmaMistake;
  if (job.kind.direction == BulkDirection::shared_to_shared) {
    const std::byte* memory = job.memory[exec::rank_of(job.source)];
    return views.staleness(memory, line.global - reinterpret_cast<std::uint64_t>(memory), line.bytes);
  }
  if (job.kind.direction != BulkDirection::to_global) return none;
  const std::byte* memory = job.memory[static_cast<std::uint32_t>(std::countr_zero(job.receivers))];
  TmaMistake worst = none;
  each_part(job.swizzle, line.shared, line.bytes,
            [&](std::uint32_t place, std::uint32_t, std::uint32_t size) {
              if (worst == none) worst = views.staleness(memory, place, size);
            });
  return worst;
}

void write_line(const TmaJob& job, const TmaLine& line, const std::byte* buffer) {
  put(job, writable(line.global), buffer, line.bytes);
}

bool touches(const TmaJob& job, const TmaLine& line, std::uint32_t rank, const ByteRange& place, TmaUse use) {
  if (job.kind.direction == BulkDirection::to_cache) return false;
  const bool stores = job.kind.direction == BulkDirection::to_global;
  if (stores == (use == TmaUse::writes)) return line.global != 0 && place.meets({line.global, line.bytes});
  const auto memory = reinterpret_cast<std::uint64_t>(job.memory[rank]);
  if (!place.meets({memory, exec::kSharedWindow})) return false;
  bool is_there = false;
  each_part(job.swizzle, line.shared, line.bytes, [&](std::uint32_t part, std::uint32_t, std::uint32_t size) {
    is_there |= place.meets({memory + part, size});
  });
  return is_there;
}

}  // namespace raddle::machine
