// The request generator: walks a job's block and emits runs of rows, each run all inside or all outside the
// tensor, in the order of shared memory. Set-up has joined rows that follow each other densely in both
// memories. A run asks memory for lines (TmaGeneratorSpec); line_count() and sector_count() say for how
// many.
#pragma once

#include "machine/tma/counters.h"
#include "machine/tma/job.h"

namespace raddle::machine {

struct TmaGeneratorSpec {
  static constexpr std::uint32_t kLineBytes = 128;   ///< of L2: no memory request is larger or crosses one
  static constexpr std::uint32_t kSectorBytes = 32;  ///< of a line
};

/// Rows at constant distances.
struct TmaRows {
  std::uint64_t global = 0;  ///< address of the first
  std::int64_t stride = 0;   ///< from row to row, global
  std::uint32_t shared = 0;  ///< offset in a CTA's memory of the first, before the swizzle
  std::uint32_t pitch = 0;   ///< from row to row, shared
  std::uint32_t count = 0;
  bool inside = false;  ///< bytes [begin, end) of each row, as the job says; else no byte
};

class TmaGenerator {
 public:
  /// Begins a job. @param job  lives until its last run
  void begin(const TmaJob& job);
  /// @returns false if there are no more rows
  bool next(TmaRows& rows);

 private:
  bool next_outer();
  bool take_steps(TmaRows& rows);
  bool take_pixels(TmaRows& rows);
  void next_pixel_row();
  unsigned first_outer() const { return job_->pixels.dimensions != 0 ? 0 : 1; }

  const TmaJob* job_ = nullptr;
  bool done_ = true;
  bool outer_inside_ = false;  // of all dimensions around the innermost
  std::uint64_t global_ = 0;   // address of step 0 of the innermost dimension
  std::uint32_t shared_ = 0;   // and its offset
  std::uint32_t step_ = 0;     // of the innermost dimension
  std::array<std::uint32_t, TmaJob::kMostDimensions> steps_{};  // of those around it
  // im2col
  std::array<std::int64_t, TmaPixels::kMost> base_{};
  std::int64_t image_ = 0;
  std::uint32_t pixel_ = 0;
};

/// Whether all of a job are rows inside of the tensor at constant distances, as of most: the generator's only
/// run, without the walk.
inline bool is_one_run(const TmaJob& job, TmaRows& rows) {
  if (job.dimensions > 1 || job.pixels.dimensions != 0) return false;
  const TmaDimension& d = job.dimensions == 0 ? kSingleStep : job.dimension[0];
  if (d.first != 0 || d.last != d.count) return false;
  rows = {.global = job.global,
          .stride = d.stride,
          .shared = job.shared,
          .pitch = d.pitch,
          .count = d.count,
          .inside = true};
  return true;
}

/// Lines that `bytes` bytes at an address touch.
constexpr std::uint64_t line_count(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kLine = TmaGeneratorSpec::kLineBytes;
  return bytes == 0 ? 0 : (address + bytes - 1) / kLine - address / kLine + 1;
}
constexpr std::uint64_t sector_count(std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kSector = TmaGeneratorSpec::kSectorBytes;
  return bytes == 0 ? 0 : (address + bytes - 1) / kSector - address / kSector + 1;
}
/// Turns beyond the first that a line's sectors take at shared memory. A turn serves one sector in each of
/// four groups of eight banks; a sector's halves may swap. A sector that lies across two groups takes both.
constexpr std::uint64_t conflicts_of_line(std::uint64_t global, std::uint64_t shared, std::uint64_t bytes) {
  const bool across = ((global ^ shared) & (TmaGeneratorSpec::kSectorBytes - 1)) != 0;
  return across && sector_count(global, bytes) > 1 ? 1 : 0;
}

/// Counts what rows ask of memory: `count` of `bytes` bytes each, from those addresses on.
/// @param moves  they touch shared memory too
inline void count_lines(TmaCounters& counters, std::uint64_t global, std::int64_t stride,
                        std::uint64_t shared, std::uint32_t pitch, std::uint32_t count, std::uint32_t bytes,
                        bool moves) {
  counters.bytes += std::uint64_t{count} * bytes;
  const bool alike = stride % TmaGeneratorSpec::kLineBytes == 0;
  const std::uint32_t times = alike ? count : 1;
  for (std::uint32_t i = 0; i < count; i += times) {
    const std::uint64_t lines = line_count(global, bytes);
    counters.lines += times * lines;
    counters.sectors += times * sector_count(global, bytes);
    if (moves) counters.bank_conflicts += times * lines * conflicts_of_line(global, shared, bytes);
    global += static_cast<std::uint64_t>(stride);
    shared += pitch;
  }
}

}  // namespace raddle::machine
