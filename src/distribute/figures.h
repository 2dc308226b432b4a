// What a run of a program measured, and runs side by side. A figure is a name and a number, so that
// whoever measures something adds it where it is measured, and it stands in the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::distribute {

struct RunFigure {
  std::string name;  ///< with its unit: "makespan, ns"
  double value = 0;
};

struct MeasuredRun {
  std::string name;  ///< what it was run with
  std::vector<RunFigure> figures;
};

/// As the file that a recorder writes (live_recorder.h). @errors invalid: names the value that is wrong
std::string figures_text(std::span<const RunFigure> figures);
Result<std::vector<RunFigure>> parse_figures(std::string_view text, const std::string& name);

/// A column for each run, a row for each figure, in the order of the first run that has it.
std::string comparison_table(std::span<const MeasuredRun> runs);
std::string comparison_json(std::span<const MeasuredRun> runs);

}  // namespace raddle::distribute
