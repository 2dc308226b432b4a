#include "machine/tma/tma_unit.h"

#include <algorithm>
#include <bit>

#include "exec/cluster.h"
#include "exec/routing.h"
#include "machine/shape/host.h"

namespace raddle::machine {

using exec::BulkDirection;

namespace {
bool stores(const TmaJob& job) { return job.kind.direction == BulkDirection::to_global; }
}  // namespace

TmaProblem TmaUnit::submit(TmaRequester requester, const exec::BulkRequest& request) {
  culprit_ = requester;
  DirectLoad::Places places;
  if (mode_ == TmaMode::eager)
    if (DirectLoad* load = set_up_.direct_load(requester, request, places))
      return load->run(places, counters_);
  return submit_job(requester, request);
}

TmaProblem TmaUnit::submit_job(TmaRequester requester, const exec::BulkRequest& request) {
  if (const auto problem = set_up_.run(requester, request, !queue_.empty())) return problem;
  if (mode_ == TmaMode::eager) return run_now(set_up_.job());
  enqueue(set_up_.job());
  return {};
}

/// Every response lands as soon as it is asked for.
TmaProblem TmaUnit::run_now(const TmaJob& job) {
  TmaRows rows;
  if (job.requester.cta->launch->asid != 0) {
    generator_.begin(job);
    while (generator_.next(rows)) {
      count(job, rows);
      if (const auto problem = move_rows_by_pages(job, rows)) return problem;
    }
    return complete_bytes(job, job.bytes);
  }
  if (is_one_run(job, rows)) {
    run_rows(job, rows);
  } else {
    generator_.begin(job);
    while (generator_.next(rows)) run_rows(job, rows);
  }
  return complete_bytes(job, job.bytes);
}

inline void TmaUnit::run_rows(const TmaJob& job, const TmaRows& rows) {
  count(job, rows);
  if (may_go_past_caches(job) && outgrows_caches(job, rows))
    move_rows_past_caches(job, rows), stored_past_caches_ = true;
  else if (job.kind.direction != BulkDirection::to_cache)
    move_rows(job, rows);
  else if (rows.inside)
    __builtin_prefetch(reinterpret_cast<const void*>(rows.global + job.begin), 0, 2);
}

/// Whether a grid's bulk stores are more bytes than the host's caches hold, as far as this unit's share
/// tells.
bool TmaUnit::outgrows_caches(const TmaJob& job, const TmaRows& rows) {
  const exec::LaunchContext& launch = *job.requester.cta->launch;
  if (launch.grid_id != storing_grid_) storing_grid_ = launch.grid_id, stored_ = 0;
  stored_ += std::uint64_t{rows.count} * (job.end - job.begin);
  const std::uint64_t ctas = std::uint64_t{launch.nctaid[0]} * launch.nctaid[1] * launch.nctaid[2];
  return stored_ * std::min<std::uint64_t>(ctas, launch.nsmid) > largest_cache();
}

inline void TmaUnit::count(const TmaJob& job, const TmaRows& rows) {
  const std::uint32_t bytes = rows.inside ? job.end - job.begin : 0;
  if (bytes != job.row_bytes)
    counters_.outside += std::uint64_t{rows.count} * (job.row_bytes - bytes) / job.element_bytes;
  if (bytes == 0) return;
  count_lines(counters_, rows.global + job.begin, rows.stride, rows.shared + job.begin, rows.pitch,
              rows.count, bytes, job.kind.direction != BulkDirection::to_cache);
}

// ---- deferred mode ----

bool TmaUnit::leaves_the_cta(const TmaJob& job) const {
  const std::uint32_t own = 1u << job.requester.cta->cluster_rank;
  return ((job.receivers | job.barrier_ranks) & ~own) != 0;
}

void TmaUnit::enqueue(const TmaJob& job) {
  queue_.push_back(job);
  queue_.back().queued = landed_;
  if (leaves_the_cta(job)) {
    traffic_of(*job.requester.cta).fetch_add(1, std::memory_order_relaxed);
    if (history_ != nullptr)
      queue_.back().access = history_->note({job.requester.thread, job.requester.line});
  }
  queue_.back().phases = odd_phases(job);
  if (stores(job)) queue_.back().group = groups_.join(job.requester);
}

void TmaUnit::generate_next() {
  const std::size_t next = policy_->next(queue_);
  const TmaJob job = queue_[next];
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(next));
  counters_.queued += landed_ - job.queued;
  generate(job);
}

