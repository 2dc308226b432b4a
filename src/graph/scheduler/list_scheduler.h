// Runs a policy against a clock of estimates. What it answers holds for any times: whoever gets a part of the
// machine, or memory, waits for those that had it before.
#pragma once

#include "graph/scheduler/policy.h"

namespace raddle::graph {

struct Outcome {
  std::vector<std::uint32_t> order;  ///< nodes as they start
  std::vector<double> begin, end;    ///< by node
  struct Extra {
    std::uint32_t to;
    Edge edge;
  };
  std::vector<Extra> extra;                ///< what nodes wait for beside their dependencies
  std::vector<std::uint64_t> offsets;      ///< by place in analysis.transient
  std::vector<std::uint32_t> first, last;  ///< likewise: nodes
  std::uint64_t peak_bytes = 0;
  double nanoseconds = 0;
};

/// @errors out_of_memory: names no pass; the node that could not start is `stuck`
Result<Outcome> run_policy(const Problem& problem, Policy& policy, std::uint32_t& stuck);

}  // namespace raddle::graph
