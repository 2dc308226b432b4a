// What instructions of other chapters do to mbarriers; defined in src/isa/mbarrier/reference.cpp.
#pragma once

#include <cstdint>

namespace raddle::interp {

class Lane;

/// Bytes of an asynchronous operation have landed: completes transactions of the mbarrier at operand k.
void complete_transactions(Lane& lane, unsigned k, std::uint32_t bytes);

}  // namespace raddle::interp
