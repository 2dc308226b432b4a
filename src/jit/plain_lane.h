// Which rows are plain lane operations: values in, values out, per lane. lowering_of() covers exactly these
// by lower<Op>; every other done row belongs to the driver (emit<Op>). Decided from the row's columns alone.
#pragma once

#include "isa/row.h"

namespace raddle::jit {

constexpr bool is_plain_lane(const isa::RowText& row) {
  using isa::Effects;
  constexpr Effects kDriver = Effects::reads | Effects::writes | Effects::control | Effects::sync |
                              Effects::orders | Effects::layout | Effects::stack;
  bool has_destination = !row.operands.empty() && row.operands.front() != '=';
  return row.status == isa::Status::done && row.scope == isa::Scope::lane && has_destination &&
         !isa::has(row.effects, kDriver);
}

}  // namespace raddle::jit
