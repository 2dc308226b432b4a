// What a warp keeps in its frame across the barriers of a kernel that runs as regions: which registers it
// writes there when it suspends, which it reads when it goes on, and where each lies. It writes a register
// that does not change between two barriers once, and reads none that nobody uses between them. What only the
// way from the kernel's begin to its first barrier computes is written on that way, not in each turn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "ptx/cfg.h"

namespace raddle::jit {

struct FrameUse {
  std::vector<ptx::RegisterId> saved;   ///< may have changed since the last barrier, and are read later
  std::vector<ptx::RegisterId> first;   ///< likewise, but only where no barrier has been before
  std::vector<ptx::RegisterId> loaded;  ///< of those that are read later: needed before the next barrier
  std::vector<ptx::RegisterId> held;    ///< all that are read later
};

/// By instruction: what each barrier of the block in `function` does to the frame. All lanes of a warp come
/// to such a barrier together, so that what a lane needs follows from the paths through the program alone.
/// @param also_read  registers that an instruction's code reads beside its operands
using AlsoRead = std::function<std::vector<ptx::RegisterId>(ptx::BlockId, const ptx::Instruction&)>;
std::map<std::uint32_t, FrameUse> frame_uses(const ptx::Function& function, const ptx::Cfg& cfg,
                                             const ptx::Liveness& live, const AlsoRead& also_read);

/// Places things in a frame so that no two share a place at the same time.
class FrameLayout {
 public:
  /// Offset in bytes of a thing of `size` bytes that is held at the given barriers.
  std::uint32_t place(std::uint32_t size, const std::vector<std::uint32_t>& barriers);
  std::uint32_t bytes() const { return end_; }

  static constexpr std::uint32_t kBegin = 64;  ///< the first bytes hold masks
  static std::uint32_t alignment(std::uint32_t size) { return size >= 64 ? 64 : size >= 32 ? 32 : 8; }

 private:
  struct Place {
    std::uint32_t offset, size;
    std::vector<bool> taken;  // by barrier
  };
  std::vector<Place> places_;
  std::uint32_t end_ = kBegin;
};

}  // namespace raddle::jit
