// What programs advised about ranges of managed memory (cuMemAdvise, cuMemPrefetchAsync), byte-exact and by
// address.
#pragma once

#include <map>
#include <mutex>

#include "driver/abi.h"

namespace raddle::driver {

class Advice {
 public:
  struct Of {
    bool read_mostly = false;
    std::uint64_t accessed_by = 0;  ///< processors, each a bit
    CUmemLocation preferred{LOCATION_INVALID, 0}, prefetched{LOCATION_INVALID, 0};
  };

  static constexpr std::uint64_t kHost = 1;
  static constexpr std::uint64_t device(CUdevice number) { return std::uint64_t{2} << number; }

  static Advice& instance();

  template <class Assign>
  void change(CUdeviceptr begin, std::size_t bytes, const Assign& assign) {
    const std::lock_guard lock(mutex_);
    split(begin);
    split(begin + bytes);
    for (auto next = ranges_.find(begin); next->first != begin + bytes; ++next) assign(next->second);
  }
  /// The advice that holds in all of the range; no location if locations differ.
  Of common(CUdeviceptr begin, std::size_t bytes) const;
  void forget(CUdeviceptr begin, std::size_t bytes);

 private:
  void split(CUdeviceptr at);

  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Of> ranges_{{0, {}}};  // from here to the next
};

}  // namespace raddle::driver
