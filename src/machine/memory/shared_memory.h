// Memory that all address spaces of the process know, beside what each allocates for itself
// (device_memory.h): host memory that CUDA knows, pools, mapped files. Kernels reach it in any case, since
// there is one page table; a range in this table may be copied from and to like device memory, and faults
// near it name it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace raddle::machine {

class Residency;

/// A piece of it. Derived classes hold the pages and give them back.
struct SharedRange {
  virtual ~SharedRange() = default;
  /// Whether kernels of a device may access it, where that is asked (peer_memory.h).
  virtual bool is_for(unsigned /*device*/) const { return true; }
  /// Of managed memory: where its pages are. Null: nobody counts.
  virtual Residency* residency() { return nullptr; }

  std::uint64_t base = 0, bytes = 0;
  const char* name = "";  ///< for messages: "pinned host memory"
  std::uint64_t id = 0;   ///< never used again in this process; given by add()
};

/// The table of it, one for the process.
class SharedMemory {
 public:
  static SharedMemory& instance();
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Thread-safe, as all of this class. @errors invalid: no bytes, or a part of it is in the table already
  Result<void> add(std::shared_ptr<SharedRange> range);
  /// Takes the range that begins at an address out of the table; null: none. Others may still hold it.
  std::shared_ptr<SharedRange> remove(std::uint64_t base);
  /// How often that has been done, or a device lost access: whoever remembers what is in the table looks
  /// again when it changes.
  std::uint64_t removals() const { return removals_.load(); }
  void access_lost() { ++removals_; }

  /// The range that an address lies in, or null.
  std::shared_ptr<SharedRange> find(std::uint64_t address) const;
  std::vector<std::shared_ptr<SharedRange>> overlapping(std::uint64_t begin, std::uint64_t bytes) const;
  std::vector<std::shared_ptr<SharedRange>> all() const;
  /// The end of the memory that an address lies in (ranges may follow each other without a gap); 0: in none.
  std::uint64_t end_from(std::uint64_t address) const;
  /// The ranges before and behind an address that lies in none; null: none there. `before` may hold it.
  struct Neighbours {
    std::shared_ptr<SharedRange> before, behind;
  };
  Neighbours around(std::uint64_t address) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<SharedRange>> ranges_;
  std::atomic<bool> is_empty_{true};  ///< changed under the lock
  std::atomic<std::uint64_t> removals_{0};
  std::uint64_t next_id_ = std::uint64_t{1} << 62;  ///< apart from those of address spaces' allocations
};

}  // namespace raddle::machine
