// The tensor memory access unit of an SM: queue, descriptor cache, set-up, request generator, completion
// tracker. It is how bulk copies run: threads submit requests, the unit moves the bytes and tells mbarriers
// and bulk groups. It belongs to one SM, whose CTAs one worker runs at a time, and has no lock; mbarriers and
// memory of other CTAs are touched as any other thread's would be. It knows neither PTX nor engines
// (docs/tma.md).
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "machine/cluster/remote_errors.h"
#include "machine/tma/completion.h"
#include "machine/tma/mover.h"
#include "machine/tma/proxy_views.h"
#include "machine/tma/request_queue.h"
#include "machine/tma/set_up.h"

namespace raddle::machine {

struct TmaSpec {
  DescriptorCacheSpec descriptors;
  std::size_t most_lines = 256;  ///< requests to memory in flight before the next job is generated
};

/// When copies happen.
enum class TmaMode : std::uint8_t {
  eager,     ///< before the instruction ends
  deferred,  ///< when advance() or a wait says so
};

/// Which response lands next, of so many.
class TmaChooser {
 public:
  virtual ~TmaChooser() = default;
  virtual std::size_t choose(std::size_t count) = 0;
};

class TmaUnit {
 public:
  explicit TmaUnit(TmaSpec spec = {}) : spec_(spec), set_up_(descriptors_, counters_) {}
  TmaUnit(const TmaUnit&) = delete;
  TmaUnit& operator=(const TmaUnit&) = delete;

  /// Checks a request and runs it, or queues it. Memory of the kernel is touched: a fault may abandon it.
  TmaProblem submit(TmaRequester requester, const exec::BulkRequest& request);
  void commit_group(const TmaRequester& requester);
  /// Lands what of the thread's groups is not among the latest `allowed`.
  /// @param only_reads  reads their sources, no more
  TmaProblem wait_group(const TmaRequester& requester, std::uint32_t allowed, bool only_reads);
  /// Whether requests since the last call have stored past the host's caches: what orders these stores has to
  /// come before anybody is told that they are over.
  bool take_stored_past_caches() { return std::exchange(stored_past_caches_, false); }

  // ---- deferred mode ----
  /// Of later requests.
  void set_mode(TmaMode mode) { mode_ = mode; }
  /// @param policy  lives as long as the unit
  void set_policy(const TmaPolicy& policy) { policy_ = &policy; }
  /// What it sees of shared memory; null: the memory itself. @param views  live as long as the unit
  void set_views(ProxyViews* views) { views_ = views; }
  /// Of accesses to other CTAs' memory. @param history  lives as long as the unit
  void set_history(AccessHistory* history) { history_ = history; }
  /// Responses that can land now; 0 only if nothing is in flight. @param of  only to requests of this CTA
  std::size_t outstanding(const exec::CtaContext* of = nullptr);
  /// Lands one response, of outstanding(of) > 0. A store's first response is that its source was read.
  TmaProblem advance(TmaChooser& chooser, const exec::CtaContext* of = nullptr);
  /// Lands all, the oldest first.
  TmaProblem drain(const exec::CtaContext* of = nullptr);
  /// Whose copy has yet to do so with some of these bytes; null: nobody's.
  const TmaRequester* user_of(const ByteRange& place, TmaUse use) const;
  /// A CTA was stopped, or has exited and is drained: nothing of its requests lands any more.
  void forget(const exec::CtaContext& cta);

  /// Whose request the last problem was.
  const TmaRequester& culprit() const { return culprit_; }
  bool made_mistakes() const { return !mistakes_.empty(); }
  /// Those of what has landed since the last call.
  std::vector<std::pair<TmaRequester, TmaMistake>> take_mistakes() { return std::exchange(mistakes_, {}); }
  const TmaCounters& counters() const { return counters_; }

 private:
  struct Slot {
    TmaJob job;
    TmaCounter responses;
    bool in_use = false;
  };
  struct Response {
    TmaLine line;
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;  ///< whose memory it lands in
    bool was_read = false;   ///< a store: `buffer` holds the bytes
    std::array<std::byte, TmaGeneratorSpec::kLineBytes> buffer;
  };

  TmaProblem submit_job(TmaRequester requester, const exec::BulkRequest& request);
  TmaProblem run_now(const TmaJob& job);
  void run_rows(const TmaJob& job, const TmaRows& rows);
  bool outgrows_caches(const TmaJob& job, const TmaRows& rows);
  void count(const TmaJob& job, const TmaRows& rows);
  void enqueue(const TmaJob& job);
  void generate_next();
  void generate_more();
  void generate(const TmaJob& job);
  void ask(std::uint32_t slot, const TmaRows& rows);
  void ask_bytes(std::uint32_t slot, std::uint64_t global, std::uint32_t shared, std::uint32_t bytes);
  std::uint32_t free_slot();
  TmaProblem land(std::size_t index);
  void note_staleness(const TmaJob& job, const TmaLine& line);
  void note(const TmaJob& job, TmaMistake mistake);
  static TmaProblem find_memory(TmaJob& job, std::uint32_t rank, std::uint32_t offset);
  TmaProblem land_load(std::size_t index);
  TmaProblem land_store(std::size_t index);
  TmaProblem finish_response(std::size_t index);
  void end_job(Slot& slot);
  bool leaves_the_cta(const TmaJob& job) const;

  const TmaSpec spec_;
  TmaMode mode_ = TmaMode::eager;
  const FirstInFirstOut first_in_first_out_;
  ProxyViews* views_ = nullptr;
  AccessHistory* history_ = nullptr;
  const TmaPolicy* policy_ = &first_in_first_out_;
  TmaCounters counters_;
  DescriptorCache descriptors_{spec_.descriptors};
  TmaSetUp set_up_;
  TmaGenerator generator_;
  std::deque<TmaJob> queue_;
  std::vector<Slot> slots_;
  std::vector<Response> responses_;
  BulkGroups groups_;
  std::uint64_t landed_ = 0;
  std::uint64_t storing_grid_ = 0, stored_ = 0;  ///< of that grid: bytes of bulk stores
  bool stored_past_caches_ = false;
  TmaRequester culprit_;
  std::vector<std::pair<TmaRequester, TmaMistake>> mistakes_;
};

}  // namespace raddle::machine
