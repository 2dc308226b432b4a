// What a run says about its schedule (G-11h).
#pragma once

#include "raddle/graph/executor.h"

namespace raddle::graph {

RunScore score_of(const Schedule& schedule, const std::vector<NodeTimes>& times);

}  // namespace raddle::graph
