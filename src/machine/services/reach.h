// Where addresses of kernels lead, for what the machine itself does with a kernel's memory.
#pragma once

#include "exec/abi.h"
#include "exec/access.h"
#include "machine/mmu/mmu.h"

namespace raddle::machine {

/// An access of the block to `bytes` bytes at a generic address, which the space's way of translation allows
/// or not: windows and the block's own memory are the host's addresses, else a modelled space's pages tell.
/// On the worker that runs the block.
Translated reach(const exec::CtaContext& cta, std::uint64_t address, std::uint64_t bytes,
                 exec::AccessKind kind);

/// The same of a warp's lanes at once, where the space's addresses are the host's.
/// @returns the lanes that may make the access; perhaps not all of them
std::uint32_t reach_together(const exec::CtaContext& cta, std::uint32_t lanes, const std::uint64_t* addresses,
                             std::uint64_t bytes);

/// Whether the block may have the machine copy memory by itself. Pages of a modelled space tell later.
bool may_copy(const exec::CtaContext& cta, std::uint64_t address, std::uint64_t bytes);

/// Text before the description of an address that leads nowhere.
const char* note_of(MmuProblem problem);

}  // namespace raddle::machine
