// What earlier executions have taken (G-11): kept by definition, or place in the program, and shapes of
// arguments, in a file if wanted.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "raddle/graph/graph.h"

namespace raddle::graph {

/// Of one execution of a pass.
struct Measurement {
  double nanoseconds = 0;
  double occupancy = 0;  ///< part of the SMs' slots that its blocks had at once, at most; 0: unknown
  double bytes_per_nanosecond = 0;  ///< that it said to access
};

/// Of all of them so far: means in which the last ones count more, and the greatest occupancy.
struct Estimate {
  std::string what;  ///< name, place and shapes, to be read by people
  std::uint64_t runs = 0;
  double nanoseconds = 0, occupancy = 0, bytes_per_nanosecond = 0;
};
/// By unit, the part of the time in which it is busy.
using BusyShares = std::array<double, Needs::kCount>;

/// Of one execution of a whole graph.
struct RunScore {
  double nanoseconds = 0;  ///< from the first begin to the last end
  double estimated = 0;    ///< what the schedule said
  double serial = 0;       ///< the passes' times together: above nanoseconds, passes overlapped
  BusyShares busy{};       ///< part of the time in which a pass that needs this ran
};

/// Thread-safe.
class History {
 public:
  /// Of a pass: equal for passes of one definition (or line) with arguments of one shape.
  static std::uint64_t key(const Graph& graph, const PassInfo& pass);
  static std::string describe(const Graph& graph, const PassInfo& pass);

  void record(std::uint64_t key, const std::string& what, const Measurement& measurement);
  std::optional<Estimate> find(std::uint64_t key) const;
  void record(const RunScore& score);
  /// Means over graphs that have run. None: none has.
  std::optional<BusyShares> busy() const;
  std::size_t size() const;
  /// Grows when an estimate changes by more than an eighth: schedules made before are then stale.
  std::uint64_t changes() const;
  /// The largest bandwidth that any pass has had, in bytes per nanosecond.
  double best_bandwidth() const;

  Result<void> save(const std::string& path) const;  ///< @errors io
  Result<void> load(const std::string& path);        ///< adds. @errors io, invalid

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Estimate> estimates_;
  std::uint64_t changes_ = 0;
  double best_bandwidth_ = 0;
  std::optional<BusyShares> busy_;
};

}  // namespace raddle::graph
