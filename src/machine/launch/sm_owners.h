// Which worker runs the CTAs of which SM, and what it has taken of them. By SM in rows of their own, as a
// grid's begin and end go over all its SMs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace raddle::machine {

class SmOwners {
 public:
  SmOwners(std::uint32_t sms, unsigned workers)
      : workers_(workers), home_(sms), taken_(sms, 0), parked_(sms, 0) {
    for (std::uint32_t sm = 0; sm < sms; ++sm) home_[sm] = part(sm, sms);
    owner_ = home_;
  }

  std::uint16_t of(std::uint32_t sm) const { return owner_[sm]; }
  /// Nothing of it has begun, or waits at its owner to go on.
  bool can_move(std::uint32_t sm) const { return taken_[sm] == 0 && parked_[sm] == 0; }
  void move(std::uint32_t sm, unsigned to) {
    owner_[sm] = static_cast<std::uint16_t>(to);
    moved_ = true;
  }
  /// Before a grid comes to a machine where nothing is resident. The workers get SMs in runs of equal length,
  /// of those that a plain grid of fewer CTAs than SMs will probably have, too.
  /// @param ctas  of such a grid; else any larger number
  void deal(std::uint64_t ctas) {
    const auto sms = static_cast<std::uint32_t>(home_.size());
    if (ctas >= sms || ctas == 1) ctas = 0;
    if (ctas == dealt_ && !moved_) return;
    dealt_ = static_cast<std::uint32_t>(ctas);
    moved_ = false;
    for (std::uint32_t sm = 0; sm < sms; ++sm)
      if (can_move(sm)) owner_[sm] = sm < dealt_ ? part(sm, dealt_) : home_[sm];
  }

  /// The owner takes CTAs on so many SMs, or they are over. @param step  from SM to SM
  void take(std::uint32_t sm, std::uint32_t step, std::uint32_t count) {
    for (; count != 0; --count, sm += step) ++taken_[sm];
  }
  void leave(std::uint32_t sm, std::uint32_t step, std::uint32_t count) {
    for (; count != 0; --count, sm += step) --taken_[sm];
  }
  /// A CTA that began is parked, or goes on.
  void park(std::uint32_t sm) { ++parked_[sm], ++all_parked_; }
  void unpark(std::uint32_t sm) { --parked_[sm], --all_parked_; }
  bool any_parked() const { return all_parked_ != 0; }

 private:
  /// The worker that gets the i-th of so many SMs.
  std::uint16_t part(std::uint32_t i, std::uint32_t sms) const {
    return static_cast<std::uint16_t>(std::uint64_t{i} * workers_ / sms);
  }

  const unsigned workers_;
  std::vector<std::uint16_t> home_;    // that has it, if nothing had to move
  std::vector<std::uint16_t> owner_;   // that has it now
  std::vector<std::uint16_t> taken_;   // CTAs that the owner has taken and not reported finished
  std::vector<std::uint32_t> parked_;  // CTAs parked in their middle: the owner has them
  std::uint64_t all_parked_ = 0;
  std::uint32_t dealt_ = 0;  // SMs that were dealt for a small grid, 0: all are at home
  bool moved_ = false;       // some SM has gone elsewhere since
};

}  // namespace raddle::machine
