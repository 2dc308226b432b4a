// Asynchronous copies that threads make for themselves (cp.async), on a device where copies land late: what
// each thread has asked for and has not landed, in groups as it committed them, and its arrivals at mbarriers
// that come after. Eager code needs none of it (ADR 0047). Belongs to one SM, as its tensor memory unit does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "machine/tma/request.h"
#include "machine/tma/tma_unit.h"

namespace raddle::machine {

class ThreadCopies {
 public:
  /// Generic addresses, checked as of any access.
  struct Copy {
    std::uint64_t from = 0, to = 0;
    std::uint32_t bytes = 0;  ///< written, at most 16
    std::uint32_t read = 0;   ///< at most as many; zeros beyond
  };

  void copy(const TmaRequester& requester, const Copy& copy);
  /// What the thread has copied since the last commit is a group, be it nothing.
  void commit(const TmaRequester& requester);
  /// Lands the thread's groups but the latest `allowed`.
  void wait(const TmaRequester& requester, std::uint32_t allowed);
  /// Arrives at an mbarrier some time after the thread's copies so far have landed.
  void arrive(const TmaRequester& requester, std::uint64_t mbarrier);

  /// Of a CTA: copies that can land now, and arrivals that can come.
  std::size_t outstanding(const exec::CtaContext& cta) const;
  /// Lands one of them, of outstanding() > 0. Fault: illegal_barrier
  TmaProblem advance(TmaChooser& chooser, const exec::CtaContext& cta);
  /// The CTA ends, or was stopped: nothing of its threads lands any more.
  void forget(const exec::CtaContext& cta);

  /// Whose request landed last.
  const TmaRequester& culprit() const { return culprit_; }

 private:
  struct Request {
    TmaRequester requester;
    std::uint64_t group = 0;
    Copy copy;
    std::uint64_t mbarrier = 0;  ///< not 0: an arrival
  };
  struct Thread {
    std::uint64_t committed = 0;  ///< groups; the number of the open one
    std::deque<Request> requests;
  };
  using Key = std::pair<const exec::CtaContext*, std::uint32_t>;  ///< CTA, thread

  Thread& thread_of(const TmaRequester& requester) { return threads_[{requester.cta, requester.thread}]; }
  auto threads_of(const exec::CtaContext& cta) const;
  static bool is_ready(const Thread& thread, std::size_t request);
  TmaProblem land(Thread& thread, std::size_t request);

  std::map<Key, Thread> threads_;
  TmaRequester culprit_;
};

}  // namespace raddle::machine
