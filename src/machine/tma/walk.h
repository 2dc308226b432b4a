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
  /// Whether the request is of that kind, for a box inside of the tensor. Then job() is its plan.
  bool fits(const exec::TensorMap& map, const exec::BulkRequest& request) {
    if (request.kind != kind_) return false;
    std::uint64_t global = map.address;
    for (unsigned i = 0; i < map.rank; ++i) {
      const std::int64_t at = request.coordinates[i];
      if (at < 0 || at > last_[i]) return false;
      global += static_cast<std::uint64_t>(at) * map.stride[i];
    }
    if (global % kRowStart != 0) return false;  // set-up refuses it; address and strides are such multiples
    job_.global = global;
    return true;
  }
  TmaJob& job() { return job_; }
  DirectLoad& direct_load() { return direct_load_; }
  std::uint64_t occupied() const { return occupied_; }

 private:
  static constexpr std::uint32_t kNone = ~0u;  ///< no kind's word
  std::uint32_t kind_ = kNone;
  std::array<std::int64_t, exec::kMaxTensorRank> last_{};  ///< coordinates up to which a box lies inside
  std::uint64_t occupied_ = 0;
  TmaJob job_;
  DirectLoad direct_load_;
};

/// Fills in the job's rows, dimensions, pixels and elements.
/// @param map  checked, of the mode and the rank that the request wants
/// @returns bytes of shared memory from the begin of the block to its end
std::uint64_t plan_walk(const exec::TensorMap& map, const exec::BulkRequest& request, TmaJob& job);

}  // namespace raddle::machine
