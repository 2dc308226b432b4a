// Rows follow the journal of SM changes; a row that is too far behind is computed anew.
#include "machine/distributor/task_table.h"

#include <algorithm>

namespace raddle::machine {

std::uint32_t TaskTable::acquire(const Grid& grid, bool takes_cluster_slots) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    Row& row = *rows_[i];
    if (row.cap != grid.cap_per_sm || row.takes_cluster_slots != takes_cluster_slots) continue;
    if (row.cap != 0 && row.users != 0) continue;  // its cap counts the CTAs of one grid
    if (row.needs != grid.needs) continue;
    ++row.users;
    return i;
  }
  std::uint32_t index = 0;
  Row& row = unused_row(index);
  row.needs = grid.needs, row.cap = grid.cap_per_sm, row.takes_cluster_slots = takes_cluster_slots;
  row.needs_number = ++needs_numbers_;
  row.users = 1;
  row.resident.assign(row.cap == 0 ? 0 : usage_.count(), 0);
  compute(row);
  return index;
}

TaskTable::Row& TaskTable::unused_row(std::uint32_t& index) {
  std::size_t oldest = rows_.size();
  if (rows_.size() >= kRows)
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i]->users == 0 && (oldest == rows_.size() || rows_[i]->released < rows_[oldest]->released))
        oldest = i;
  if (oldest == rows_.size()) rows_.push_back(std::make_unique<Row>());
  index = static_cast<std::uint32_t>(oldest);
  return *rows_[oldest];
}

void TaskTable::release(std::uint32_t row) {
  if (--rows_[row]->users == 0) rows_[row]->released = ++releases_;
}

const TaskTable::Row& TaskTable::look(std::uint32_t index) {
  Row& row = *rows_[index];
  if (row.enable_seen != usage_.enable_changes() || usage_.changes() - row.seen > SmUsage::kJournal)
    compute(row);
  else if (row.seen != usage_.changes())
    follow(row);
  return row;
}

void TaskTable::compute(Row& row) {
  const std::uint32_t sms = usage_.count();
  const std::uint32_t empty = usage_.fit_empty(row.needs);
  row.fit.resize(sms), row.free.assign(sms, 0);
  row.total = 0;
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    const bool idle = usage_.load()[sm] == 0;
    set(row, sm, !idle ? fit(row, sm) : row.cap == 0 ? empty : std::min(empty, row.cap));
  }
  row.seen = usage_.changes(), row.enable_seen = usage_.enable_changes();
}

/// A change by a CTA of other needs: what fits is computed from what the SM holds now, which already counts
/// the changes of its own kind that the journal names later; these are then passed over.
void TaskTable::follow(Row& row) {
  ++round_;
  bool computed = false;
  for (; row.seen != usage_.changes(); ++row.seen) {
    const SmChange& change = usage_.change(row.seen);
    const std::uint32_t sm = change.sm;
    if (computed && stamp_[sm] == round_) continue;
    if (change.needs == row.needs_number) {
      set(row, sm, row.fit[sm] + static_cast<std::uint32_t>(change.ctas));
    } else if (change.ctas != 0) {
      set(row, sm, fit(row, sm));
      stamp_[sm] = round_, computed = true;
    } else if (row.takes_cluster_slots) {
      set(row, sm, row.fit[sm]);
    }
  }
}

std::uint32_t TaskTable::fit(const Row& row, std::uint32_t sm) const {
  const std::uint32_t fit = usage_.fit(sm, row.needs);
  return row.cap == 0 ? fit : std::min(fit, row.cap - row.resident[sm]);
}

std::uint32_t TaskTable::present(const Row& row, std::uint32_t sm) const {
  if (!usage_.enabled(sm)) return 0;
  return row.takes_cluster_slots ? std::min(row.fit[sm], usage_.cluster_slots(sm)) : row.fit[sm];
}

void TaskTable::set(Row& row, std::uint32_t sm, std::uint32_t fit) {
  row.fit[sm] = fit;
  const std::uint32_t shown = present(row, sm);
  row.total += std::uint64_t{shown} - row.free[sm];
  row.free[sm] = shown;
}

}  // namespace raddle::machine
