// The highest speed wins; ties go by rank, then by number.
#include "machine/distributor/speed.h"

#include <algorithm>

namespace raddle::machine {

void find_fastest(std::span<const Answer> answers, std::vector<std::uint32_t>& tied) {
  Answer highest;
  for (const Answer answer : answers) highest = std::max(highest, answer);
  tied.clear();
  if (highest.failed()) return;
  for (std::uint32_t i = 0; i < answers.size(); ++i)
    if (answers[i] == highest) tied.push_back(i);
}

void keep_first(std::span<std::pair<std::uint64_t, std::uint32_t>> tied, std::size_t keep,
                std::vector<std::uint32_t>& chosen) {
  std::sort(tied.begin(), tied.end());
  chosen.clear();
  for (const auto& [load, candidate] : tied.first(std::min(keep, tied.size()))) chosen.push_back(candidate);
  std::sort(chosen.begin(), chosen.end());
}

}  // namespace raddle::machine
