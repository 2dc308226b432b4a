// Which domains get the next clusters (W-7): those that answer the highest speed. Kept apart from the
// recursion, which only asks and launches.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace raddle::machine {

/// What one domain's model answers when asked for a cluster: `fail`, or a speed; 0 is a valid speed.
class Answer {
 public:
  Answer() = default;  ///< fail
  explicit Answer(std::uint32_t speed) : code_(std::uint64_t{speed} + 1) {}
  bool failed() const { return code_ == 0; }
  std::uint32_t speed() const { return static_cast<std::uint32_t>(code_ - 1); }
  bool operator==(const Answer&) const = default;
  bool operator<(const Answer& other) const { return code_ < other.code_; }  ///< fail is the slowest

 private:
  std::uint64_t code_ = 0;
};

/// Finds all candidates that share the highest speed, in order.
/// @param tied  is replaced; empty if all failed
void find_fastest(std::span<const Answer> answers, std::vector<std::uint32_t>& tied);

/// The tie-break where a round has more candidates than clusters left: the lowest ranks, of equal ones the
/// first.
/// @param tied    rank and number of each candidate; is reordered
/// @param chosen  is replaced, in order
void keep_first(std::span<std::pair<std::uint64_t, std::uint32_t>> tied, std::size_t keep,
                std::vector<std::uint32_t>& chosen);

}  // namespace raddle::machine
