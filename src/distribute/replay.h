// Turns steps into what a picture shows: the rows of each SM, one per resident CTA, and which row a CTA takes
// and leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "distribute/history.h"

namespace raddle::distribute {

/// A CTA in a row of an SM.
struct Cell {
  std::uint32_t sm = 0, row = 0;
  std::uint64_t grid = 0, cta = 0, cluster = 0;  ///< cluster: outermost, by number; 0 in a plain grid
  std::uint64_t since = 0;
  bool used = false;
};

inline bool fills(machine::Decision::Kind kind) {
  return kind == machine::Decision::Kind::launch || kind == machine::Decision::Kind::resume;
}
inline bool empties(machine::Decision::Kind kind) {
  return kind == machine::Decision::Kind::complete || kind == machine::Decision::Kind::park;
}

class Replay {
 public:
  explicit Replay(const History& history) : history_(history), sms_(history.layout.sm_count()) {}
  /// @param changed  receives the cells that a launch fills, or the former contents of cells that a
  ///                 completion empties; CTAs that are suspended and resumed likewise. If the history does
  ///                 not say which CTA has ended, it is the one of that cluster or plain grid that came to
  ///                 the SM first.
  void apply(const Step& step, std::vector<Cell>& changed);
  const std::vector<std::vector<Cell>>& sms() const { return sms_; }

 private:
  void fill(const machine::Decision& decision, const GridInfo& grid, std::size_t i,
            std::vector<Cell>& changed);
  void empty(const Step& step, const GridInfo& grid, std::size_t i, std::vector<Cell>& changed);

  const History& history_;
  std::vector<std::vector<Cell>> sms_;
};

}  // namespace raddle::distribute
