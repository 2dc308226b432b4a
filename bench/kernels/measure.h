// Times systems on a workload: each builds, proves its result, then all take turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report.h"
#include "system.h"

namespace bench {

struct Candidate {
  std::string name;
  std::unique_ptr<System> system;
  std::string missing;  ///< why it is missing
};

/// Opens the systems named; those that are not here are there as missing.
std::vector<Candidate> open_systems(const std::vector<std::string>& names);

/// All systems on one workload, taking turns, so that a disturbance of the machine meets all alike.
std::vector<Row> measure(const std::vector<Candidate>& candidates, Workload& workload, int runs);

}  // namespace bench
