#include "machine/tma/thread_copies.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "exec/cluster.h"
#include "exec/mbarrier.h"
#include "exec/routing.h"

namespace raddle::machine {

namespace {

std::byte* host_memory(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

TmaProblem change_mbarrier_at(std::uint64_t address, exec::MbarrierOperation operation, std::uint32_t count,
                              std::uint32_t bytes) {
  const auto problem =
      exec::change_mbarrier(exec::mbarrier_at(host_memory(address)), operation, count, bytes).problem;
  if (problem == exec::MbarrierProblem::none) return {};
  return {.fault = exec::FaultKind::illegal_barrier, .address = address, .note = describe(problem)};
}

/// Where a send to the cluster's shared memory lands.
exec::Route route_of(const TmaRequester& requester, std::uint64_t address, std::uint32_t bytes) {
  const auto at = exec::shared_address_of(*requester.cta, address);
  if (!at) return {exec::ClusterProblem::none, host_memory(address)};
  return exec::route(*requester.cta, requester.thread / exec::kWarpSize, *at, bytes);
}

void land_copy(const ThreadCopies::Copy& copy) {
  constexpr std::size_t kMost = 16;
  std::byte bytes[kMost] = {};
  if (copy.read != 0)  // else there may be no address
    std::memcpy(bytes, host_memory(copy.from), copy.read);
  std::memcpy(host_memory(copy.to), bytes, copy.bytes);
}

}  // namespace

void ThreadCopies::copy(const TmaRequester& requester, const Copy& copy) {
  Thread& thread = thread_of(requester);
  thread.requests.push_back({requester, CopyOfGroup{copy, thread.committed}});
}

void ThreadCopies::send(const TmaRequester& requester, Send send) {
  send.access = history_.note({requester.thread, requester.line});
  traffic_of(*requester.cta).fetch_add(1, std::memory_order_relaxed);
  thread_of(requester).requests.push_back({requester, send});
}

void ThreadCopies::commit(const TmaRequester& requester) { ++thread_of(requester).committed; }

void ThreadCopies::wait(const TmaRequester& requester, std::uint32_t allowed) {
  Thread& thread = thread_of(requester);
  for (std::size_t i = 0; i < thread.requests.size();) {
    const auto* copy = std::get_if<CopyOfGroup>(&thread.requests[i].what);
    if (copy != nullptr && copy->group + allowed < thread.committed)
      land(thread, i);
    else
      ++i;
  }
}

void ThreadCopies::arrive(const TmaRequester& requester, std::uint64_t mbarrier) {
  thread_of(requester).requests.push_back({requester, Arrival{mbarrier}});
}

auto ThreadCopies::threads_of(const exec::CtaContext& cta) const {
  return std::ranges::subrange(threads_.lower_bound({&cta, 0}), threads_.upper_bound({&cta, ~0u}));
}

/// An arrival waits for all copies before it.
bool ThreadCopies::is_ready(const Thread& thread, std::size_t request) {
  const auto& all = thread.requests;
  return !std::holds_alternative<Arrival>(all[request].what) ||
         std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(request),
                      [](const Request& before) { return std::holds_alternative<CopyOfGroup>(before.what); });
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
  if (const auto* send = std::get_if<Send>(&landing.what)) {
    traffic_of(*landing.requester.cta).fetch_sub(1, std::memory_order_release);
    return land(landing.requester, *send);
  }
  if (const auto* arrival = std::get_if<Arrival>(&landing.what))
    return change_mbarrier_at(arrival->mbarrier, exec::MbarrierOperation::arrive, 1, 0);
  land_copy(std::get<CopyOfGroup>(landing.what).copy);
  return {};
}

/// The CTA that it is for may have exited since the thread asked.
TmaProblem ThreadCopies::land(const TmaRequester& requester, const Send& send) {
  const exec::Route data_route = route_of(requester, send.to, send.bytes),
                    mbarrier_route = route_of(requester, send.mbarrier, exec::kMbarrierBytes);
  for (const auto& [route, place] : {std::pair{data_route, send.to}, {mbarrier_route, send.mbarrier}})
    if (route.problem != exec::ClusterProblem::none)
      return {.fault = exec::FaultKind::illegal_cluster_address,
              .address = place,
              .remote = route.problem,
              .access = send.access};
  std::byte* const to = data_route.memory;
  const auto* const data = reinterpret_cast<const std::byte*>(send.data.data());
  if (send.reduce != nullptr)
    send.reduce(to, data, send.bytes);
  else
    std::memcpy(to, data, send.bytes);
  if (const auto at = exec::shared_address_of(*requester.cta, send.to)) {
    std::byte* const memory = to - exec::offset_of(*at);
    std::memcpy(views_.of(memory) + exec::offset_of(*at), to, send.bytes);
  }
  return change_mbarrier_at(reinterpret_cast<std::uint64_t>(mbarrier_route.memory),
                            exec::MbarrierOperation::complete, 0, send.bytes);
}

const TmaRequester* ThreadCopies::user_of(const ByteRange& place, TmaUse use) const {
  const bool writes = use == TmaUse::writes;
  const auto touches = [&](const Request& request) {
    if (const auto* send = std::get_if<Send>(&request.what))
      return writes && place.meets({send->to, send->bytes});
    const auto* of_group = std::get_if<CopyOfGroup>(&request.what);
    if (of_group == nullptr) return false;
    const Copy& copy = of_group->copy;
    return place.meets(writes ? ByteRange{copy.to, copy.bytes} : ByteRange{copy.from, copy.read});
  };
  for (const auto& [key, thread] : threads_)
    for (const Request& request : thread.requests)
      if (touches(request)) return &request.requester;
  return nullptr;
}

void ThreadCopies::forget(const exec::CtaContext& cta) {
  for (const auto& [key, thread] : threads_of(cta))
    for (const Request& request : thread.requests)
      if (std::holds_alternative<Send>(request.what)) traffic_of(cta).fetch_sub(1, std::memory_order_release);
  threads_.erase(threads_.lower_bound({&cta, 0}), threads_.upper_bound({&cta, ~0u}));
}

}  // namespace raddle::machine
