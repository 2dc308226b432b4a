// Which worker runs the CTAs of which SM, and what it has taken of them. By SM in rows of their own, as a
// grid's begin and end go over all its SMs.
#pragma once

#include <algorithm>
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
  /// Before a grid comes to a machine where nothing is resident: the workers get SMs in runs that will have
  /// as many CTAs of it each, if it is a plain one of few CTAs and gets them on one SM after the other.
  /// @param ctas  of such a grid; else any larger number
  void deal(std::uint64_t ctas) {
    constexpr std::uint64_t kMostOnEach = 16;  // CTAs on an SM: one more or less makes no difference beyond
    const auto sms = static_cast<std::uint32_t>(home_.size());
    if (ctas > kMostOnEach * sms || ctas == 1) ctas = 0;
    if (ctas == dealt_ && !moved_ && only_ == kNobody) return;
    dealt_ = ctas;
    moved_ = false;
    only_ = kNobody;
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      if (!can_move(sm)) continue;
      const std::uint64_t before = ctas / sms * sm + std::min<std::uint64_t>(sm, ctas % sms);
      owner_[sm] = before == ctas ? home_[sm] : part(before, ctas);
    }
  }

  /// Likewise, where one worker is to have all of a grid.
  void deal_to(unsigned worker) {
    if (only_ == worker && !moved_) return;
    only_ = worker;
    moved_ = false;
    for (std::uint32_t sm = 0; sm < owner_.size(); ++sm)
      if (can_move(sm)) owner_[sm] = static_cast<std::uint16_t>(worker);
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
  /// The worker that gets the i-th of so many.
  std::uint16_t part(std::uint64_t i, std::uint64_t all) const {
    return static_cast<std::uint16_t>(i * workers_ / all);
  }

  const unsigned workers_;
  std::vector<std::uint16_t> home_;    // that has it, if nothing had to move
  std::vector<std::uint16_t> owner_;   // that has it now
  std::vector<std::uint16_t> taken_;   // CTAs that the owner has taken and not reported finished
  std::vector<std::uint32_t> parked_;  // CTAs parked in their middle: the owner has them
  std::uint64_t all_parked_ = 0;
  std::uint64_t dealt_ = 0;  // CTAs of the small grid that they were dealt for, 0: all are at home
  static constexpr unsigned kNobody = ~0u;
  unsigned only_ = kNobody;  // they were dealt to this one
  bool moved_ = false;       // some SM has gone elsewhere since
};

}  // namespace raddle::machine
