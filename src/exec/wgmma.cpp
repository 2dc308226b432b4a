#include "exec/wgmma.h"

#include "base/assert.h"

namespace raddle::exec {

FaultKind fault_of(WgmmaProblem problem) {
  return problem == WgmmaProblem::outside ? FaultKind::illegal_address : FaultKind::illegal_instruction;
}

const char* describe(WgmmaProblem problem) {
  switch (problem) {
    case WgmmaProblem::diverged:
      return "wgmma is .aligned: all 32 threads of a warp execute it together";
    case WgmmaProblem::no_warpgroup:
      return "wgmma needs a warpgroup: four whole warps, the first one's number a multiple of four";
    case WgmmaProblem::differing:
      return "wgmma takes the same descriptors and the same scale-d from all threads";
    case WgmmaProblem::outside:
      return "a matrix descriptor of wgmma leads outside the block's shared memory: ";
  }
  RADDLE_UNREACHABLE("a problem of no kind");
}

}  // namespace raddle::exec
