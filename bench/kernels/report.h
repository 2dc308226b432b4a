// The benchmark's one table, its JSON, and what it counts: wins, geometric means, and what is missing.
#pragma once

#include <string>
#include <vector>

#include "against.h"
#include "base/result.h"
#include "machine_limits.h"
#include "workload.h"

namespace bench {

enum class State { measured, missing, wrong, estimated, none };  // none: not a kernel for this system

/// One kernel on one system.
struct Row {
  std::string kernel, system, unit;
  bool headline = true;
  Limit limit = Limit::copy;
  double limit_work = 0;  ///< of the limit's units, per unit of this row
  State state = State::missing;
  double value = 0;   ///< work per second, median of the runs
  double spread = 0;  ///< (slowest - fastest) / median
  int runs = 0;
  std::string remark;  ///< flags, block kind; or why it is missing or wrong
};

/// The workload's row for a system, without a figure yet.
Row row_of(const Workload& workload, const std::string& system);

struct Report {
  std::string machine, commit;
  unsigned cores = 0;
  bool quick = false;
  double other_cores = 0;  ///< cores' worth of time taken by other programs meanwhile
  Limits limits{};
  std::vector<std::string> systems;
  std::vector<Row> rows;

  const Row* find(const std::string& kernel, const std::string& system) const;
  /// Times that Raddle is faster than `row`; 0 if either has no figure. A system of a certain width is
  /// compared with Raddle at that width.
  double ratio(const Row& row) const;
  /// The part of its limit that `row` reached; 0 if it has no figure.
  double share(const Row& row) const;
  /// Raddle's, for a comparison with other results.
  Shares shares() const;
  void print() const;
  raddle::Result<void> write_json(const std::string& path) const;
  bool any_wrong() const;
};

}  // namespace bench
