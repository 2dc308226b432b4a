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
  rows_ = row_copy_of(job, rows, nullptr);
  copy_ = copier_of(rows_);
  occupied_ = occupied;
  bytes_ = job.bytes;
}

}  // namespace raddle::machine
