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
  /// What requests for the same plan have of their own.
  struct Places {
    std::uint64_t global;  ///< address of the first row
    std::byte* memory;     ///< of the CTA
    std::uint32_t shared;  ///< offset there of the block
    std::byte* barrier;    ///< where bytes count
  };

  /// Takes over the job of a box inside its tensor, if its like can go this way.
  /// @param occupied  bytes of shared memory from the begin of the block to its end
  void keep(const TmaJob& job, std::uint64_t occupied);
  void drop() { copy_ = nullptr; }
  /// @returns false for a request that set-up has to judge: block or mbarrier are not in the CTA's own memory
  bool place(const exec::CtaContext& cta, const exec::BulkRequest& request, Places& places) const;
  TmaProblem run(const Places& places, TmaCounters& counters);

 private:
  /// What a block asks of memory. Where in a line its first row begins says it all: blocks are aligned in
  /// shared memory.
  struct Traffic {
    std::uint32_t lines, sectors, bank_conflicts;
  };
  static constexpr std::uint32_t kStart = 16;  ///< bytes: rows begin at multiples
  void count(Traffic& traffic, std::uint64_t global) const;

  CopyRows copy_ = nullptr;  ///< null: not this way
  std::uint32_t bytes_ = 0;  ///< of the block
  std::uint32_t occupied_ = 0;
  RowShape shape_{};
  std::array<Traffic, TmaGeneratorSpec::kLineBytes / kStart>
      traffic_{};  ///< by that place; no lines: not known
};

inline bool DirectLoad::place(const exec::CtaContext& cta, const exec::BulkRequest& request,
                              Places& places) const {
  if (copy_ == nullptr) return false;
  std::byte* const memory = exec::own_memory(cta);
  const std::uint64_t shared = request.shared - reinterpret_cast<std::uint64_t>(memory);
  const std::uint64_t barrier = request.barrier - reinterpret_cast<std::uint64_t>(memory);
  const bool is_aligned = ((shared & (kTensorAlignment - 1)) | (barrier & (exec::kMbarrierBytes - 1))) == 0;
  const std::uint64_t bytes = cta.cluster->shared_bytes;
  if (!is_aligned || shared >= bytes || shared + occupied_ > bytes || barrier >= bytes ||
      barrier + exec::kMbarrierBytes > bytes)
    return false;
  places.memory = memory;
  places.shared = static_cast<std::uint32_t>(shared);
  places.barrier = memory + barrier;
  return true;
}

[[gnu::always_inline]] inline TmaProblem DirectLoad::run(const Places& places, TmaCounters& counters) {
  Traffic& traffic = traffic_[places.global / kStart % traffic_.size()];
  if (traffic.lines == 0) [[unlikely]]
    count(traffic, places.global);
  ++counters.requests, ++counters.descriptor_hits;
  counters.lines += traffic.lines, counters.sectors += traffic.sectors;
  counters.bytes += bytes_, counters.bank_conflicts += traffic.bank_conflicts;
  copy_(shape_, reinterpret_cast<const std::byte*>(places.global), places.memory, places.shared);
  return complete_bytes(places.barrier, bytes_);
}

}  // namespace raddle::machine