void TmaUnit::generate_more() {
  while (!queue_.empty() && responses_.size() < spec_.most_lines) generate_next();
}

std::uint32_t TmaUnit::free_slot() {
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    if (!slots_[i].in_use) return i;
  slots_.emplace_back();
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void TmaUnit::generate(const TmaJob& job) {
  const std::uint32_t slot = free_slot();
  slots_[slot] = {.job = job, .responses = {}, .in_use = true};
  const TmaJob& kept = slots_[slot].job;
  generator_.begin(kept);
  for (TmaRows rows; generator_.next(rows);) {
    count(kept, rows);
    ask(slot, rows);
  }
  Slot& made = slots_[slot];
  made.responses.close();
  if (made.responses.is_complete()) end_job(made);  // it lies outside the tensor as a whole, or is a hint
}

void TmaUnit::ask(std::uint32_t slot, const TmaRows& rows) {
  const TmaJob& job = slots_[slot].job;
  if (job.kind.direction == BulkDirection::to_cache) return;
  const bool fills = !stores(job);
  std::uint64_t global = rows.global;
  std::uint32_t shared = rows.shared;
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const std::uint32_t begin = rows.inside ? job.begin : job.row_bytes, end = rows.inside ? job.end : begin;
    if (fills) ask_bytes(slot, 0, shared, begin);
    ask_bytes(slot, global + begin, shared + begin, end - begin);
    if (fills) ask_bytes(slot, 0, shared + end, job.row_bytes - end);
    global += static_cast<std::uint64_t>(rows.stride);
    shared += rows.pitch;
  }
}

/// As requests to memory: none crosses a line.
void TmaUnit::ask_bytes(std::uint32_t slot, std::uint64_t global, std::uint32_t shared, std::uint32_t bytes) {
  constexpr std::uint32_t kLine = TmaGeneratorSpec::kLineBytes;
  const TmaJob& job = slots_[slot].job;
  BulkGroups::Group* group = stores(job) ? groups_.find(job.requester, job.group) : nullptr;
  while (bytes != 0) {
    const auto at = static_cast<std::uint32_t>((global == 0 ? shared : global) % kLine);
    const std::uint32_t size = std::min(kLine - at, bytes);
    for (std::uint32_t rest = job.receivers; rest != 0; rest &= rest - 1) {
      Response& response = responses_.emplace_back();
      response.line = {.global = global, .shared = shared, .bytes = size};
      response.slot = slot;
      response.rank = static_cast<std::uint32_t>(std::countr_zero(rest));
      slots_[slot].responses.asked(1);
      if (group != nullptr) group->reads.asked(1), group->writes.asked(1);
    }
    if (global != 0) global += size;
    shared += size;
    bytes -= size;
  }
}

std::size_t TmaUnit::outstanding(const exec::CtaContext* of) {
  generate_more();
  if (of == nullptr) return responses_.size();
  const auto is_its = [&](const Response& response) { return slots_[response.slot].job.requester.cta == of; };
  for (;;) {
    if (const auto count = std::ranges::count_if(responses_, is_its)) return static_cast<std::size_t>(count);
    if (std::ranges::none_of(queue_, [&](const TmaJob& job) { return job.requester.cta == of; })) return 0;
    generate_next();
  }
}

