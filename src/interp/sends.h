// What threads send into their cluster (st.async, red.async) where copies land late; defined in
// src/isa/async_copy.
#pragma once

#include <cstddef>

#include "exec/bulk.h"
#include "isa/row.h"

namespace raddle::interp {

class Lane;

/// Where a lane's value goes, and the mbarrier that counts its bytes, checked as of any access.
struct SendPlaces {
  std::byte* to = nullptr;
  std::byte* mbarrier = nullptr;
};

/// Of operands 0 and 2.
SendPlaces send_places(Lane& lane, std::size_t bytes);
/// Hands a lane's value to the machine. @param kind  its reduction and element count, no more
/// @returns false where nothing lands late: nothing is done
bool send_late(Lane& lane, const SendPlaces& places, const void* value, std::size_t bytes,
               exec::BulkKind kind);

/// The reduction that the instruction names, on elements of its type.
exec::BulkKind bulk_reduction(const isa::Opcode& opcode);

}  // namespace raddle::interp
