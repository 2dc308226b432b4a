// Random graphs, and what can be said of a schedule without the scheduler's help.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "raddle/graph.hpp"

namespace raddle::graph {

struct RandomGraph {
  Graph graph;
  std::vector<Resource> resources;

  /// Passes that touch a few of the resources, in parts and in whole; transient ones are written first.
  explicit RandomGraph(std::uint64_t seed, unsigned most_passes = 24, bool with_kernels = false);
};

/// Whether two passes of a program may change places or overlap: by their accesses of buffers.
bool conflict(const PassInfo& one, const PassInfo& other);

/// Starts nodes as soon as what they wait for has ended, with times that the function says.
struct Playback {
  std::vector<double> begin, end;  ///< by node
  Playback(const Schedule& schedule, const std::function<double(std::uint32_t)>& time);
  explicit Playback(const std::vector<NodeTimes>& measured);  ///< of a run
  bool overlap(std::uint32_t one, std::uint32_t other) const {
    return begin[one] < end[other] && begin[other] < end[one];
  }
};

/// Empty: every dependent pair keeps its order, no two live resources share bytes, and what runs together
/// fits.
std::string what_is_wrong(const Schedule& schedule, const Playback& play);

/// Of the suite: RADDLE_TEST_SEED, or 1.
std::uint64_t test_seed();

}  // namespace raddle::graph
