// lowering_of, of the plain lane rows, and emission_of, of rows that concern the warp (memory, collectives,
// barriers, services): made from rows.def. A row without its lower<Op> or emit<Op> fails to link and the
// message names the op. Branches are Terminators' business, calls Calls'.
#include <array>

#include "isa/op.h"
#include "isa/where.h"
#include "jit/emitter.h"
#include "jit/plain_lane.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {

#define PTX_OP(id)              \
  template <>                   \
  void lower<Op::id>(Emitter&); \
  template <>                   \
  void emit<Op::id>(WarpEmitter&);
#include "isa/ops.def"
#undef PTX_OP

namespace {

struct Entry {
  LowerFunction lower = nullptr;
  EmitFunction emit = nullptr;
};

constexpr bool is_emitted(const isa::RowText& row) {
  using isa::Effects;
  if (row.status != isa::Status::done || is_plain_lane(row)) return false;
  bool transfers = isa::has(row.effects, Effects::control);
  return !transfers || (isa::has(row.effects, Effects::may_fault) && row.operands == "=");  // trap
}

template <Op op, bool plain, bool emitted>
constexpr Entry entry() {
  if constexpr (plain) return {.lower = &lower<op>};
  if constexpr (emitted) return {.emit = &emit<op>};
  return {};
}

}  // namespace
}  // namespace raddle::jit

namespace raddle::isa {  // the rows' texts use its names
namespace {
constexpr std::array<jit::Entry, kOpCount> kEntries = {
#define PTX_OP(id, ...) \
  jit::entry<Op::id, jit::is_plain_lane(RowText{__VA_ARGS__}), jit::is_emitted(RowText{__VA_ARGS__})>(),
#include "isa/rows.def"
#undef PTX_OP
};
}  // namespace
}  // namespace raddle::isa

namespace raddle::jit {
LowerFunction lowering_of(Op op) { return isa::kEntries[static_cast<std::size_t>(op)].lower; }
EmitFunction emission_of(Op op) { return isa::kEntries[static_cast<std::size_t>(op)].emit; }
}  // namespace raddle::jit
