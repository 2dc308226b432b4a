// What engines and machine agree on of warpgroups' matrix instructions (PTX ISA "wgmma"). How matrices lie in
// registers and in shared memory is each engine's own knowledge.
#pragma once

#include <cstdint>

#include "exec/abi.h"

namespace raddle::exec {

enum class WgmmaProblem : std::uint8_t {
  diverged,      ///< some threads of the warp are elsewhere, or have exited
  no_warpgroup,  ///< the block ends before the warpgroup does
  differing,     ///< threads have different descriptors, or different scale-d
  outside,       ///< a descriptor's matrix is not in the block's shared memory
};
FaultKind fault_of(WgmmaProblem problem);
/// For people, before the description of the address if it is about one.
const char* describe(WgmmaProblem problem);

}  // namespace raddle::exec