TmaProblem TmaUnit::advance(TmaChooser& chooser, const exec::CtaContext* of) {
  std::size_t left = chooser.choose(outstanding(of));
  std::size_t index = 0;
  while ((of != nullptr && slots_[responses_[index].slot].job.requester.cta != of) || left-- != 0) ++index;
  return land(index);
}

TmaProblem TmaUnit::drain(const exec::CtaContext* of) {
  class Oldest : public TmaChooser {
    std::size_t choose(std::size_t) override { return 0; }
  } oldest;
  while (outstanding(of) != 0)
    if (const auto problem = advance(oldest, of)) return problem;
  return {};
}

TmaProblem TmaUnit::land(std::size_t index) {
  const TmaJob& job = slots_[responses_[index].slot].job;
  culprit_ = job.requester;
  ++landed_;
  const OnBehalfOf thread(job.requester);
  return stores(job) ? land_store(index) : land_load(index);
}

void TmaUnit::note_staleness(const TmaJob& job, const TmaLine& line) {
  if (views_ == nullptr) return;
  note(job, staleness_of(job, line, *views_));
}

void TmaUnit::note(const TmaJob& job, TmaMistake mistake) {
  if (mistake != TmaMistake::none) mistakes_.emplace_back(job.requester, mistake);
}

/// Where a CTA's memory is by now: it may have moved since the request came, or the CTA has exited.
TmaProblem TmaUnit::find_memory(TmaJob& job, std::uint32_t rank, std::uint32_t offset) {
  const exec::CtaContext& cta = *job.requester.cta;
  const std::uint32_t address = exec::map_to_rank(offset, rank);
  const exec::Route route = exec::route(cta, job.requester.thread / exec::kWarpSize, address, 1);
  if (route.problem != exec::ClusterProblem::none)
    return {.fault = exec::FaultKind::illegal_cluster_address,
            .address = reinterpret_cast<std::uint64_t>(cta.shared) + address,
            .remote = route.problem,
            .access = job.access};
  job.memory[rank] = route.memory - offset;
  return {};
}

TmaProblem TmaUnit::land_load(std::size_t index) {
  Response& response = responses_[index];
  TmaJob& job = slots_[response.slot].job;
  if (const auto problem = find_memory(job, response.rank, job.shared)) {
    finish_response(index);
    return problem;
  }
  note_staleness(job, response.line);
  const bool is_own = response.rank == job.requester.cta->cluster_rank;
  if (is_own && views_ != nullptr && views_->is_spoiled(job.memory[response.rank]))
    note(job, TmaMistake::unawaited);
  land_line(job, response.line, response.rank, views_);
  return finish_response(index);
}

TmaProblem TmaUnit::land_store(std::size_t index) {
  Response& response = responses_[index];
  const TmaJob& job = slots_[response.slot].job;
  BulkGroups::Group& group = *groups_.find(job.requester, job.group);
  if (!response.was_read) {
    note_staleness(job, response.line);
    read_line(job, response.line, response.buffer.data(), views_);
    response.was_read = true;
    group.reads.answered(1);
    return {};
  }
  write_line(job, response.line, response.buffer.data());
  group.writes.answered(1);
  return finish_response(index);
}

TmaProblem TmaUnit::finish_response(std::size_t index) {
  const Response response = responses_[index];
  responses_.erase(responses_.begin() + static_cast<std::ptrdiff_t>(index));
  Slot& slot = slots_[response.slot];
  slot.responses.answered(1);
  TmaProblem problem;
  // Bytes count where they land.
  if (slot.job.barrier_ranks != 0) {
    const std::uint32_t rank = slot.job.kind.multicast
                                   ? response.rank
                                   : static_cast<std::uint32_t>(std::countr_zero(slot.job.barrier_ranks));
    problem = find_memory(slot.job, rank, slot.job.barrier);
    if (!problem && ((odd_phases(slot.job) ^ slot.job.phases) >> rank & 1) != 0)
      note(slot.job, TmaMistake::unexpected);
    if (!problem) problem = complete_bytes(slot.job, rank, response.line.bytes);
  }
  if (slot.responses.is_complete()) end_job(slot);
  return problem;
}

