// The shortest way of a request: a load of rows inside the tensor, all at one distance, into the memory of
// the CTA that asks. Most are that. The plan is kept with the tensor map; a request brings addresses, and
// needs no job.
#pragma once

#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "machine/tma/completion.h"
#include "machine/tma/counters.h"
#include "machine/tma/generator.h"
#include "machine/tma/row_copy.h"

namespace raddle::machine {

class DirectLoad {
 public:
  /// Takes over the job of a box inside its tensor, if its like can go this way.
  /// @param occupied  bytes of shared memory from the begin of the block to its end
  void keep(const TmaJob& job, std::uint64_t occupied);
  void drop() { copy_ = nullptr; }
  /// @param global  address of the first row
  /// @returns false for a request that set-up has to judge: block or mbarrier are not in the CTA's own memory
  bool place(const exec::CtaContext& cta, const exec::BulkRequest& request, std::uint64_t global);
  /// What was placed last.
  TmaProblem run(TmaCounters& counters) const;

 private:
  CopyRows copy_ = nullptr;  ///< null: not this way
  RowCopy rows_{};
  std::uint64_t occupied_ = 0;
  std::uint32_t bytes_ = 0;       ///< of the block
  std::byte* barrier_ = nullptr;  ///< where they count
};

inline bool DirectLoad::place(const exec::CtaContext& cta, const exec::BulkRequest& request,
                              std::uint64_t global) {
  if (copy_ == nullptr) return false;
  const exec::ClusterContext& cluster = *cta.cluster;
  std::byte* const memory = exec::own_memory(cta);
  const std::uint64_t shared = request.shared - reinterpret_cast<std::uint64_t>(memory);
  const std::uint64_t barrier = request.barrier - reinterpret_cast<std::uint64_t>(memory);
  const bool is_aligned = ((shared & (kTensorAlignment - 1)) | (barrier & (exec::kMbarrierBytes - 1))) == 0;
  const std::uint64_t bytes = cluster.shared_bytes;
  if (!is_aligned || shared >= bytes || shared + occupied_ > bytes || barrier >= bytes ||
      barrier + exec::kMbarrierBytes > bytes)
    return false;
  rows_.from = reinterpret_cast<const std::byte*>(global);
  rows_.memory = memory;
  rows_.shared = static_cast<std::uint32_t>(shared);
  barrier_ = memory + barrier;
  return true;
}

inline TmaProblem DirectLoad::run(TmaCounters& counters) const {
  count_lines(counters, reinterpret_cast<std::uint64_t>(rows_.from), rows_.stride, rows_.shared, rows_.pitch,
              rows_.count, rows_.bytes, true);
  copy_(rows_);
  return complete_bytes(barrier_, bytes_);
}

}  // namespace raddle::machine
