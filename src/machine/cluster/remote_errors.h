// Errors of remote accesses that are found at the accessed CTA's side when their source has gone on (W-19):
// on a device where copies land late. Such an error travels back to its source, with the number of the access
// and nothing else: the source's SM knows who made its latest ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "machine/cluster/cluster.h"

namespace raddle::machine {

/// Who made the latest late accesses of an SM to other CTAs' memory.
class AccessHistory {
 public:
  static constexpr std::size_t kMost = 512;
  struct Source {
    std::uint32_t thread = 0;  ///< linear, in its block
    std::uint32_t line = 0;    ///< of the PTX text
  };

  /// @returns the access's number
  std::uint64_t note(const Source& source) {
    entries_[next_ % kMost] = source;
    return next_++;
  }
  /// Null: as many others have been made since.
  const Source* find(std::uint64_t access) const {
    return next_ - access <= kMost ? &entries_[access % kMost] : nullptr;
  }

 private:
  std::array<Source, kMost> entries_{};
  std::uint64_t next_ = 0;
};

/// An error on its way back.
struct RemoteError {
  const Cluster* cluster = nullptr;  ///< its source's
  std::uint64_t launch = 0;          ///< of the cluster: Cluster::launch_number()
  std::uint32_t sm = 0, rank = 0;    ///< of its source
  std::uint64_t access = 0;          ///< in the history of that SM
  exec::ClusterProblem problem = exec::ClusterProblem::none;
  std::uint64_t address = 0;  ///< generic

  /// Whether the source's cluster is there no more.
  bool is_lost() const { return cluster->launch_number() != launch; }
};

}  // namespace raddle::machine
