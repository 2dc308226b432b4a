// How long a pass takes and what it needs meanwhile: said by the program, else measured before, else guessed
// by its size.
#pragma once

#include "raddle/graph/feedback.h"
#include "raddle/graph/target.h"

namespace raddle::graph {

struct PassEstimate {
  double nanoseconds = 0;
  Needs needs;
};

PassEstimate estimate_pass(const Graph& graph, const PassInfo& pass, const Target& target,
                           const History* history);
/// Bytes that a pass says to access.
std::uint64_t accessed_bytes(const Graph& graph, const PassInfo& pass);

}  // namespace raddle::graph
