// Which managed pages the program itself touches (A-22d, ADR 89). Its accesses are the host's own
// instructions and system calls: nobody hears of them. So it is looked at now and then: while no device
// works, the process's page table forgets some pages, whose bytes stay where they are; before work begins
// again, the system says which of them the page table has once more. These the program has touched.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "machine/memory/residency.h"

namespace raddle::machine {

/// One for the process. Thread-safe.
class HostTouches {
 public:
  /// What a look that finds a page touched stands for.
  static constexpr std::uint32_t kTouchesOfALook = Residency::kLead;
  /// Of one look, which takes turns among all.
  static constexpr unsigned kPagesOfALook = 64;
  /// Looks are no more frequent, but on deterministic machines.
  static constexpr std::chrono::milliseconds kBetweenLooks{10};

  static HostTouches& instance();
  HostTouches(const HostTouches&) = delete;
  HostTouches& operator=(const HostTouches&) = delete;

  /// Counts the host's touches of pages that move (movable_memory.h), until they are forgotten. Does nothing
  /// where the system does not tell (/proc/self/pagemap).
  void watch(Residency& pages);
  void forget(const Residency& pages);

  /// A device begins to work: from now on touches may be its own.
  void begin_work();
  /// It has ended. @param looks  each time that all devices have, however short ago the last look was
  void end_work(bool looks);

 private:
  HostTouches();
  ~HostTouches() = default;
  void begin_look();
  void end_look();
  struct Page {
    Residency* pages;
    std::uint64_t address;
  };
  Page next_page();
  bool is_present(std::uint64_t address) const;

  const int page_map_;
  std::mutex mutex_;
  unsigned working_ = 0;  // pieces of work
  std::vector<Residency*> watched_;
  std::size_t next_ = 0;           // of `watched_`
  std::uint64_t next_number_ = 0;  // of its pages
  std::vector<Page> looked_at_;    // whose touches are the host's
  std::chrono::steady_clock::time_point last_look_{};
};

}  // namespace raddle::machine
