// What the generated tests leave out, each with its reason: the only such list of tests/isa. Rows say
// themselves whether they use mbarriers or want whole warps.
#pragma once

#include <algorithm>
#include <string_view>

#include "isa/row.h"

namespace raddle::testing {

struct Exclusion {
  std::string_view row;  ///< row id
  std::string_view
      what;  ///< "partial masks": not run with inactive lanes; "spellings": no generated kernels;
             ///< "absent lanes": not run in chains of collectives
  std::string_view reason;
};

inline constexpr Exclusion kExclusions[] = {
    {"shfl_sync", "partial masks", "reading a lane that does not take part gives an undefined value"},
    {"shfl", "partial masks", "reading a lane that does not take part gives an undefined value"},
    {"brkpt", "spellings",
     "a fault wherever it is executed; its file executes it behind a guard that is false"},
    {"cvta", "spellings",
     "of what is no address in the space the result is undefined; its file converts real ones"},
    {"alloca", "spellings", "a random size overflows the stack"},
    {"stacksave", "spellings", "how large the stack is depends on the engine"},
    {"stackrestore", "spellings", "takes nothing but what stacksave gave"},
    {"tensormap_replace", "spellings", "a tensor map takes 128 bytes; its file edits every field"},
    {"tensormap_cp_fenceproxy", "spellings", "a tensor map takes 128 bytes; its file copies one"},
    {"tensormap_cp_fenceproxy", "absent lanes", "each lane copies, none sees another"},
    {"trap", "spellings", "a fault wherever it is executed; its file expects it"},
    {"cp_async_bulk", "spellings", "a random request is refused; its file has right ones"},
    {"cp_async_bulk_tensor", "spellings", "a random request is refused; its file has right ones"},
    {"cp_async_bulk_prefetch_tensor", "spellings", "a random request is refused; its file has right ones"},
    {"cp_reduce_async_bulk", "spellings", "a random request is refused; its file has right ones"},
    {"cp_reduce_async_bulk_tensor", "spellings", "a random request is refused; its file has right ones"},
    {"wmma_load", "spellings", "all lanes name one matrix; its file and test_kernels have them"},
    {"wmma_store", "spellings", "all lanes name one matrix; its file and test_kernels have them"},
    {"cp_async_bulk_prefetch", "spellings", "a random size is refused; its file has right ones"},
};

/// Whether threads of a warp exchange values, all of them: no operand names those that take part.
inline bool exchanges_in_whole_warps(const isa::Row& row) {
  return row.text->scope == isa::Scope::warp && has(row.text->effects, isa::Effects::sync) &&
         !has(row.text->effects, isa::Effects::state) &&
         std::ranges::none_of(row.operands, &isa::OperandSpec::names_members);
}

inline const Exclusion* find_exclusion(const isa::Row& row, std::string_view what) {
  for (const Exclusion& e : kExclusions)
    if (e.row == row.id && e.what == what) return &e;
  static constexpr Exclusion kMbarriers = {
      "", "spellings", "random memory is no mbarrier; its file runs every spelling on one"};
  if (row.uses_mbarrier() && what == kMbarriers.what) return &kMbarriers;
  static constexpr Exclusion kWarpgroups = {"", "spellings", "one warp is no warpgroup; its file has four"};
  if (row.text->scope == isa::Scope::warpgroup && what == kWarpgroups.what) return &kWarpgroups;
  static constexpr Exclusion kWholeWarps = {
      "", "", "`.aligned`: all threads of the warp execute it, or it has no defined result"};
  const bool is_of_lanes = what == "partial masks" || what == "absent lanes";
  return is_of_lanes && exchanges_in_whole_warps(row) ? &kWholeWarps : nullptr;
}

}  // namespace raddle::testing
