// emission_of: the rows that the driver executes itself (memory, warp collectives, barriers, services). One
// without its emit<Op> fails to link and the message names the op. Branches and calls are control.cpp's and
// calls.cpp's.
#include <array>

#include "isa/where.h"
#include "jit/function.h"
#include "jit/plain_lane.h"

namespace raddle::jit {

#define PTX_OP(id, ...) \
  template <>           \
  void emit<Op::id>(FunctionCompiler&);
#include "isa/rows.def"
#undef PTX_OP

namespace {

constexpr bool is_emitted(const isa::RowText& row) {
  using isa::Effects;
  if (row.status != isa::Status::done || is_plain_lane(row)) return false;
  bool transfers = isa::has(row.effects, Effects::control);
  return !transfers || (isa::has(row.effects, Effects::may_fault) && row.operands == "=");  // trap
}

template <Op op, bool emitted>
constexpr EmitFunction emission() {
  if constexpr (emitted) return &emit<op>;
  return nullptr;
}

}  // namespace
}  // namespace raddle::jit

namespace raddle::isa {  // the rows' texts use its names
namespace {
constexpr std::array<jit::EmitFunction, kOpCount> kEmissions = {
#define PTX_OP(id, ...) jit::emission<Op::id, jit::is_emitted(RowText{__VA_ARGS__})>(),
#include "isa/rows.def"
#undef PTX_OP
};
}  // namespace
}  // namespace raddle::isa

namespace raddle::jit {
EmitFunction emission_of(Op op) { return isa::kEmissions[static_cast<std::size_t>(op)]; }
}  // namespace raddle::jit
