// Where the pages of managed memory are at home, and which processors touch them (A-22d). They have one
// address for everybody. What moves is the home, that is, in whose memory a page counts, and the bytes if
// they can (movable_memory.h). Who counts is told by ADR 89: kernels' accesses that the machine hears of, and
// for the host host_touches.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace raddle::machine {

class MovableMemory;

/// 0 is the host, n + 1 is device n.
using Processor = unsigned;
inline constexpr Processor kHostProcessor = 0;
constexpr Processor processor_of(unsigned device) { return device + 1; }

class Residency {
 public:
  static constexpr unsigned kMostProcessors = 33;
  static constexpr std::uint64_t kPage = 64 << 10;  ///< bytes that move together
  /// So many more touches than the home's move a page.
  static constexpr std::uint32_t kLead = 64;
  /// Counts of a page are halved when one reaches this.
  static constexpr std::uint32_t kMostTouches = 1u << 31;

  /// All at home at the host. @param processors  of the process, with the host
  /// @param memory  that begins at base and whose bytes move with the homes; outlives this. Null: they stay
  Residency(std::uint64_t base, std::uint64_t bytes, unsigned processors, MovableMemory* memory = nullptr);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  /// Accesses by a processor to one page. A device's first moves it away from the host, unless the host has
  /// it for touching it most; others move it when the processor has touched it most. Thread-safe, as all
  /// here.
  void touch(Processor by, std::uint64_t address, std::uint32_t times = 1);
  /// Brings pages to a processor.
  void move(std::uint64_t address, std::uint64_t bytes, Processor to);
  /// Where pages are to be: touches bring them there and nowhere else. kMostProcessors: anywhere.
  void prefer(std::uint64_t address, std::uint64_t bytes, Processor where);

  Processor home(std::uint64_t address) const { return page_at(address).home.load(); }
  /// Bytes of all managed memory of the process that are at home at a processor.
  static std::uint64_t bytes_at(Processor processor);
  std::uint64_t base() const { return base_; }
  std::uint64_t page_count() const { return count_; }

 private:
  struct Page {
    std::atomic<Processor> home{kHostProcessor}, preferred{kMostProcessors};
    std::atomic<bool> is_earned{false};  // by touches, most of which were its home's
  };
  Page& page_at(std::uint64_t address) const { return pages_[(address - base_) / kPage]; }
  std::atomic<std::uint32_t>& touches(const Page& page, Processor by) const {
    return touches_[number_of(page) * processors_ + by];
  }
  void move(Page& page, Processor to, bool is_earned);
  void halve_touches(const Page& page);
  std::uint64_t number_of(const Page& page) const { return static_cast<std::uint64_t>(&page - pages_.get()); }
  std::uint64_t bytes_of(const Page& page) const;
  template <class Visit>
  void for_pages(std::uint64_t address, std::uint64_t bytes, const Visit& visit);

  MovableMemory* const memory_;
  const std::uint64_t base_, bytes_;
  const unsigned processors_;
  const std::uint64_t count_;
  const std::unique_ptr<Page[]> pages_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]>
      touches_;  // by page and processor, since the page came home
};

}  // namespace raddle::machine
