// From a tensor map and coordinates to the rows of a block: where each lies in global and in shared memory,
// and which part lies outside the tensor.
#pragma once

#include "machine/tma/direct_load.h"
#include "machine/tma/job.h"

namespace raddle::machine {

/// Bytes: a multiple of these is where rows begin in memory.
inline constexpr std::uint32_t kRowStart = 16;

/// The plan of a box that lies inside of its tensor, kept with the map: what another such box has of its own,
/// in a request of the same kind, are addresses.
class InsidePlan {
 public:
  /// Keeps the plan of a request if it is one. @param occupied  what plan_walk() has returned
  void keep(const exec::TensorMap& map, std::uint32_t kind, const TmaJob& job, std::uint64_t occupied);
  void drop() { kind_ = kNone; }
  /// @returns the address of the first row of the request's box, if it is of that kind and lies inside of the
  /// tensor; else 0
  std::uint64_t first_row(const exec::BulkRequest& request) const {
    if (request.kind != kind_) return 0;
    std::uint64_t global = address_;
    for (unsigned i = 0; i < rank_; ++i) {
      const auto at = static_cast<std::uint32_t>(request.coordinates[i]);  // below zero: above all others
      if (at > last_[i]) return 0;
      global += at * stride_[i];
    }
    return global % kRowStart == 0 ? global : 0;  // set-up refuses others; address and strides are multiples
  }
  /// The plan, of a box whose first row is there.
  TmaJob& job(std::uint64_t first_row) {
    job_.global = first_row;
    return job_;
  }
  DirectLoad& direct_load() { return direct_load_; }
  std::uint64_t occupied() const { return occupied_; }

 private:
  static constexpr std::uint32_t kNone = ~0u;  ///< no kind's word
  std::uint32_t kind_ = kNone;
  std::uint32_t rank_ = 0;
  std::uint64_t address_ = 0;                                 ///< the tensor's
  std::array<std::uint64_t, exec::kMaxTensorRank> stride_{};  ///< bytes
  std::array<std::uint32_t, exec::kMaxTensorRank> last_{};    ///< coordinates up to which a box lies inside
  DirectLoad direct_load_;
  std::uint64_t occupied_ = 0;
  TmaJob job_;
};

/// Fills in the job's rows, dimensions, pixels and elements.
/// @param map  checked, of the mode and the rank that the request wants
/// @returns bytes of shared memory from the begin of the block to its end
std::uint64_t plan_walk(const exec::TensorMap& map, const exec::BulkRequest& request, TmaJob& job);

}  // namespace raddle::machine
