#include "machine/memory/host_touches.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/page.h"

namespace raddle::machine {

HostTouches& HostTouches::instance() {
  static auto& one = *new HostTouches;  // work may end at the very end of the program
  return one;
}

HostTouches::HostTouches() : page_map_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

void HostTouches::watch(Residency& pages) {
  if (page_map_ < 0) return;
  const std::lock_guard lock(mutex_);
  watched_.push_back(&pages);
}

void HostTouches::forget(const Residency& pages) {
  const std::lock_guard lock(mutex_);
  std::erase(watched_, &pages);
  std::erase_if(looked_at_, [&](const Page& page) { return page.pages == &pages; });
  next_ = next_number_ = 0;
}

void HostTouches::begin_work() {
  const std::lock_guard lock(mutex_);
  if (working_++ == 0) end_look();
}

void HostTouches::end_work(bool looks) {
  const std::lock_guard lock(mutex_);
  if (--working_ != 0 || watched_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (!looks && now - last_look_ < kBetweenLooks) return;
  last_look_ = now;
  begin_look();
}

// Pages of a file: without an entry in the page table, the next access finds them in the file again.
void HostTouches::begin_look() {
  std::uint64_t all = 0;
  for (const Residency* pages : watched_) all += pages->page_count();
  for (std::uint64_t left = std::min<std::uint64_t>(all, kPagesOfALook); left != 0; --left) {
    const Page page = next_page();
    if (madvise(reinterpret_cast<void*>(page.address), Residency::kPage, MADV_DONTNEED) == 0)
      looked_at_.push_back(page);  // else the program has locked it into memory
  }
}

HostTouches::Page HostTouches::next_page() {
  if (next_number_ == watched_[next_]->page_count()) {
    next_ = (next_ + 1) % watched_.size();
    next_number_ = 0;
  }
  Residency* const pages = watched_[next_];
  return {pages, pages->base() + next_number_++ * Residency::kPage};
}

void HostTouches::end_look() {
  for (const auto& [pages, address] : looked_at_)
    if (is_present(address)) pages->touch(kHostProcessor, address, kTouchesOfALook);
  looked_at_.clear();
}

/// Whether the process's page table has some of a page's.
bool HostTouches::is_present(std::uint64_t address) const {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  std::array<std::uint64_t, Residency::kPage / kPage> entries;
  const auto at = static_cast<off_t>(address / kPage * sizeof entries[0]);
  if (pread(page_map_, entries.data(), sizeof entries, at) != sizeof entries) return false;
  return std::ranges::any_of(entries, [](std::uint64_t entry) { return (entry & kPresent) != 0; });
}

}  // namespace raddle::machine
