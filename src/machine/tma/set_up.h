// The unit's first stage: checks a request against the machine and its tensor map, and makes a job of it.
// What is wrong is discarded here, before anything of it is done (docs/tma.md has the list).
#pragma once

#include "machine/tma/descriptor_cache.h"
#include "machine/tma/job.h"

namespace raddle::machine {

class TmaSetUp {
 public:
  TmaSetUp(DescriptorCache& descriptors, TmaCounters& counters)
      : descriptors_(descriptors), counters_(counters) {}

  /// @param ahead  earlier requests are still being generated
  /// @param job    receives it; garbage where there is a problem
  TmaProblem run(const TmaRequester& requester, const exec::BulkRequest& request, bool ahead, TmaJob& job);

 private:
  TmaProblem linear(const exec::BulkRequest& request, TmaJob& job);
  TmaProblem tensor(const exec::BulkRequest& request, bool ahead, TmaJob& job);
  TmaProblem check_map(const exec::BulkRequest& request, const exec::TensorMap& map, const TmaJob& job);
  TmaProblem reduction_in(const exec::TensorMap& map, TmaJob& job);
  TmaProblem place(const exec::BulkRequest& request, std::uint32_t alignment, std::uint64_t bytes,
                   TmaJob& job);
  TmaProblem place_barrier(const exec::BulkRequest& request, TmaJob& job);
  TmaProblem wrong(std::string text, std::uint64_t address = 0);

  DescriptorCache& descriptors_;
  TmaCounters& counters_;
  std::string text_;
};

}  // namespace raddle::machine
