// The table of reference functions, made from the rows' scope and status.
#include "interp/reference.h"

#include <array>

#include "isa/where.h"

// The rows spell isa's names unqualified, so their texts are made inside it.
namespace raddle::isa::interp_rows {
#define PTX_OP(id, ...) constexpr RowText k_##id{__VA_ARGS__};
#include "isa/rows.def"
#undef PTX_OP
}  // namespace raddle::isa::interp_rows

namespace raddle::interp {

#define PTX_OP(id)                                             \
  template <>                                                  \
  void reference<isa::Op::id>(Lane&, const ptx::Instruction&); \
  template <>                                                  \
  void reference_warp<isa::Op::id>(WarpStep&, const ptx::Instruction&);
#include "isa/ops.def"
#undef PTX_OP

namespace {

template <isa::Op op, isa::Scope scope, isa::Status status>
constexpr Reference entry() {
  if constexpr (status == isa::Status::unsupported) {
    return {};
  } else if constexpr (scope == isa::Scope::lane) {
    return {&reference<op>, nullptr};
  } else {
    return {nullptr, &reference_warp<op>};
  }
}

constexpr std::array<Reference, isa::kOpCount> kTable = {
#define PTX_OP(id, ...) entry<isa::Op::id, isa::interp_rows::k_##id.scope, isa::interp_rows::k_##id.status>(),
#include "isa/rows.def"
#undef PTX_OP
};

}  // namespace

const Reference& reference_of(isa::Op op) { return kTable[static_cast<std::size_t>(op)]; }

}  // namespace raddle::interp
