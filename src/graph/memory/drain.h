// What to run when memory is tight (G-12c): the users of a live resource that still wait, its likely last
// ones among them, and all that those depend on. Once they have run, its memory is free.
#pragma once

#include <vector>

#include "graph/scheduler/policy.h"

namespace raddle::graph {

class Drain {
 public:
  explicit Drain(const Problem& problem) : problem_(problem), is_urgent_(problem.size()) {}
  /// Chooses a resource if none is being drained. @returns whether a node's urgency may have changed
  bool update(Progress& progress);
  bool is_urgent(std::uint32_t node) const { return is_urgent_[node]; }
  /// That have become urgent since the last update() that answered true.
  const std::vector<std::uint32_t>& urgent() const { return urgent_; }
  void note_start(std::uint32_t node);

 private:
  bool collect(std::uint32_t transient, Progress& progress);

  const Problem& problem_;
  std::vector<bool> is_urgent_;
  std::vector<std::uint32_t> urgent_, live_;
  std::uint32_t target_ = ~0u;
};

/// Among the users of a transient resource those after which no other user comes (G-12b).
std::vector<std::uint32_t> likely_last(const Problem& problem, std::uint32_t transient);

}  // namespace raddle::graph
