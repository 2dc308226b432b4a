// Wgmmas that follow each other along K in a block of PTX and add to the same D: compiled code makes them by
// one call, at the last one, so that sums stay in the host's registers meanwhile (docs/adr/0059).
#pragma once

#include "ptx/module.h"

namespace raddle::jit {

/// A wgmma's place among them.
struct WgmmaRun {
  unsigned step = 0, count = 1;
  bool is_last() const { return step + 1 == count; }
};

/// Of a wgmma in this block.
WgmmaRun wgmma_run(const ptx::Function& function, const ptx::Block& block, const ptx::Instruction& wgmma);

}  // namespace raddle::jit
