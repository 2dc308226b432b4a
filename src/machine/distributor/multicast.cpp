// An SM's rank is one number: its TPC's class, its free slots, its place in priority order.
#include "machine/distributor/multicast.h"

#include <algorithm>
#include <functional>

namespace raddle::machine {
namespace {
constexpr std::uint64_t kWholeTpc = 1ull << 63;
std::uint32_t slot_of(std::uint64_t rank) { return ~static_cast<std::uint32_t>(rank); }
std::uint32_t free_of(std::uint64_t rank) { return static_cast<std::uint32_t>((rank & ~kWholeTpc) >> 32); }
}  // namespace

/// By TPC of the domain, counted from its first: its SMs, and its SMs that can take a CTA.
void Multicast::count_by_tpc(const DomainView& domain) {
  // The SMs of a TPC need not be neighbours in priority order, but the domain's TPCs are a range.
  std::uint32_t last = first_tpc_ = domain.tpc_of(0);
  for (std::uint32_t i = 1; i < domain.free.size(); ++i) {
    first_tpc_ = std::min(first_tpc_, domain.tpc_of(i));
    last = std::max(last, domain.tpc_of(i));
  }
  tpcs_.assign(last - first_tpc_ + 1, {});
  for (std::uint32_t i = 0; i < domain.free.size(); ++i) {
    Tpc& tpc = tpcs_[domain.tpc_of(i) - first_tpc_];
    ++tpc.sms;
    tpc.able += domain.free[i] != 0 ? 1 : 0;
  }
}

Answer Multicast::choose(const DomainView& domain, std::uint64_t ctas) {
  chosen_ = 0;
  if (domain.free.size() < ctas) return {};
  count_by_tpc(domain);
  ranks_.clear();
  for (std::uint32_t i = 0; i < domain.free.size(); ++i) {
    if (domain.free[i] == 0) continue;
    const Tpc& tpc = tpcs_[domain.tpc_of(i) - first_tpc_];
    const std::uint64_t whole = tpc.able == tpc.sms ? kWholeTpc : 0;
    ranks_.push_back(whole | std::uint64_t{domain.free[i]} << 32 | static_cast<std::uint32_t>(~i));
  }
  if (ranks_.size() < ctas) return {};
  chosen_ = ctas;
  std::partial_sort(ranks_.begin(), ranks_.begin() + static_cast<std::ptrdiff_t>(ctas), ranks_.end(),
                    std::greater<>());
  std::uint32_t least = ~0u;
  for (std::size_t i = 0; i < chosen_; ++i) least = std::min(least, free_of(ranks_[i]) - 1);
  return Answer(least);
}

void Multicast::append(const DomainView& domain, Placement& placement) const {
  placement.masks.push_back(
      {static_cast<std::uint32_t>(placement.sms.size()), static_cast<std::uint32_t>(chosen_), 0, false});
  for (std::size_t i = 0; i < chosen_; ++i) placement.sms.push_back(domain.first + slot_of(ranks_[i]));
}

}  // namespace raddle::machine
