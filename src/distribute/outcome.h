// What a simulation measured. Definitions: docs/distributor.md, "What is measured".
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace raddle::distribute {

/// Counts of values by size, to within 1/128 of the value: of millions of waiting times without keeping them.
class Histogram {
 public:
  void add(std::uint64_t value, std::uint64_t count) {
    counts_[place_of(value)] += count;
    total_ += count;
    sum_ += static_cast<unsigned __int128>(value) * count;
    most_ = value > most_ ? value : most_;
  }
  double mean() const { return total_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(total_); }
  std::uint64_t most() const { return most_; }
  /// The least value that at least this share of all does not exceed, rounded down by at most 1/128.
  std::uint64_t quantile(double share) const;

 private:
  static constexpr unsigned kBits = 7;
  static std::size_t place_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kBits + 1) return static_cast<std::size_t>(value);
    const unsigned shift = width - kBits - 1;
    return (std::size_t{shift} << kBits) + static_cast<std::size_t>(value >> shift);
  }
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(std::size_t{64 - kBits + 1} << kBits);
  std::uint64_t total_ = 0, most_ = 0;
  unsigned __int128 sum_ = 0;
};

/// Jain's index of fairness: (sum x)^2 / (n * sum x^2); 1 when all are alike, 1/n when one has everything.
struct Jain {
  double sum = 0, squares = 0;
  std::uint64_t count = 0;
  void add(double x) { sum += x, squares += x * x, ++count; }
  double index() const { return squares == 0 ? 1 : sum * sum / (static_cast<double>(count) * squares); }
};

/// Of a kind of work (DistributorOptions::work_kinds).
struct KindOutcome {
  std::uint64_t ctas = 0;   ///< launched
  double gpc_time = 0;      ///< GPCs that it had, times time
  std::uint32_t most = 0;   ///< GPCs at one time
  std::uint32_t least = 0;  ///< while it had work
  void note(std::uint32_t gpcs) {
    most = std::max(most, gpcs);
    if (gpcs != 0 && (least == 0 || gpcs < least)) least = gpcs;
  }
};

struct Outcome {
  std::string policy;                               ///< or the placement that all grids got instead
  std::uint64_t grids = 0, ctas = 0, clusters = 0;  ///< finished; outermost clusters that were launched
  std::uint64_t stuck_grids = 0;                    ///< that never ended: no domain ever holds their clusters
  std::vector<std::string> stuck;                   ///< the first 8 of them
  std::uint64_t makespan = 0;                       ///< from the first arrival to the last end
  double utilisation = 0;         ///< of all SMs over the makespan: of the resource that was used most
  double sm_utilisation = 0;      ///< of SM time: with at least one CTA
  std::uint64_t sms_used = 0;     ///< SMs that had a CTA
  double spaces_mean = 0;         ///< distinct address spaces on such an SM
  std::uint64_t spaces_most = 0;  ///< ... on any
  Histogram waiting;              ///< of CTAs: from the arrival of their grid to their launch
  Jain fairness;                  ///< of grids: shortest possible turnaround / turnaround
  std::map<int, Jain> fairness_by_priority;
  std::vector<KindOutcome> kinds;  ///< of work; one: no GPCs are set aside
  double fragmentation = 0;  ///< slots free that the first waiting cluster cannot use, of all, over time
  std::uint64_t calls = 0;   ///< of the policy
  std::uint64_t failed = 0;  ///< calls in which a cluster did not fit
  std::uint64_t steps = 0;   ///< of selection
  std::uint64_t masks = 0;   ///< launch messages
  std::uint64_t decompositions = 0, overflows = 0;  ///< of deltas by the SMs; overflows are among them
  std::uint64_t mask_bits = 0, single_bits = 0;     ///< of the launch messages; of one message per CTA
  double seconds = 0;                               ///< of processor time that the simulation took
};

/// A launch message says task, sequence number, end mark; then a bit per SM, or the number of one SM.
inline constexpr std::uint64_t kMessageHeaderBits = 32;
inline std::uint64_t mask_message_bits(std::uint32_t sms) { return kMessageHeaderBits + sms; }
inline std::uint64_t single_message_bits(std::uint32_t sms) {
  return kMessageHeaderBits + static_cast<std::uint64_t>(std::bit_width(sms - 1));
}

}  // namespace raddle::distribute
