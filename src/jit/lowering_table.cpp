// lowering_of: one entry per row, made from rows.def. A plain lane row without its lower<Op> fails to link
// and the message names the op.
#include <array>

#include "isa/where.h"
#include "jit/emitter.h"
#include "jit/plain_lane.h"

namespace raddle::jit {

#define PTX_OP(id, ...) \
  template <>           \
  void lower<Op::id>(Emitter&);
#include "isa/rows.def"
#undef PTX_OP

namespace {

template <Op op, bool plain>
constexpr LowerFunction entry() {
  if constexpr (plain) return &lower<op>;
  return nullptr;
}

}  // namespace
}  // namespace raddle::jit

namespace raddle::isa {  // the rows' texts use its names
namespace {
constexpr std::array<jit::LowerFunction, kOpCount> kLowerings = {
#define PTX_OP(id, ...) jit::entry<Op::id, jit::is_plain_lane(RowText{__VA_ARGS__})>(),
#include "isa/rows.def"
#undef PTX_OP
};
}  // namespace
}  // namespace raddle::isa

namespace raddle::jit {
LowerFunction lowering_of(Op op) { return isa::kLowerings[static_cast<std::size_t>(op)]; }
}  // namespace raddle::jit