/// All acknowledgements are in.
void TmaUnit::end_job(Slot& slot) {
  const TmaJob& job = slot.job;
  if (leaves_the_cta(job)) traffic_of(*job.requester.cta).fetch_sub(1, std::memory_order_release);
  if (stores(job)) groups_.end_job(job.requester, job.group);
  slot.in_use = false;
}

void TmaUnit::commit_group(const TmaRequester& requester) {
  if (mode_ == TmaMode::deferred) groups_.commit(requester);
}

TmaProblem TmaUnit::wait_group(const TmaRequester& requester, std::uint32_t allowed, bool only_reads) {
  if (mode_ == TmaMode::eager) return {};
  while (!queue_.empty()) generate_next();  // groups count what has been asked for
  while (const BulkGroups::Group* group = groups_.late(requester, allowed, only_reads)) {
    const std::uint64_t number = group->number;
    const auto mine = [&](const Response& response) {
      const Slot& slot = slots_[response.slot];
      return stores(slot.job) && slot.job.group == number && slot.job.requester.is_same_thread(requester) &&
             !(only_reads && response.was_read);
    };
    const auto found = std::ranges::find_if(responses_, mine);
    if (const auto problem = land(static_cast<std::size_t>(found - responses_.begin()))) return problem;
  }
  return {};
}

namespace {
/// Of a job of which nothing has been asked for yet: by rows.
bool touches(const TmaJob& job, const ByteRange& place, TmaUse use) {
  const bool fills = !stores(job) && use == TmaUse::writes;
  TmaGenerator walk;
  walk.begin(job);
  for (TmaRows rows; walk.next(rows);) {
    if (!fills && !rows.inside) continue;
    const std::uint32_t begin = fills ? 0 : job.begin, end = fills ? job.row_bytes : job.end;
    TmaLine row{.global = rows.global + begin, .shared = rows.shared + begin, .bytes = end - begin};
    for (std::uint32_t i = 0; i < rows.count; ++i) {
      for (std::uint32_t rest = job.receivers; rest != 0; rest &= rest - 1)
        if (touches(job, row, static_cast<std::uint32_t>(std::countr_zero(rest)), place, use)) return true;
      row.global += static_cast<std::uint64_t>(rows.stride);
      row.shared += rows.pitch;
    }
  }
  return false;
}
}  // namespace

const TmaRequester* TmaUnit::user_of(const ByteRange& place, TmaUse use) const {
  for (const Response& response : responses_) {
    const TmaJob& job = slots_[response.slot].job;
    if (use == TmaUse::reads && response.was_read) continue;
    if (touches(job, response.line, response.rank, place, use)) return &job.requester;
  }
  for (const TmaJob& job : queue_)
    if (touches(job, place, use)) return &job.requester;
  return nullptr;
}

void TmaUnit::forget(const exec::CtaContext& cta) {
  if (mode_ == TmaMode::eager && queue_.empty() && responses_.empty()) return;
  const auto its = [&](const TmaJob& job) { return job.requester.cta == &cta; };
  const auto drop_traffic = [&](const TmaJob& job) {
    if (leaves_the_cta(job)) traffic_of(cta).fetch_sub(1, std::memory_order_release);
  };
  std::erase_if(responses_, [&](const Response& response) { return its(slots_[response.slot].job); });
  std::erase_if(queue_, [&](const TmaJob& job) {
    if (its(job)) drop_traffic(job);
    return its(job);
  });
  for (Slot& slot : slots_) {
    if (!slot.in_use || !its(slot.job)) continue;
    drop_traffic(slot.job);
    slot.in_use = false;
  }
  groups_.forget(cta);
}

}  // namespace raddle::machine
