// The addresses at which device memory lies: one reservation of the whole process, far from what the C
// library, the loader and the program map, so that a kernel's stray access meets nothing instead of the
// host's data (ADR 33). Hands out addresses, not memory: the taker maps what it wants there. An address space
// that is isolated has a part of it to itself, its window (ADR 60).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/page.h"
#include "exec/window.h"
#include "machine/memory/mirror.h"

namespace raddle::machine {

/// Where the memory at taken addresses comes from, if not from the host alone (machine/mmu/paged_space.h).
class PageSource {
 public:
  virtual ~PageSource() = default;
  /// Puts memory that is all zero at addresses. @param host_alias  not null: kernels only read there, the
  /// host writes here @returns false: there is none
  virtual bool provide(std::byte* start, std::uint64_t bytes, std::byte* host_alias) = 0;
  /// Nobody is to reach the memory there any more, if any is. The host's mapping goes afterwards.
  virtual void withdraw(std::byte* start, std::uint64_t bytes) = 0;
};

class DeviceSpace {
 public:
  static constexpr std::uint64_t kBytes = 36ull << 40;  ///< of addresses, of the 128 TiB that a process has
  /// Between any two that are taken: 32,768 fit. More than a power of two by an odd number of huge pages,
  /// since processors' first-level caches distinguish addresses by their lower bits (AMD's by 28): elements
  /// of arrays that lie a multiple of 256 MiB apart would drive each other out.
  static constexpr std::uint64_t kGuard = (1ull << 30) + (11ull << 21);
  /// If the system refuses the reservation (a limit on address space, some sanitizers), each taking is a
  /// mapping of its own with this much around it.
  static constexpr std::uint64_t kSmallGuard = 1ull << 20;
  /// Between any two in a window: what strays farther than that, but not out of the window, harms its own
  /// space only. An odd number of huge pages beside a power of two, as above.
  static constexpr std::uint64_t kWindowGuard = exec::kWindowSlack + (11ull << 21);

  static constexpr std::uint64_t kLeastWindow = 1ull << 30;

  static DeviceSpace& instance();
  /// From now on its addresses are these, which another process lends and has at the same place.
  /// @param mirror  outlives it
  /// @returns false: some of the old ones are taken, or something else lies at the new ones
  bool borrow(exec::AddressRange addresses, Mirror& mirror);
  /// A second object beside the process's own finds the addresses taken: each of its takings is a mapping of
  /// its own.
  DeviceSpace();
  /// A window: this many addresses of the process's, at least kLeastWindow. Without a range() if there are
  /// none left.
  /// @param pages  of its memory; outlives it. Null: the host's
  /// @param lent  bytes at its beginning, whole pages, which it hands out to nobody: somebody else fills them
  explicit DeviceSpace(std::uint64_t bytes, PageSource* pages = nullptr, std::uint64_t lent = 0);
  ~DeviceSpace();
  DeviceSpace(const DeviceSpace&) = delete;
  DeviceSpace& operator=(const DeviceSpace&) = delete;

  /// This many addresses, in whole pages, aligned to a power of two; inaccessible (PROT_NONE) until something
  /// is mapped there, as at least guard() bytes before and behind remain for ever.
  /// @param wanted  where, if that is free
  /// @returns null: none left
  std::byte* take(std::uint64_t bytes, std::uint64_t alignment = kPage, std::uint64_t wanted = 0);
  /// Addresses with memory: all zero, from the host when it is touched. Null: none left, or the host refuses.
  std::byte* take_memory(std::uint64_t bytes, std::uint64_t alignment = kPage);
  /// Memory that kernels read and the host writes: mapped twice, so that the host may write while kernels run
  /// and kernels never can. The host's mapping lies in no window. No memory as in take_memory().
  struct ReadOnly {
    std::byte* kernel = nullptr;
    std::byte* host = nullptr;
  };
  /// @param name  of the pages, for readers of /proc/self/maps
  ReadOnly take_read_only(std::uint64_t bytes, const char* name);
  /// Makes memory zero again, whole pages of it; the host takes it back until it is touched.
  static void clear(std::byte* start, std::uint64_t bytes);
  /// Memory at addresses that are taken, of which nothing is there yet. @returns false: the host refuses
  bool provide(std::byte* start, std::uint64_t bytes);
  /// Pages of a file at such addresses, and what may be done with pages; false likewise.
  bool show(std::byte* start, std::uint64_t bytes, int descriptor, std::uint64_t offset,
            Protection protection);
  bool protect(std::byte* start, std::uint64_t bytes, Protection protection);
  /// Nothing is there any more; the addresses stay taken. @returns false: the host refuses
  bool empty(std::byte* start, std::uint64_t bytes);
  /// Unmaps what is there; both as they were when it was taken.
  void give_back(std::byte* start, std::uint64_t bytes);
  void give_back(const ReadOnly& taken, std::uint64_t bytes);

  std::uint64_t guard() const { return is_reserved() ? guard_ : kSmallGuard; }  ///< bytes
  bool is_reserved() const { return base_ != 0; }
  bool has_page_source() const { return pages_ != nullptr; }
  /// Everything that is taken lies in it, and nothing within exec::kWindowSlack of its ends, on either side:
  /// the reservation begins and ends with a guard. Empty where the system refused that.
  exec::AddressRange range() const {
    if (!is_reserved()) return {0, 0};
    return {base_ + exec::kWindowSlack, bytes_ - 2 * exec::kWindowSlack};
  }
  bool covers(std::uint64_t address) const { return range().holds(address, 1); }
  /// The part of a window that somebody else fills.
  exec::AddressRange lent() const { return {base_, lent_}; }
  /// Whether another process runs the kernels that use it.
  bool is_borrowed() const { return mirror_ != nullptr; }

 private:
  bool cut(std::map<std::uint64_t, std::uint64_t>::iterator chunk, std::uint64_t first, std::uint64_t bytes);
  std::byte* take_mapping(std::uint64_t bytes, std::uint64_t alignment);
  bool map_twice(const ReadOnly& at, std::uint64_t bytes, const char* name);
  bool is_window() const { return guard_ == kWindowGuard; }

  std::mutex mutex_;
  std::uint64_t bytes_, guard_;
  PageSource* const pages_ = nullptr;
  const std::uint64_t lent_ = 0;
  Mirror* mirror_ = nullptr;
  std::uint64_t base_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;  // start -> bytes, with the guard behind; no two touch
  std::map<std::uint64_t, std::uint64_t>
      own_map_;  // of takings that are mappings of their own: start -> bytes before
};

}  // namespace raddle::machine
