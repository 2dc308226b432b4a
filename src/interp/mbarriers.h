// What instructions of other chapters do to mbarriers; defined in src/isa/mbarrier/reference.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::interp {

class Lane;

/// Bytes of an asynchronous operation have landed: completes transactions of the mbarrier.
/// @param mbarrier  its place, checked
void complete_transactions(Lane& lane, std::byte* mbarrier, std::uint32_t bytes);

/// The thread's copies have landed: arrives at the mbarrier at operand k.
/// @param is_expected  the phase waits for that arrival; else it is made to
void arrive_for_copies(Lane& lane, unsigned k, bool is_expected);

}  // namespace raddle::interp
