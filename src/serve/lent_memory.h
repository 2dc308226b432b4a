// The part of a client's window that the client fills: files in memory that it has mapped, at the addresses
// at which it has them (A-12a, A-19). Counts them against its limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "base/result.h"
#include "machine/memory/device_space.h"
#include "machine/sm/signals.h"

namespace raddle::serve {

/// Bytes that several clients may have together. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit) : limit_(limit) {}
  /// @errors out_of_memory
  Result<void> charge(std::uint64_t bytes) {
    std::uint64_t used = used_.load();
    do {
      if (bytes > limit_ - used)
        return Error::make(ErrorCode::out_of_memory, "{} bytes wanted, all clients together use {} of {}",
                           bytes, used, limit_);
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return {};
  }
  void refund(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t used() const { return used_; }
  std::uint64_t limit() const { return limit_; }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
};

/// Not thread-safe, but for read(). What it mapped goes with the window.
class LentMemory {
 public:
  /// @param limit   of bytes that are mapped at once
  /// @param shared  counts them too; outlives it
  LentMemory(machine::DeviceSpace& window, std::uint64_t limit, MemoryBudget& shared)
      : window_(window), limit_(limit), shared_(shared) {
    machine::install_fault_handlers();  // for read()
  }
  ~LentMemory() { shared_.refund(used_); }

  /// @param descriptor  of a sealed file in memory, which stays the caller's
  /// @errors invalid: addresses that are not lent, or in use; a file that is not sealed, or too small;
  /// out_of_memory: the limit
  Result<void> map(exec::AddressRange pages, int descriptor, std::uint64_t offset,
                   machine::Protection protection);
  /// @errors invalid: nothing is mapped there
  Result<void> protect(exec::AddressRange pages, machine::Protection protection);
  /// Whatever is mapped there, in parts, too. @errors invalid: addresses that are not lent
  Result<void> unmap(exec::AddressRange pages);

  /// Copies what is mapped there, for the server itself, whatever the client maps and writes meanwhile. Any
  /// thread. @errors invalid: addresses that are not lent, not mapped, or may not be read
  Result<void> read(exec::AddressRange from, std::byte* to) const;

  /// Memory that the server has for the client elsewhere. @errors out_of_memory: the limit
  Result<void> charge(std::uint64_t bytes);
  void refund(std::uint64_t bytes) { used_ -= bytes, shared_.refund(bytes); }

  std::uint64_t used() const { return used_; }  ///< bytes
  std::uint64_t limit() const { return limit_; }

 private:
  /// Pieces at once: the system has few mappings for all clients together.
  static constexpr std::size_t kMostPieces = 4096;
  Result<void> check(exec::AddressRange pages) const;
  bool is_free(exec::AddressRange pages) const;
  bool is_mapped(exec::AddressRange pages) const;
  void forget(exec::AddressRange pages);

  machine::DeviceSpace& window_;
  const std::uint64_t limit_;
  MemoryBudget& shared_;
  std::map<std::uint64_t, std::uint64_t> pieces_;  // start -> bytes
  std::uint64_t used_ = 0;
};

}  // namespace raddle::serve
