// Which address spaces have had CTAs on which SM: what deep and wide placement differ in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace raddle::distribute {

class SmSharing {
 public:
  explicit SmSharing(std::uint32_t sms) : spaces_(sms) {}
  void started(std::uint32_t sm, std::uint64_t space) {
    std::vector<std::uint64_t>& spaces = spaces_[sm];
    if (!spaces.empty() && spaces.back() == space) return;
    const auto known = std::ranges::find(spaces, space);
    if (known == spaces.end())
      spaces.push_back(space);
    else
      std::swap(*known, spaces.back());  // likely to be the next one's, too
  }

  /// SMs that had a CTA.
  std::uint64_t sms_used() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(spaces_, [](const auto& s) { return !s.empty(); }));
  }
  /// Distinct spaces on an SM that had a CTA: the mean, and the most.
  double mean_spaces() const {
    std::size_t sum = 0;
    for (const auto& spaces : spaces_) sum += spaces.size();
    return sum == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(sms_used());
  }
  std::uint64_t most_spaces() const {
    std::size_t most = 0;
    for (const auto& spaces : spaces_) most = std::max(most, spaces.size());
    return most;
  }

 private:
  std::vector<std::vector<std::uint64_t>> spaces_;  // by SM
};

}  // namespace raddle::distribute
