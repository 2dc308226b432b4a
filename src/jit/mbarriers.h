// What instructions of other chapters do to mbarriers; defined in src/isa/mbarrier/lowering.cpp.
#pragma once

#include <cstdint>

#include "jit/warp_emitter.h"

namespace raddle::jit {

/// Bytes of every lane's asynchronous operation have landed: completes transactions of the mbarriers that
/// operand k names.
void complete_transactions(WarpEmitter& e, unsigned k, std::uint32_t bytes);

/// Every lane's copies have landed: arrives at the mbarriers that operand k names.
/// @param is_expected  the phase waits for that arrival; else it is made to
void arrive_for_copies(WarpEmitter& e, unsigned k, bool is_expected);

}  // namespace raddle::jit
