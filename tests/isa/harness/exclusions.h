// What the generated tests leave out, each with its reason: the only such list of tests/isa.
#pragma once

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

inline constexpr std::string_view kNoMbarrier =
    "random memory is no mbarrier; its file runs every spelling on one";

inline constexpr Exclusion kExclusions[] = {
    {"st_async", "spellings", kNoMbarrier},
    {"red_async", "spellings", kNoMbarrier},
    {"mbarrier_init", "spellings", kNoMbarrier},
    {"mbarrier_inval", "spellings", kNoMbarrier},
    {"mbarrier_expect_tx", "spellings", kNoMbarrier},
    {"mbarrier_complete_tx", "spellings", kNoMbarrier},
    {"mbarrier_arrive", "spellings", kNoMbarrier},
    {"mbarrier_arrive_drop", "spellings", kNoMbarrier},
    {"mbarrier_test_wait", "spellings", kNoMbarrier},
    {"mbarrier_try_wait", "spellings", kNoMbarrier},
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
    {"cp_async_bulk_prefetch", "spellings", "a random size is refused; its file has right ones"},
};

inline const Exclusion* find_exclusion(const isa::Row& row, std::string_view what) {
  for (const Exclusion& e : kExclusions)
    if (e.row == row.id && e.what == what) return &e;
  return nullptr;
}

}  // namespace raddle::testing
