// What threads send into their cluster (st.async, red.async) where copies land late; defined in
// src/isa/async_copy/lowering_thread.cpp.
#pragma once

#include "exec/bulk.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

/// Hands the machine each lane's value(s), operand 1, for the address that operand 0 names and the mbarrier
/// that operand 2 names. Only for code of such devices (KernelPlan::late_copies).
/// @param kind  its reduction and element count, no more
void send_late(WarpEmitter& e, exec::BulkKind kind);

/// The reduction that the instruction names, on elements of its type.
exec::BulkKind bulk_reduction(WarpEmitter& e);

}  // namespace raddle::jit
