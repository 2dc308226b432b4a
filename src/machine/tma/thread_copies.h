// Asynchronous copies that threads make for themselves, on a device where copies land late: what each thread
// has asked for and has not landed. Those of cp.async are in groups as it committed them, and its arrivals at
// mbarriers come after them; st.async and red.async, which send values into the cluster, are in no order with
// either. Eager code needs none of it (ADR 0047). Belongs to one SM, as its tensor memory unit does.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <variant>

#include "machine/cluster/remote_errors.h"
#include "machine/tma/proxy_views.h"
#include "machine/tma/reduction.h"
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

  /// A value for shared memory of the cluster, whose mbarrier counts its bytes; the same of addresses.
  struct Send {
    std::uint64_t to = 0, mbarrier = 0;
    std::array<std::uint64_t, 2> data = {};
    std::uint32_t bytes = 0;       ///< of `data`
    ReduceBytes reduce = nullptr;  ///< null: stores
    std::uint64_t access = 0;      ///< in the SM's history, once it is sent
  };

  /// @param views    what the asynchronous proxy sees
  /// @param history  of the SM. Both live as long as this
  ThreadCopies(ProxyViews& views, AccessHistory& history) : views_(views), history_(history) {}

  void copy(const TmaRequester& requester, const Copy& copy);
  void send(const TmaRequester& requester, Send send);
  /// What the thread has copied since the last commit is a group, be it nothing.
  void commit(const TmaRequester& requester);
  /// Lands the thread's groups but the latest `allowed`.
  void wait(const TmaRequester& requester, std::uint32_t allowed);
  /// Arrives at an mbarrier some time after the thread's copies so far have landed.
  void arrive(const TmaRequester& requester, std::uint64_t mbarrier);

  /// Of a CTA: what can land now, and arrivals that can come.
  std::size_t outstanding(const exec::CtaContext& cta) const;
  /// Lands one of them, of outstanding() > 0. Faults: illegal_barrier; illegal_cluster_address if it is for a
  /// CTA that has exited
  TmaProblem advance(TmaChooser& chooser, const exec::CtaContext& cta);
  /// Whose copy has yet to do so with some of these bytes; null: nobody's.
  const TmaRequester* user_of(const ByteRange& place, TmaUse use) const;
  /// The CTA ends, or was stopped: nothing of its threads lands any more.
  void forget(const exec::CtaContext& cta);

  /// Whose request landed last.
  const TmaRequester& culprit() const { return culprit_; }

 private:
  struct CopyOfGroup {
    Copy copy;
    std::uint64_t group = 0;
  };
  struct Arrival {
    std::uint64_t mbarrier = 0;
  };
  struct Request {
    TmaRequester requester;
    std::variant<CopyOfGroup, Arrival, Send> what;
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
  TmaProblem land(const TmaRequester& requester, const Send& send);

  ProxyViews& views_;
  AccessHistory& history_;
  std::map<Key, Thread> threads_;
  TmaRequester culprit_;
};

}  // namespace raddle::machine
