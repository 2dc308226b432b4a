// A distributor under random events, with everything that must hold checked after each: against a ground
// truth of its own, and against the policy's view of the machine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ground_truth.h"

namespace raddle::machine::testing {

/// One event; what the numbers mean depends on what can happen then, so that any of them makes sense.
struct Event {
  std::uint8_t what = 0;
  std::uint16_t a = 0, b = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Event& event) {
  return out << int{event.what} << ':' << event.a << ',' << event.b;
}

/// The machine and the policy of a run, made from any numbers.
struct Setup {
  std::uint32_t shape = 0, limits = 0, options = 0, policy = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Setup& setup) {
  return out << setup.shape << ' ' << setup.limits << ' ' << setup.options << ' ' << setup.policy;
}

class RandomEvents final : private LaunchSink {
 public:
  explicit RandomEvents(const Setup& setup);
  ~RandomEvents() override;
  void happen(const Event& event);
  /// No more grids: all that fits the empty machine must get on and finish.
  void finish();
  /// The first violation.
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  class CheckingPolicy;
  friend class CheckingPolicy;
  void launch(const LaunchMask& mask) override;
  void preempt(Grid& grid) override;
  void put_back(const LaunchMask& mask);
  void park(TrueCluster& cluster, std::uint32_t running, bool began);
  void drop(std::uint32_t index);
  void check_preemption();
  bool has_pools() const { return truth_.options.active_pool != 0 || truth_.options.pending_pool != 0; }
  bool launches_in(const Grid& grid, std::uint32_t gpc) const;
  void check_pools(const Grid& grid, std::span<const std::uint32_t> seen, std::vector<std::uint32_t>& free);
  bool is_kept_in(const Grid& grid, std::uint32_t gpc) const;
  void enter_pool(Grid& grid, std::uint32_t sm);
  void idle(std::uint32_t number);
  bool idles(const Grid& grid) const override { return idle_.contains(&grid); }
  void check_cluster(const TrueCluster& cluster);
  void check(bool holds, const char* what);
  void check_slots();
  void check_turns(const std::map<const Grid*, std::uint64_t>& overdue);
  void distribute();
  void add(const Event& event);
  void withdraw(std::uint32_t number);
  void complete(std::uint32_t cluster, std::uint32_t running);
  void drain(std::uint32_t flushing);
  bool nothing_fits(const Grid& grid);
  std::size_t spaces() const;  ///< of the grids that have not finished
  std::vector<std::uint32_t> visible(const Grid& grid) const;

  GroundTruth truth_;
  std::unique_ptr<Distributor> distributor_;
  std::vector<std::unique_ptr<Grid>> grids_;
  /// By GPC: grids that have launched there, with Grid::sequence: since it got its slot.
  std::map<std::uint32_t, std::vector<std::pair<const Grid*, std::uint64_t>>> active_;
  std::set<const Grid*> idle_, waited_;         // those with something left as a session began
  std::map<const Grid*, std::uint64_t> heard_;  // CTAs in the masks of each
  std::optional<TrueCluster> launching_;
  std::uint64_t sequence_ = 0, added_ = 0, back_ = 0;
  std::string policy_name_;
  std::optional<std::string> failure_;
};

}  // namespace raddle::machine::testing
