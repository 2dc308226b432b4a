#include "machine/tma/thread_copies.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "exec/mbarrier.h"

namespace raddle::machine {

namespace {
std::byte* host_memory(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }
}  // namespace

void ThreadCopies::copy(const TmaRequester& requester, const Copy& copy) {
  Thread& thread = thread_of(requester);
  thread.requests.push_back({.requester = requester, .group = thread.committed, .copy = copy});
}

void ThreadCopies::commit(const TmaRequester& requester) { ++thread_of(requester).committed; }

void ThreadCopies::wait(const TmaRequester& requester, std::uint32_t allowed) {
  Thread& thread = thread_of(requester);
  for (std::size_t i = 0; i < thread.requests.size();) {
    const Request& request = thread.requests[i];
    if (request.mbarrier == 0 && request.group + allowed < thread.committed)
      land(thread, i);
    else
      ++i;
  }
}

void ThreadCopies::arrive(const TmaRequester& requester, std::uint64_t mbarrier) {
  thread_of(requester).requests.push_back({.requester = requester, .mbarrier = mbarrier});
}

auto ThreadCopies::threads_of(const exec::CtaContext& cta) const {
  return std::ranges::subrange(threads_.lower_bound({&cta, 0}), threads_.upper_bound({&cta, ~0u}));
}

/// An arrival waits for all copies before it.
bool ThreadCopies::is_ready(const Thread& thread, std::size_t request) {
  const auto& all = thread.requests;
  return all[request].mbarrier == 0 ||
         std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(request),
                     [](const Request& before) { return before.mbarrier != 0; });
}

std::size_t ThreadCopies::outstanding(const exec::CtaContext& cta) const {
  std::size_t count = 0;
  for (const auto& [key, thread] : threads_of(cta))
    for (std::size_t i = 0; i < thread.requests.size(); ++i) count += is_ready(thread, i);
  return count;
}

TmaProblem ThreadCopies::advance(TmaChooser& chooser, const exec::CtaContext& cta) {
  std::size_t left = chooser.choose(outstanding(cta));
  for (const auto& [key, thread] : threads_of(cta))
    for (std::size_t i = 0; i < thread.requests.size(); ++i)
      if (is_ready(thread, i) && left-- == 0) return land(threads_.at(key), i);
  return {};
}

TmaProblem ThreadCopies::land(Thread& thread, std::size_t request) {
  const Request landing = thread.requests[request];
  thread.requests.erase(thread.requests.begin() + static_cast<std::ptrdiff_t>(request));
  culprit_ = landing.requester;
  const OnBehalfOf asker(landing.requester);
  if (landing.mbarrier != 0) {
    const auto problem = exec::change_mbarrier(exec::mbarrier_at(host_memory(landing.mbarrier)),
                                               exec::MbarrierOperation::arrive, 1, 0)
                             .problem;
    if (problem == exec::MbarrierProblem::none) return {};
    return {
        .fault = exec::FaultKind::illegal_barrier, .address = landing.mbarrier, .note = describe(problem)};
  }
  constexpr std::size_t kMost = 16;
  std::byte bytes[kMost] = {};
  if (landing.copy.read != 0)  // else there may be no address
    std::memcpy(bytes, host_memory(landing.copy.from), landing.copy.read);
  std::memcpy(host_memory(landing.copy.to), bytes, landing.copy.bytes);
  return {};
}

void ThreadCopies::forget(const exec::CtaContext& cta) {
  threads_.erase(threads_.lower_bound({&cta, 0}), threads_.upper_bound({&cta, ~0u}));
}

}  // namespace raddle::machine
