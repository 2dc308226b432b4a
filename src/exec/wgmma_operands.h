// B's elements as the warps of a warpgroup multiply by them (docs/adr/0053): the first of the four that comes
// to a wgmma unpacks them, the others find them here. A wgmma is told by its number since the four met.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "exec/abi.h"

namespace raddle::exec {

/// Of one CTA.
class WgmmaOperands {
 public:
  /// A CTA starts: nothing is known.
  void clear();
  /// Where B is for the warp's next wgmma, aligned to 64; plus 1 if it is there already. Otherwise the caller
  /// puts it there at once. Of the wgmmas since the warps met, the latest kKept are there.
  /// @param code  tells ways to unpack apart @param bytes  a multiple of 64
  std::uint64_t next(const WarpContext& warp, std::uint64_t descriptor, std::uint64_t code,
                     std::uint32_t bytes);

 private:
  static constexpr std::uint32_t kKept = 8;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Wgmma {
    std::uint32_t meetings = 0;  ///< of the warpgroup's warps, before it
    std::uint32_t number = 0;    ///< since then
    std::uint64_t descriptor = 0, code = 0;
    bool operator==(const Wgmma&) const = default;
  };
  struct Warpgroup {
    std::array<Wgmma, kWarpgroupWarps> latest;  ///< by warp; only meetings and number
    std::array<Wgmma, kKept> known;             ///< code 0: nothing
    std::unique_ptr<Line[]> memory;
    std::uint32_t bytes = 0;  ///< of each one's part of it
  };
  void provide(Warpgroup& group, std::uint32_t bytes);

  std::array<Warpgroup, kWarpgroupBarriers> groups_;
  bool is_used_ = false;
};

}  // namespace raddle::exec
