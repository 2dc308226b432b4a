// The job that set-up makes of a request: where to walk, with every limit checked, so that later stages never
// look at requests or tensor maps again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "exec/tensor_map.h"
#include "machine/tma/reduction.h"
#include "machine/tma/request.h"

namespace raddle::machine {

/// A dimension around the rows of a block. Steps outside [first, last) lie outside the tensor.
struct TmaDimension {
  std::uint32_t count = 1;  ///< steps
  std::uint32_t first = 0, last = 1;
  std::int64_t stride = 0;  ///< bytes of global memory from step to step
  std::uint32_t pitch = 0;  ///< the same in shared memory
};
inline constexpr TmaDimension kSingleStep;

/// The walk of im2col: pixels along W, H, D and N in the box of filter bases, each a row. W first.
struct TmaPixels {
  static constexpr unsigned kMost = 3;
  unsigned dimensions = 0;                   ///< of these; 0: tile mode
  std::uint32_t count = 0;                   ///< pixels
  std::array<std::int64_t, kMost> start{};   ///< filter base of the first pixel
  std::array<std::int64_t, kMost> lower{};   ///< filter bases: from here
  std::array<std::int64_t, kMost> upper{};   ///< to here, inclusive
  std::array<std::int64_t, kMost> offset{};  ///< from a filter base to its pixel
  std::array<std::int64_t, kMost> size{};    ///< of the tensor
  std::array<std::int64_t, kMost> stride{};  ///< bytes
  std::array<std::uint32_t, kMost> step{};
  std::int64_t image = 0, images = 0;  ///< N of the first pixel, and of the tensor
  std::int64_t image_stride = 0;       ///< bytes
  std::uint32_t image_step = 1;
  std::uint32_t pitch = 0;  ///< bytes of shared memory from pixel to pixel
};

struct TmaJob {
  static constexpr unsigned kMostDimensions = exec::kMaxTensorRank;

  exec::BulkKind kind;
  TmaRequester requester;

  // Shared memory.
  /// By rank, of those that the job touches: where their memory is, as the tables say (exec/routing.h).
  std::array<std::byte*, exec::kMaxClusterSize> memory{};
  std::uint32_t shared = 0;     ///< offset in a CTA's memory at which the block begins, before the swizzle
  std::uint32_t receivers = 0;  ///< mask of ranks whose memory it is; of stores one
  std::uint32_t source = 0;     ///< shared_to_shared: shared address
  std::uint32_t barrier = 0;    ///< offset of the mbarrier in each receiver's memory
  std::uint32_t barrier_ranks = 0;  ///< mask of those whose mbarrier counts; none: a bulk group does
  exec::TensorMap::Swizzle swizzle = exec::TensorMap::Swizzle::none;

  // Rows, all alike: their bytes in [begin, end) may lie in the tensor, others do not.
  std::uint32_t row_bytes = 0, begin = 0, end = 0;
  std::uint64_t global = 0;  ///< address of the first row; need not lie in the tensor
  unsigned dimensions = 0;
  std::array<TmaDimension, kMostDimensions> dimension{};  ///< innermost first
  TmaPixels pixels;

  // Elements.
  exec::TensorMap::Element element = exec::TensorMap::Element::u8;
  std::uint8_t element_bytes = 1;
  std::uint16_t fill = 0;        ///< every two bytes of what lies outside
  bool converts = false;         ///< elements, on their way to shared memory
  ReduceBytes reduce = nullptr;  ///< none: copies
  std::uint32_t bytes = 0;       ///< of the block, filled ones too: what an mbarrier counts

  // Deferred mode.
  std::uint64_t group = 0;   ///< bulk group of a job that stores
  std::uint64_t queued = 0;  ///< responses that had landed when it was queued
  std::uint32_t phases = 0;  ///< of barrier_ranks: whose mbarrier was in a phase of odd number
  std::uint64_t access = 0;  ///< in the SM's history, if it leaves the CTA
};

}  // namespace raddle::machine
