// The second half of a decision: the placement enters the live model and is broadcast.
#include "base/assert.h"
#include "machine/distributor/distributor_state.h"

namespace raddle::machine {

void Distributor::State::commit(Grid& grid, LaunchSink& sink) {
  const std::span<const SmMask> masks(placement_.masks);
  for (std::size_t begin = 0, end = 0; begin < masks.size(); begin = end) {
    while (!masks[end++].end) RADDLE_ASSERT(end < masks.size(), "a cluster without an end mark");
    commit_cluster(grid, masks.subspan(begin, end - begin), sink);
  }
}

void Distributor::State::start(Grid& grid, std::span<const std::uint32_t> sms) {
  if (lone.is(grid)) return;  // until somebody looks
  lone.forget();
  enter(grid, sms);
}

void Distributor::State::enter(Grid& grid, std::span<const std::uint32_t> sms) {
  const std::uint64_t number = table[grid.row].needs_number;
  for (const std::uint32_t sm : sms) {
    table.started(grid.row, sm);
    usage.start(sm, grid.needs, number);
    pools.launched(grid, sm);
  }
  spaces.started(grid.space_row, sms);
}

/// The live model first, whole cluster, then the broadcast: who hears of a mask may ask for the cluster's
/// ids.
void Distributor::State::commit_cluster(Grid& grid, std::span<const SmMask> masks, LaunchSink& sink) {
  const std::uint32_t begin = masks.front().first;
  const std::span sms(placement_.sms.data() + begin, masks.back().first + masks.back().count - begin);
  LaunchMask launch{.grid = &grid, .sequence = sequence++};
  start(grid, sms);
  if (!grid.kind.is_plain()) {
    launch.cluster = clusters.take();
    ResidentCluster& cluster = clusters[launch.cluster];
    cluster.grid = &grid, cluster.ctas = cluster.unstarted = sms.size();
    cluster.first_sm = sms.front();
    ++waiting[cluster.first_sm];
    cluster.number = grid.next / sms.size();
    if (grid.cluster_memory) launch.cluster_memory = cluster.memory = memory.take();
    if (grid.kind.has_local_ids()) hold_inner_clusters(grid, cluster, sms);
    ++grid.clusters;
  }
  grid.next += sms.size(), grid.came(sms.size());
  session.count(sms.size());
  shares.count_launched(sms.size(), options.share_every);
  for (const SmMask& mask : masks) {
    launch.sms = {placement_.sms.data() + mask.first, mask.count};
    launch.end = mask.end;
    sink.launch(launch);
  }
}

/// Ids and cluster slots. An innermost cluster holds one slot on each SM that has CTAs of it.
void Distributor::State::hold_inner_clusters(const Grid& grid, ResidentCluster& cluster,
                                             std::span<const std::uint32_t> sms) {
  const std::uint64_t size = grid.kind.ctas_per_cluster(grid.kind.depth - 1);
  cluster.ctas_per_id = size;
  cluster.unflushed = sms.size();
  for (std::size_t i = 0; i < sms.size(); ++i) {
    const std::uint32_t gpc = shape.domain_of(Level::gpc, sms[i]);
    if (i % size == 0) {
      ++inner_clusters_;
      cluster.ids.push_back(gpcs.take_id(gpc, static_cast<std::uint32_t>(size)));
      cluster.gpcs.push_back(gpc);
    }
    RADDLE_ASSERT(gpc == cluster.gpcs.back(), "a cluster was spread over two GPCs");
    if (last_cluster_[sms[i]] == inner_clusters_) continue;
    last_cluster_[sms[i]] = inner_clusters_;
    usage.take_cluster_slot(sms[i]), gpcs.take_slot(gpc);
    cluster.slots.push_back(sms[i]);
  }
}

void Distributor::State::exit(Grid& grid, const SmRun& run, CtaStanding standing) {
  RADDLE_ASSERT(grid.outstanding >= run.count, "more CTAs completed than were launched");
  grid.outstanding -= run.count;
  if (lone.is(grid)) {
    lone.exited(run);
    if (grid.outstanding == 0) lone.leave();
  } else {
    leave_sms(grid, run, standing);
  }
  count_load(grid);
  ++freed;
}

void Distributor::State::leave_sms(Grid& grid, const SmRun& run, CtaStanding standing) {
  const std::uint32_t on_each = run.step == 0 ? run.count : 1;
  for (std::uint32_t left = run.count, sm = run.first; left != 0; left -= on_each, sm += run.step) {
    spaces.exited(grid.space_row, sm, on_each);
    if (standing == CtaStanding::resident)
      leave_sm(grid, sm, on_each);
    else
      forget_suspended(grid, sm, on_each, standing);
  }
}

void Distributor::State::settle(Grid& grid) {
  if (grid.finished()) {
    table.release(grid.row);
    spaces.release(grid.space_row);
    slots.remove(grid);
  } else if (grid.only_waits()) {
    stop_serving(grid);
    got_on(grid);
    slots.rest(grid);
  } else if (grid.turn == Grid::Turn::rests) {
    slots.enlist(grid);  // what waited is over, and there is more of it
  } else if (grid.turn == Grid::Turn::leaves && !grid.is_resident()) {
    slots.give_back(grid);
  }
}

}  // namespace raddle::machine
