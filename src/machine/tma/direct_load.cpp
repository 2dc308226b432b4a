#include "machine/tma/direct_load.h"

#include "machine/tma/mover.h"

namespace raddle::machine {

void DirectLoad::keep(const TmaJob& job, std::uint64_t occupied) {
  TmaRows rows;
  drop();
  if (job.kind.direction != exec::BulkDirection::to_shared || job.kind.multicast || !is_one_run(job, rows))
    return;
  rows.shared = 0;  // the job has no place yet; any has kTensorAlignment
  if (!copies_whole_rows(job, rows)) return;
  shape_ = shape_of(job, rows);
  copy_ = copier_of(shape_, 0);
  occupied_ = static_cast<std::uint32_t>(occupied);
  bytes_ = job.bytes;
  traffic_ = {};
}

void DirectLoad::count(Traffic& traffic, std::uint64_t global) const {
  TmaCounters counters;
  count_lines(counters, global, shape_.stride, 0, shape_.pitch, shape_.count, shape_.bytes, true);
  traffic = {.lines = static_cast<std::uint32_t>(counters.lines),
             .sectors = static_cast<std::uint32_t>(counters.sectors),
             .bank_conflicts = static_cast<std::uint32_t>(counters.bank_conflicts)};
}

}  // namespace raddle::machine
