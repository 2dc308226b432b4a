// The unit's first stage: checks a request against the machine and its tensor map, and makes a job of it.
// It discards wrong requests before anything happens (docs/tma.md lists what is wrong).
#pragma once

#include "machine/tma/descriptor_cache.h"
#include "machine/tma/job.h"

namespace raddle::machine {

class TmaSetUp {
 public:
  TmaSetUp(DescriptorCache& descriptors, TmaCounters& counters)
      : descriptors_(descriptors), counters_(counters) {}

  /// @param ahead  earlier requests are still being generated
  TmaProblem run(TmaRequester requester, const exec::BulkRequest& request, bool ahead);
  /// What run() has made, until the next request; garbage where there was a problem.
  const TmaJob& job() const { return *job_; }
  /// For a request that runs before its instruction ends, and needs no job. Null: run() has to judge it.
  /// @param places  receives its own
  DirectLoad* direct_load(TmaRequester requester, const exec::BulkRequest& request,
                          DirectLoad::Places& places);

 private:
  TmaJob& begin(TmaRequester requester, TmaJob& job);
  TmaProblem linear(TmaRequester requester, const exec::BulkRequest& request);
  TmaProblem tensor(TmaRequester requester, const exec::BulkRequest& request, bool ahead);
  /// @param occupied  receives bytes of shared memory from the begin of the block to its end
  TmaProblem plan(TmaRequester requester, const exec::BulkRequest& request, Descriptor& descriptor,
                  std::uint64_t& occupied);
  TmaProblem check_map(const exec::BulkRequest& request, const exec::TensorMap& map, const TmaJob& job);
  TmaProblem check_start(const exec::BulkRequest& request, const exec::TensorMap& map, const TmaJob& job);
  TmaProblem reduction_in(const exec::TensorMap& map, TmaJob& job);
  /// @param alignment  a power of two
  TmaProblem place(const exec::BulkRequest& request, std::uint32_t alignment, std::uint64_t bytes,
                   TmaJob& job);
  TmaProblem place_barrier(const exec::BulkRequest& request, TmaJob& job);
  TmaProblem check_window(const TmaJob& job);
  // Of spaces with a window.
  static bool may_read_map(const exec::CtaContext& cta, std::uint64_t address);
  bool may_load(TmaRequester requester, TmaJob& job);
  TmaProblem wrong(std::string text, std::uint64_t address = 0);

  DescriptorCache& descriptors_;
  TmaCounters& counters_;
  TmaJob planned_;
  TmaJob* job_ = &planned_;
  std::string text_;
};

/// Most requests pass here and nowhere else: no problem is written, none is read. An address whose map is
/// known has been judged; a request without a map has no plan's kind.
[[gnu::always_inline]] inline DirectLoad* TmaSetUp::direct_load(TmaRequester requester,
                                                                const exec::BulkRequest& request,
                                                                DirectLoad::Places& places) {
  const exec::CtaContext& cta = *requester.cta;
  const exec::LaunchContext& launch = *cta.launch;
  const bool has_window = !launch.window.is_everything();
  if (launch.asid != 0 || (has_window && !may_read_map(cta, request.global))) return nullptr;
  Descriptor* const descriptor = descriptors_.known(request.global);
  if (descriptor == nullptr) return nullptr;
  InsidePlan& inside = descriptor->inside;
  places.global = inside.first_row(request);
  if (places.global == 0 || !inside.direct_load().place(cta, request, places)) return nullptr;
  if (has_window && !may_load(requester, inside.job(places.global))) return nullptr;
  return &inside.direct_load();
}

}  // namespace raddle::machine
