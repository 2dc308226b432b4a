// A CTA takes the lowest free row of its SM.
#include "distribute/replay.h"

#include <algorithm>

namespace raddle::distribute {

using machine::Decision;

void Replay::fill(const Decision& decision, const GridInfo& grid, std::size_t i, std::vector<Cell>& changed) {
  const std::uint32_t sm = decision.sms[i];
  std::vector<Cell>& rows = sms_[sm];
  auto row = std::find_if(rows.begin(), rows.end(), [](const Cell& cell) { return !cell.used; });
  if (row == rows.end()) row = rows.insert(rows.end(), Cell{});
  const std::uint64_t cta = decision.first + i;
  *row = {sm,
          static_cast<std::uint32_t>(row - rows.begin()),
          grid.id,
          cta,
          grid.kind.is_plain() ? 0 : cta / grid.kind.ctas_per_cluster(),
          decision.time,
          true};
  changed.push_back(*row);
}

void Replay::empty(const Step& step, const GridInfo& grid, std::size_t i, std::vector<Cell>& changed) {
  Cell* found = nullptr;
  for (Cell& cell : sms_[step.decision.sms[i]]) {
    if (!cell.used || cell.grid != grid.id) continue;
    const bool suits = step.decision.kind == Decision::Kind::suspend ? cell.cta == step.decision.first
                       : step.ctas.empty() ? grid.kind.is_plain() || cell.cluster == step.decision.cluster
                                           : cell.cta == step.ctas[i];
    if (suits && (found == nullptr || cell.since < found->since)) found = &cell;
  }
  if (found == nullptr) return;  // launched before the history began
  changed.push_back(*found);
  found->used = false;
}

void Replay::apply(const Step& step, std::vector<Cell>& changed) {
  changed.clear();
  const GridInfo* grid = history_.grid_of(step.decision);
  if (grid == nullptr) return;
  for (std::size_t i = 0; i < step.decision.sms.size(); ++i) {
    const auto is = [&](Decision::Kind kind) { return step.decision.kind == kind; };
    if (fills(step.decision.kind)) fill(step.decision, *grid, i, changed);
    if (is(Decision::Kind::complete) || is(Decision::Kind::suspend)) empty(step, *grid, i, changed);
  }
}

}  // namespace raddle::distribute
