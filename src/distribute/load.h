// A load: the stream of grids that a distributor is run on, recorded from a program or made up. As JSON
// (docs/distributor.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "distribute/durations.h"
#include "machine/distributor/grid.h"

namespace raddle::distribute {

/// More CTAs of a grid that grows while it runs, as a queue's entries do.
struct Growth {
  std::uint64_t time = 0;  ///< in the load's unit, as an arrival
  std::uint64_t ctas = 0;
  bool operator==(const Growth&) const = default;
};

struct LoadGrid {
  std::string name;
  std::uint64_t arrival = 0;                     ///< in the load's unit
  std::array<std::uint32_t, 3> extent{1, 1, 1};  ///< CTAs
  machine::CtaNeeds needs;
  machine::GridKind kind;
  int priority = 0;
  std::uint32_t cap_per_sm = 0;  ///< as Grid::cap_per_sm
  bool cluster_memory = false;
  std::uint64_t space = 0;                               ///< as Grid::space
  std::optional<machine::PlacementMode> placement = {};  ///< as Grid::mode
  std::uint32_t work_kind = 0;                           ///< as Grid::work_kind
  Durations durations;
  std::vector<Growth> grows = {};  ///< by time, none before the arrival; of plain grids only

  /// Those with which it arrives.
  std::uint64_t ctas() const { return std::uint64_t{extent[0]} * extent[1] * extent[2]; }
};

struct Load {
  std::string unit = "ns";  ///< of all times, for reports
  /// From the end of a cluster's last CTA until its id returns: its remote traffic drains (W-20).
  std::uint64_t flush = 0;
  std::vector<LoadGrid> grids;  ///< by arrival
};

inline constexpr std::uint64_t kMostGrids = 1'000'000;
inline constexpr std::uint64_t kMostTime = 1ull << 50;  ///< arrivals and durations: 13 days of ns

/// Generators are expanded.
/// @param name  of the file, for messages
/// @errors invalid: no JSON, or the path of the value that is wrong
Result<Load> parse_load(std::string_view text, const std::string& name);

/// The load as JSON: parse_load reads the same again.
std::string load_text(const Load& load);
/// One grid of a load, without a line break.
std::string grid_text(const LoadGrid& grid);

}  // namespace raddle::distribute
