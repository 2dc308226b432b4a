// The benchmark's one table, its JSON, and what it counts: wins, geometric means, and what is missing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "machine_limits.h"

namespace bench {

enum class State { measured, missing, wrong, estimated };

/// One kernel on one system.
struct Row {
  std::string kernel, system, unit;
  bool headline = true;
  State state = State::missing;
  double value = 0;   ///< work per second, median of the runs
  double spread = 0;  ///< (slowest - fastest) / median
  int runs = 0;
  std::string remark;  ///< flags, block kind; or why it is missing or wrong
};

struct Report {
  std::string machine, commit;
  unsigned cores = 0;
  bool quick = false;
  double other_cores = 0;  ///< cores' worth of time taken by other programs meanwhile
  Limits limits{};
  std::vector<std::string> systems;
  std::vector<Row> rows;

  const Row* find(const std::string& kernel, const std::string& system) const;
  /// Times that Raddle is faster than `row`; 0 if either has no figure.
  double ratio(const Row& row) const;
  void print() const;
  raddle::Result<void> write_json(const std::string& path) const;
  bool any_wrong() const;
};

}  // namespace bench
