#include "machine/tma/adversary.h"

namespace raddle::machine {

Adversary::Adversary(const Asynchrony& asynchrony)
    : random_(asynchrony.mode == Asynchrony::Mode::random),
      state_(asynchrony.seed * 0x9e3779b97f4a7c15ull | 1) {
  lands_ = std::uint64_t{1} << draw() % 13;
  yields_ = std::uint64_t{1} << draw() % 6;
  returns_ = std::uint64_t{1} << draw() % 8;
}

/// xorshift64
std::uint64_t Adversary::draw() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return state_ >> 16;
}

std::size_t Adversary::choose(std::size_t count) { return random_ ? draw() % count : 0; }

std::size_t Adversary::burst() {
  if (!random_ || !one_in(lands_)) return 0;
  return std::size_t{1} << draw() % 9;
}

bool Adversary::returns_errors() { return !random_ || one_in(returns_); }

const TmaRequester* Adversary::user_of(const ByteRange& place, TmaUse use) const {
  for (const TmaUnit* unit : units)
    if (const TmaRequester* user = unit->user_of(place, use)) return user;
  for (const ThreadCopies* each : copies)
    if (const TmaRequester* user = each->user_of(place, use)) return user;
  return nullptr;
}

bool Adversary::lets_others_run() { return random_ && one_in(yields_); }

}  // namespace raddle::machine
