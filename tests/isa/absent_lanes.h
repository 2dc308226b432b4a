// Warp collectives where lanes are missing: one rule for every row of warp scope.
#pragma once

#include "isa/harness/check.h"

namespace raddle::testing {

/// A lane that a member mask names but that has exited, or that the block's last warp never had, is as if it
/// were not named (PTX ISA "vote.sync", "match.sync", "redux.sync": "all non-exited threads in membermask";
/// the manual says the same of no other row, and hardware does it for all). Kernels made from the row let
/// lanes exit before and while others wait, in a kernel and in a function, in a full and in a partial warp,
/// and name all lanes or the living ones: the results are the same, on every engine, and those that are known
/// by hand. A row of warp scope without a result known by hand fails. Other rows are left alone.
void test_absent_lanes(const isa::Row& row, const std::vector<NamedEngine>& engines, Report& report);

}  // namespace raddle::testing
