// A history: all decisions of one distributor, step by step, with its machine and its grids. The viewers show
// it. It comes from a simulation, or from a file that a simulation or a live machine wrote: JSON, a value per
// line (docs/distributor.md).
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "distribute/step_log.h"

namespace raddle::distribute {

/// Which SMs each domain has: of each level the number of SMs of its domains, which follow one another.
struct Layout {
  std::string name;
  std::array<std::vector<std::uint32_t>, machine::kLevels> sms;

  std::uint32_t sm_count() const { return static_cast<std::uint32_t>(sms.back().size()); }
};
Layout layout_of(const machine::MachineShape& shape);

struct Step {
  machine::Decision decision;
  std::vector<std::uint64_t> ctas;  ///< of a `complete`: launch indices, where they are known
};

struct History final : public StepLog {
  Layout layout;
  std::string policy, unit = "ns";
  std::vector<GridInfo> grids;  ///< in the order of arrival
  std::vector<Step> steps;
  std::uint64_t limit = ~0ull;  ///< of steps; later ones are counted in `left_out`
  std::uint64_t left_out = 0;

  /// A waiting cluster is refused again whenever something has ended: keep every refusal, else the first
  /// only.
  bool all_refusals = false;
  std::map<std::uint64_t, std::uint64_t> refused;  ///< by grid: the cluster of the last refusal
  std::vector<machine::Decision> attempts;  ///< since the last decision; their outcome is not known yet

  void arrived(const GridInfo& grid) override { grids.push_back(grid); }
  void record(const machine::Decision& decision) override;
  /// Null if nothing arrived under that id.
  const GridInfo* grid_of(const machine::Decision& decision) const;

 private:
  void keep(const machine::Decision& decision);
};

inline constexpr unsigned kKinds = 9;                      ///< of decisions
std::string_view kind_name(machine::Decision::Kind kind);  ///< "launch", "fail", ...

/// The lines of a history file. A file may hold several, one after the other.
std::string header_line(const Layout& layout, std::string_view policy, std::string_view unit);
void append_line(std::string& text, const GridInfo& grid);
void append_line(std::string& text, const Step& step);
std::string history_text(const History& history);

/// @errors invalid: with the number of the line, and the path of the value
Result<std::vector<History>> parse_histories(std::string_view text, const std::string& name);

}  // namespace raddle::distribute
