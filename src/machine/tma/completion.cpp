#include "machine/tma/completion.h"

#include <algorithm>
#include <bit>

#include "exec/cluster.h"

namespace raddle::machine {

namespace {
std::byte* mbarrier_of(const TmaJob& job, std::uint32_t rank) { return job.memory[rank] + job.barrier; }
}  // namespace

std::uint32_t odd_phases(const TmaJob& job) {
  std::uint32_t odd = 0;
  for (std::uint32_t rest = job.barrier_ranks; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint64_t word = exec::mbarrier_at(mbarrier_of(job, rank)).load(std::memory_order_acquire);
    if ((word & exec::kMbarrierPhaseBit) != 0) odd |= 1u << rank;
  }
  return odd;
}

TmaProblem broken_mbarrier(std::byte* barrier, exec::MbarrierProblem problem) {
  return {.fault = exec::FaultKind::illegal_barrier,
          .address = reinterpret_cast<std::uint64_t>(barrier),
          .note = exec::describe(problem)};
}

TmaProblem complete_bytes(const TmaJob& job, std::uint32_t rank, std::uint32_t bytes) {
  return complete_bytes(mbarrier_of(job, rank), bytes);
}

TmaProblem complete_bytes(const TmaJob& job, std::uint32_t bytes) {
  for (std::uint32_t rest = job.barrier_ranks; rest != 0; rest &= rest - 1)
    if (auto problem = complete_bytes(job, static_cast<std::uint32_t>(std::countr_zero(rest)), bytes))
      return problem;
  return {};
}

BulkGroups::Thread& BulkGroups::thread_of(const TmaRequester& requester) {
  for (Thread& thread : threads_)
    if (thread.requester.is_same_thread(requester)) return thread;
  return threads_.emplace_back(Thread{requester, 0});
}

std::uint64_t BulkGroups::join(const TmaRequester& requester) {
  const std::uint64_t number = thread_of(requester).committed;
  Group* group = find(requester, number);
  if (group == nullptr)
    group = &groups_.emplace_back(Group{.requester = requester, .number = number, .reads = {}, .writes = {}});
  ++group->jobs;
  return number;
}

BulkGroups::Group* BulkGroups::find(const TmaRequester& requester, std::uint64_t number) {
  for (Group& group : groups_)
    if (group.number == number && group.requester.is_same_thread(requester)) return &group;
  return nullptr;
}

void BulkGroups::end_job(const TmaRequester& requester, std::uint64_t number) {
  Group* group = find(requester, number);
  if (--group->jobs == 0) groups_.erase(groups_.begin() + (group - groups_.data()));
}

void BulkGroups::commit(const TmaRequester& requester) {
  Thread& thread = thread_of(requester);
  if (Group* group = find(requester, thread.committed)) {
    group->reads.close();
    group->writes.close();
  }
  ++thread.committed;
}

BulkGroups::Group* BulkGroups::late(const TmaRequester& requester, std::uint32_t allowed, bool only_reads) {
  const std::uint64_t committed = thread_of(requester).committed;
  Group* oldest = nullptr;
  for (Group& group : groups_) {
    if (!group.requester.is_same_thread(requester) || group.number + allowed >= committed) continue;
    if (only_reads && group.reads.is_complete()) continue;
    if (oldest == nullptr || group.number < oldest->number) oldest = &group;
  }
  return oldest;
}

void BulkGroups::forget(const exec::CtaContext& cta) {
  std::erase_if(threads_, [&](const Thread& thread) { return thread.requester.cta == &cta; });
  std::erase_if(groups_, [&](const Group& group) { return group.requester.cta == &cta; });
}

}  // namespace raddle::machine
