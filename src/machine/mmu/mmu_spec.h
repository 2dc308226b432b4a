// Sizes of what translates addresses of modelled spaces.
#pragma once

#include <string_view>

#include "base/result.h"
#include "machine/mmu/page.h"
#include "machine/mmu/tag_store.h"

namespace raddle::machine {

struct MmuSpec {
  static constexpr unsigned kLineBytes = 128;  ///< of the modelled caches

  TagStoreSpec sm_tlb{.entries = 32};                                      ///< each SM has one
  TagStoreSpec gpc_tlb{.entries = 512};                                    ///< each GPC
  TagStoreSpec walk_cache{.entries = 64};                                  ///< the walker
  TagStoreSpec virtual_cache{.entries = 0}, physical_cache{.entries = 0};  ///< in lines; 0: not modelled
  Aperture tables = Aperture::device;                                      ///< where page tables lie (A-6c)
  unsigned asids = 256;  ///< address spaces of a device context

  bool operator==(const MmuSpec&) const = default;
};

std::string_view replacement_name(Replacement replacement);  ///< "lru", ...

/// "l1=32,l2=512:8:fifo": entries, ways and replacement of l1 (the SMs' TLBs), l2 (the GPCs'), walk (the
/// walker's cache), virtual and physical (caches, in lines); "tables=host" puts page tables into the host's
/// memory instead of the device's. What is not named stays as above.
/// @errors invalid: says what there is
Result<MmuSpec> parse_mmu_spec(std::string_view text);

}  // namespace raddle::machine
