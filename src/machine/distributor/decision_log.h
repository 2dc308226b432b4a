// The distributor's decisions and their reasons (W-21), recorded only if somebody listens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/shape/machine_shape.h"

namespace raddle::machine {

/// The answer of one domain's model to the question whether it takes a cluster (W-7).
struct Candidate {
  Level level = Level::gpc;
  std::uint32_t domain = 0;            ///< index among the domains of that level
  std::optional<std::uint32_t> speed;  ///< least free slots left over the SMs that got a CTA; nothing: `fail`
  std::uint64_t load = 0;              ///< CTAs resident in it
  bool chosen = false;
};

struct Decision {
  enum class Kind : std::uint8_t {
    launch,    ///< the SMs of `sms` get CTAs
    fail,      ///< a cluster did not fit: no CTA was launched, its speculation left no trace
    stall,     ///< it fits, but no cluster id or cluster-wide memory is free (W-16, W-24)
    complete,  ///< CTAs have exited on `sms`
    cluster_complete,
    attempt,  ///< pass I: what one domain answers, the candidate; it would put CTAs on `sms`. Nothing is
              ///< launched
    evict,    ///< the grid launches nothing more until it has another slot (A-4)
    suspend,  ///< the CTA `first` waits for children and has left its SM, that of `sms` (A-3e)
    resume,   ///< it has come back there
  };
  Kind kind = Kind::launch;
  std::uint64_t time = 0;      ///< in the unit of DecisionLog::now
  std::uint64_t sequence = 0;  ///< of the decision
  std::uint64_t grid = 0;      ///< Grid::id
  std::uint64_t first = 0;     ///< launch index of the first of `sms`
  std::uint64_t cluster = 0;   ///< outermost cluster of the grid, by number
  unsigned level = 0;          ///< of nesting that the candidates were asked for
  unsigned round = 0;          ///< of domain choice within one decision
  std::vector<Candidate> candidates;
  std::vector<std::uint32_t> sms;  ///< one entry per CTA
  /// The shadow state after it, by SM: slots left for the grid. Empty: not kept.
  std::vector<std::uint32_t> free;
  /// The live state when it was taken, by SM: CTAs resident. A placement's decisions enter it once all of the
  /// placement is decided. Empty: not kept.
  std::vector<std::uint32_t> live;
};

class DecisionLog {
 public:
  virtual ~DecisionLog() = default;
  virtual void record(const Decision& decision) = 0;
  std::uint64_t now = 0;  ///< set by the caller that knows the time: ns, or the time of a simulation
};

}  // namespace raddle::machine
