// Pages at addresses of device memory (device_space.h) that are more than zeroed memory: files in memory,
// which may be mapped several times and in other processes, and addresses that are reserved first and filled
// later.
#pragma once

#include <cstdint>
#include <optional>

#include "base/page.h"
#include "base/result.h"
#include "machine/memory/protection.h"

namespace raddle::machine {

/// Whole pages of addresses, given back when it is destroyed.
class Mapping {
 public:
  /// Addresses without memory. @param wanted  where, if that is free. @errors out_of_memory
  static Result<Mapping> reserve(std::uint64_t bytes, std::uint64_t alignment = kPage,
                                 std::uint64_t wanted = 0);
  /// Memory that is all zero; more than the host can ever have is refused at once. @errors out_of_memory
  static Result<Mapping> pages(std::uint64_t bytes);
  /// A part of a file in memory. @param offset  bytes, whole pages. @errors io: it has no such part;
  /// out_of_memory
  static Result<Mapping> of_file(int descriptor, std::uint64_t offset, std::uint64_t bytes);

  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;

  std::byte* start() const { return start_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(start_); }
  std::uint64_t bytes() const { return bytes_; }

  /// Puts a part of a file at some of the addresses, without access. @errors out_of_memory
  Result<void> fill(std::uint64_t address, std::uint64_t bytes, int descriptor, std::uint64_t offset) const;
  /// @errors out_of_memory
  Result<void> allow(std::uint64_t address, std::uint64_t bytes, Protection protection) const;
  /// The addresses stay reserved.
  void empty(std::uint64_t address, std::uint64_t bytes) const;

 private:
  Mapping(std::byte* start, std::uint64_t bytes) : start_(start), bytes_(bytes) {}
  std::byte* start_;
  std::uint64_t bytes_;
};

/// A file in memory, closed when it is destroyed. A sealed one cannot change its size, so that no process
/// pulls memory from under another.
class MemoryFile {
 public:
  /// All zero, and sealed. @param name  for readers of /proc. @errors out_of_memory
  static Result<MemoryFile> create(const char* name, std::uint64_t bytes);
  /// Another descriptor of a sealed file that somebody gave. @errors invalid: it is not sealed; io
  static Result<MemoryFile> of_sealed(int descriptor);
  /// Another descriptor of a file that stays somebody else's. @errors io
  static Result<MemoryFile> of(int descriptor);
  /// Takes over a descriptor, of whatever file.
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}

  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  int descriptor() const { return descriptor_; }
  std::uint64_t bytes() const;  ///< 0 where it cannot be told
  /// A descriptor for somebody else, who closes it. @errors io
  Result<int> duplicate() const;

 private:
  int descriptor_;  ///< -1: moved away
};

/// Whether the host has memory at all of these addresses.
bool is_mapped(const void* address, std::uint64_t bytes);

}  // namespace raddle::machine
