// Memory that comes with a launch: parameters, which kernels may only read, and small buffers, which they may
// write. Parameters lie in pages that are mapped twice: the launcher writes through one mapping, kernels have
// the read-only one, so a launch takes no system call and kernels can never write them. Beside each kind lies
// only more of it, and then nothing at all (device_space.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "machine/memory/device_space.h"

namespace raddle::machine {

/// A place in such pages, 128-byte aligned; not zero. No memory if `bytes` is 0.
struct LaunchPiece {
  std::byte* host = nullptr;    ///< where the launcher writes
  std::byte* kernel = nullptr;  ///< the same memory as kernels have it
  std::uint64_t bytes = 0;
};

/// Pieces are never given back: tasks keep theirs and are used again.
class LaunchPages {
 public:
  /// @param addresses  where they lie; outlives them
  explicit LaunchPages(DeviceSpace& addresses = DeviceSpace::instance()) : addresses_(addresses) {}
  ~LaunchPages();
  LaunchPages(const LaunchPages&) = delete;
  LaunchPages& operator=(const LaunchPages&) = delete;

  /// At least this many bytes; none if the host has no memory. Thread-safe.
  LaunchPiece parameters(std::uint64_t bytes) { return take(parameters_, bytes); }
  LaunchPiece buffer(std::uint64_t bytes) { return take(buffers_, bytes); }
  /// Whether an address that kernels have lies in parameters.
  bool are_parameters(std::uint64_t address) const;

 private:
  struct Slab {
    std::byte* host;
    std::byte* kernel;
    std::uint64_t bytes;
  };
  struct Kind {
    bool is_written;  // by kernels
    std::vector<Slab> slabs;
    std::uint64_t used = 0;  // of the last slab
  };
  LaunchPiece take(Kind& kind, std::uint64_t bytes);
  bool grow(Kind& kind, std::uint64_t bytes);

  DeviceSpace& addresses_;
  mutable std::mutex mutex_;
  Kind parameters_{false, {}}, buffers_{true, {}};
};

}  // namespace raddle::machine
