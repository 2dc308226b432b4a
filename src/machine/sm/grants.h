// The runs of CTAs that a worker has taken and not started: the most urgent first, else as they were taken.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "machine/launch/launch_controllers.h"

namespace raddle::machine {

class Grants {
 public:
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == kMost; }
  CtaRun& front() { return runs_[head_]; }
  std::span<CtaRun> all() { return {runs_.data() + head_, count_}; }

  /// Where an exchange may put runs, in their order: nowhere unless it is empty.
  std::span<CtaRun> room() {
    if (!empty()) return {};
    head_ = 0;
    return std::span<CtaRun>(runs_).first(LaunchControllers::kGrants);
  }
  void fill(std::size_t count) { count_ = count; }
  /// The same runs, of another task. It must be empty.
  void repeat(std::span<const CtaRun> runs, Task& task) {
    head_ = 0, count_ = runs.size();
    std::ranges::copy(runs, runs_.begin());
    for (CtaRun& run : all()) run.task = &task, run.took_ns = 0;
  }

  /// Puts a run behind those as urgent. It must not be full.
  CtaRun& insert(const CtaRun& run) {
    std::copy_n(runs_.begin() + static_cast<std::ptrdiff_t>(head_), count_, runs_.begin());
    head_ = 0;
    const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto place = std::upper_bound(runs_.begin(), end, run, [](const CtaRun& a, const CtaRun& b) {
      return a.task->priority < b.task->priority;
    });
    std::copy_backward(place, end, end + 1);
    ++count_;
    return *place = run;
  }
  /// The first run of a task, null if there is none.
  CtaRun* of(const Task& task) {
    for (CtaRun& run : all())
      if (run.task == &task) return &run;
    return nullptr;
  }
  /// Takes the first CTAs off a run, and the run off when these were the last.
  void drop_ctas(CtaRun& run, std::uint32_t count = 1) {
    run.drop(count);
    if (run.count == 0) remove(run);
  }
  void remove(CtaRun& run) {
    if (&run == &front()) {
      ++head_;
    } else {
      std::copy(&run + 1, all().data() + count_, &run);
    }
    --count_;
  }

 private:
  static constexpr std::size_t kMost = 2 * LaunchControllers::kGrants;
  std::array<CtaRun, kMost> runs_{};
  std::size_t head_ = 0, count_ = 0;
};

}  // namespace raddle::machine
