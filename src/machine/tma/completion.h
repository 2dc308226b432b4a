// The completion tracker: a counter rises with each request to memory and falls with each response. When it
// is zero after the last request, all are complete. A counter may cover several requests of the unit, as a
// bulk group's does. The mbarrier where bytes land is told of them.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/mbarrier.h"
#include "machine/tma/job.h"

namespace raddle::machine {

/// Requests to memory that have no response yet.
class TmaCounter {
 public:
  void asked(std::uint64_t lines) { outstanding_ += lines; }
  void answered(std::uint64_t lines) { outstanding_ -= lines; }
  /// No more requests come.
  void close() { open_ = false; }
  bool is_zero() const { return outstanding_ == 0; }
  bool is_complete() const { return !open_ && outstanding_ == 0; }

 private:
  std::uint64_t outstanding_ = 0;
  bool open_ = true;
};

/// The job's mbarriers that are in a phase of odd number: mask of ranks.
std::uint32_t odd_phases(const TmaJob& job);
TmaProblem broken_mbarrier(std::byte* barrier, exec::MbarrierProblem problem);
/// Counts bytes at an mbarrier. Fault: illegal_barrier
inline TmaProblem complete_bytes(std::byte* barrier, std::uint32_t bytes) {
  const exec::MbarrierProblem problem =
      exec::complete_transactions(exec::mbarrier_at(barrier), bytes).problem;
  if (problem != exec::MbarrierProblem::none) [[unlikely]]
    return broken_mbarrier(barrier, problem);
  return {};
}
/// Counts them at one receiver's mbarrier.
TmaProblem complete_bytes(const TmaJob& job, std::uint32_t rank, std::uint32_t bytes);
/// Counts them at all receivers' mbarriers.
TmaProblem complete_bytes(const TmaJob& job, std::uint32_t bytes);

/// The bulk groups of all threads, kept while something in them is in flight.
class BulkGroups {
 public:
  struct Group {
    TmaRequester requester;
    std::uint64_t number = 0;
    TmaCounter reads, writes;  ///< of sources; of destinations
    std::uint32_t jobs = 0;    ///< not complete
  };

  /// The thread's open group, for one more job. @returns its number
  std::uint64_t join(const TmaRequester& requester);
  /// Null once it is complete.
  Group* find(const TmaRequester& requester, std::uint64_t number);
  void end_job(const TmaRequester& requester, std::uint64_t number);
  void commit(const TmaRequester& requester);
  /// The thread's oldest group in flight that wait_group does not allow. @param only_reads  only reads matter
  Group* late(const TmaRequester& requester, std::uint32_t allowed, bool only_reads);
  void forget(const exec::CtaContext& cta);

 private:
  struct Thread {
    TmaRequester requester;
    std::uint64_t committed = 0;
  };
  Thread& thread_of(const TmaRequester& requester);

  std::vector<Thread> threads_;
  std::vector<Group> groups_;
};

}  // namespace raddle::machine
