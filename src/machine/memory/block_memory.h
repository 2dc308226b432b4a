// The memory of one started block on a worker: its shared window and its threads' local memory, in one
// reservation of address space of which only the needed bytes are committed. Allocated once, reused by block
// after block (K-10).
//
//   | nothing | local memory (<= 1 GiB) | nothing | shared window, 256-MiB-aligned | nothing |
//
// Shared addresses, however wild, stay within exec::kSharedReach around the start of the window, where
// nothing else lies: they reach neither another block's memory nor the block's own local one. As far as
// caches see it, local memory ends 64 KiB below the window: they distinguish addresses by their lower bits,
// so that the two do not drive each other out (K-11).
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::machine {

class BlockMemory {
 public:
  static constexpr std::uint64_t kMaxLocal = (1ull << 30) - (1ull << 16);  ///< bytes per block

  BlockMemory() = default;
  ~BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// Makes at least these bytes usable. A system call only when they grow.
  /// @returns false if the host has no memory
  bool require(std::uint64_t shared_bytes, std::uint64_t local_bytes);

  /// No address space may read what another one left: makes all of the memory zero when another space comes,
  /// by a system call. @param space  AddressSpace::id()
  void hand_to(std::uint64_t space);

  std::byte* shared() const { return window_; }  ///< host address of shared address 0
  /// Start of as much local memory as the last call of require() wanted.
  std::byte* local() const { return local_; }
  std::uint64_t committed() const { return shared_committed_ + local_committed_; }  ///< bytes
  bool covers(std::uint64_t address) const;  ///< whether it lies in the reservation

 private:
  bool reserve();

  std::byte* map_ = nullptr;
  std::uint64_t map_bytes_ = 0;
  std::byte* window_ = nullptr;
  std::byte* local_ = nullptr;
  std::uint64_t shared_committed_ = 0, local_committed_ = 0;
  std::uint64_t space_ = 0;  // that used it last
};

}  // namespace raddle::machine
