// The reference semantics of every instruction, one plain function per row, defined in
// src/isa/<chapter>/reference*.cpp. A row with Scope::lane has `reference<Op>`, which sees one lane; the
// others have `reference_warp<Op>`, which sees the lanes that execute together. A row whose function is
// missing does not link, and the linker names the op; rows with Status::unsupported need none. Written
// independently of the JIT's lowering on purpose: the two are compared.
#pragma once

#include "isa/op.h"
#include "isa/row.h"
#include "ptx/module.h"

namespace raddle::interp {

class Lane;
class WarpStep;

using LaneFunction = void (*)(Lane&, const ptx::Instruction&);
using WarpFunction = void (*)(WarpStep&, const ptx::Instruction&);

template <isa::Op>
void reference(Lane&, const ptx::Instruction&) = delete;
template <isa::Op>
void reference_warp(WarpStep&, const ptx::Instruction&) = delete;

/// The function that executes a row: one of the two, or neither if the row is unsupported (the parser drops
/// such instructions).
struct Reference {
  LaneFunction lane = nullptr;
  WarpFunction warp = nullptr;
};
const Reference& reference_of(isa::Op op);

}  // namespace raddle::interp
