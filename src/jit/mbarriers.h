// What instructions of other chapters do to mbarriers; defined in src/isa/mbarrier/lowering.cpp.
#pragma once

#include <cstdint>

#include "jit/warp_emitter.h"

namespace raddle::jit {

/// Bytes of every lane's asynchronous operation have landed: completes transactions of the mbarriers that
/// operand k names.
void complete_transactions(WarpEmitter& e, unsigned k, std::uint32_t bytes);

}  // namespace raddle::jit
