#include "machine/mmu/frame_runs.h"

#include <algorithm>
#include <iterator>

#include "base/round_up.h"

namespace raddle::machine {

void FrameRuns::add(FrameRun run) {
  if (run.bytes == 0) return;
  bytes_ += run.bytes;
  const auto next = runs_.upper_bound(run.start);
  if (next != runs_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == run.start) run = {before->first, before->second + run.bytes};
  }
  if (next != runs_.end() && next->first == run.end()) {
    run.bytes += next->second;
    runs_.erase(next);
  }
  runs_[run.start] = run.bytes;
}

void FrameRuns::cut(std::map<std::uint64_t, std::uint64_t>::iterator from, FrameRun part) {
  const FrameRun whole{from->first, from->second};
  bytes_ -= part.bytes;
  runs_.erase(from);
  if (part.start != whole.start) runs_.emplace(whole.start, part.start - whole.start);
  if (part.end() != whole.end()) runs_.emplace(part.end(), whole.end() - part.end());
}

std::optional<FrameRun> FrameRuns::take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto run = runs_.begin(); run != runs_.end(); ++run) {
    const std::uint64_t start = round_up(run->first, alignment);
    if (start - run->first > run->second || bytes > run->second - (start - run->first)) continue;
    cut(run, {start, bytes});
    return FrameRun{start, bytes};
  }
  return std::nullopt;
}

bool FrameRuns::take_at(FrameRun wanted) {
  const auto next = runs_.upper_bound(wanted.start);
  if (next == runs_.begin()) return false;
  const auto run = std::prev(next);
  if (run->first + run->second < wanted.end()) return false;
  cut(run, wanted);
  return true;
}

std::optional<FrameRun> FrameRuns::take_last(std::uint64_t bytes) {
  for (auto run = runs_.end(); run != runs_.begin();) {
    --run;
    if (run->second < bytes) continue;
    const FrameRun part{run->first + run->second - bytes, bytes};
    cut(run, part);
    return part;
  }
  return std::nullopt;
}

std::optional<FrameRun> FrameRuns::take_longest(std::uint64_t most) {
  const auto longest = std::ranges::max_element(
      runs_, [](const auto& one, const auto& other) { return one.second < other.second; });
  if (longest == runs_.end()) return std::nullopt;
  const FrameRun part{longest->first, std::min(longest->second, most)};
  cut(longest, part);
  return part;
}

}  // namespace raddle::machine
