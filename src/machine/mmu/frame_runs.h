// Physical addresses that are free, as runs of whole frames.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace raddle::machine {

struct FrameRun {
  std::uint64_t start = 0, bytes = 0;  ///< multiples of kFrame
  std::uint64_t end() const { return start + bytes; }
  bool operator==(const FrameRun&) const = default;
};

/// Plain data, without a lock.
class FrameRuns {
 public:
  static constexpr std::uint64_t kFrame = 4096;

  /// A run that is not in here, nor a part of it; joins its neighbours.
  void add(FrameRun run);
  /// The lowest so many bytes in one run. @param alignment  a power of two
  std::optional<FrameRun> take(std::uint64_t bytes, std::uint64_t alignment = kFrame);
  /// Just these. @returns false: some of them are not in here
  bool take_at(FrameRun run);
  /// The highest ones.
  std::optional<FrameRun> take_last(std::uint64_t bytes);
  /// The longest run, at most so many bytes of it.
  std::optional<FrameRun> take_longest(std::uint64_t most);
  std::uint64_t bytes() const { return bytes_; }
  const std::map<std::uint64_t, std::uint64_t>& runs() const { return runs_; }  ///< start -> bytes

 private:
  void cut(std::map<std::uint64_t, std::uint64_t>::iterator from, FrameRun part);

  std::map<std::uint64_t, std::uint64_t> runs_;  // no two touch
  std::uint64_t bytes_ = 0;
};

}  // namespace raddle::machine
