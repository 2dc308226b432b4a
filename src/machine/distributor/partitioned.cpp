// Shows the lake the other shares' SMs as full.
#include "machine/distributor/partitioned.h"

#include <algorithm>

namespace raddle::machine {

void Partitioned::place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) {
  const auto gpcs = static_cast<std::uint32_t>(snapshot.shape.domains(Level::gpc).size());
  const std::uint32_t shares = std::min(kShares, gpcs);
  bool idle = true;
  free_.assign(snapshot.free.begin(), snapshot.free.end());
  for (std::uint32_t sm = 0; sm < free_.size(); ++sm) {
    if (snapshot.shape.domain_of(Level::gpc, sm) % shares != snapshot.grid % shares)
      free_[sm] = 0;
    else if (snapshot.load[sm] != 0)
      idle = false;
  }
  Snapshot share = snapshot;
  share.free = free_;
  lake_.place(share, placement, log);
  if (placement.launched == 0 && idle) lake_.place(snapshot, placement, log);
}

}  // namespace raddle::machine
