#include "machine/memory/residency.h"

#include <algorithm>
#include <array>

#include "machine/memory/movable_memory.h"

namespace raddle::machine {
namespace {

std::array<std::atomic<std::uint64_t>, Residency::kMostProcessors>& totals() {
  static auto& all = *new std::array<std::atomic<std::uint64_t>, Residency::kMostProcessors>{};
  return all;
}

}  // namespace

Residency::Residency(std::uint64_t base, std::uint64_t bytes, unsigned processors, MovableMemory* memory)
    : memory_(memory),
      base_(base),
      bytes_(bytes),
      processors_(processors),
      count_((bytes + kPage - 1) / kPage),
      pages_(std::make_unique<Page[]>(count_)),
      touches_(std::make_unique<std::atomic<std::uint32_t>[]>(count_ * processors)) {
  totals()[kHostProcessor] += bytes;
}

Residency::~Residency() {
  for (std::uint64_t i = 0; i < count_; ++i) totals()[pages_[i].home] -= bytes_of(pages_[i]);
}

std::uint64_t Residency::bytes_at(Processor processor) { return totals()[processor].load(); }

std::uint64_t Residency::bytes_of(const Page& page) const {
  return std::min(kPage, bytes_ - number_of(page) * kPage);
}

void Residency::touch(Processor by, std::uint64_t address, std::uint32_t times) {
  Page& page = page_at(address);
  const std::uint32_t count = touches(page, by).fetch_add(times, std::memory_order_relaxed) + times;
  if (count >= kMostTouches) halve_touches(page);
  const Processor home = page.home.load(std::memory_order_relaxed);
  const bool is_hosts_by_default = home == kHostProcessor && !page.is_earned.load(std::memory_order_relaxed);
  if (const Processor preferred = page.preferred.load(std::memory_order_relaxed);
      preferred != kMostProcessors) {
    if (home != preferred) move(page, preferred, false);
  } else if (home != by &&
             (is_hosts_by_default || count >= touches(page, home).load(std::memory_order_relaxed) + kLead)) {
    move(page, by, !is_hosts_by_default);
  } else if (home == by && memory_ != nullptr && memory_->place(number_of(page)) != by) {
    (void)memory_->bring(number_of(page), by);  // its memory was not known when the page was sent there
  }
}

// Touches that come meanwhile may be lost: there are very many.
void Residency::halve_touches(const Page& page) {
  for (Processor each = 0; each < processors_; ++each) {
    auto& count = touches(page, each);
    count.store(count.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  }
}

void Residency::move(Page& page, Processor to, bool is_earned) {
  if (memory_ != nullptr && !memory_->bring(number_of(page), to)) return;  // it is full
  page.is_earned.store(is_earned, std::memory_order_relaxed);
  const Processor from = page.home.exchange(to);
  if (from == to) return;  // another thread was faster
  totals()[from] -= bytes_of(page);
  totals()[to] += bytes_of(page);
  for (Processor each = 0; each < processors_; ++each)
    touches(page, each).store(0, std::memory_order_relaxed);
}

template <class Visit>
void Residency::for_pages(std::uint64_t address, std::uint64_t bytes, const Visit& visit) {
  const std::uint64_t end = (address + bytes - base_ + kPage - 1) / kPage;
  for (std::uint64_t i = (address - base_) / kPage; i < std::min(end, count_); ++i) visit(pages_[i]);
}

void Residency::move(std::uint64_t address, std::uint64_t bytes, Processor to) {
  for_pages(address, bytes, [&](Page& page) { move(page, to, false); });
}

void Residency::prefer(std::uint64_t address, std::uint64_t bytes, Processor where) {
  for_pages(address, bytes, [&](Page& page) { page.preferred = where; });
}

}  // namespace raddle::machine
