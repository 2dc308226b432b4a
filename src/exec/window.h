// Where a kernel may go. A windowed address space keeps all its memory in one range of addresses, its
// window; beside that a block has its shared and its local memory, which lie with the worker that runs it.
// Anything else is a fault. The window of a space that nothing isolates is all of memory.
#pragma once

#include "exec/abi.h"

namespace raddle::exec {

/// What compiled code may add to a shared address in 64 bits: constants, distances of lanes.
constexpr std::int64_t kSharedNear = 256ll << 20;

/// What shared addresses reach on either side of the start of a CTA's shared window: its own cluster's
/// memory, and nothing else. They have 32 bits and count with their sign: so sums of what is near are the
/// same whether they are made in 32 bits or in 64, wherever there is memory.
constexpr std::uint64_t kSharedReach = (1ull << 31) + kSharedNear;

/// Where a shared address lies, from the start of the window.
constexpr std::uint64_t shared_distance(std::uint64_t address) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(address)});
}

/// Nothing lies within so many bytes of a window's ends, and nothing of anybody else's within so many bytes
/// of a block's memory. So what is this close to an address that the kernel may access is its own, or a fault
/// of the host's: compiled code judges a register once for all offsets from it.
constexpr std::uint64_t kWindowSlack = 16ull << 20;

/// A window without some addresses: accesses there come to the machine, which can count them.
inline AddressRange all_but(AddressRange without) {
  return {without.start + without.bytes, 0 - without.bytes};
}

/// The block's local memory, of all its threads.
inline AddressRange local_memory(const CtaContext& cta) {
  return {reinterpret_cast<std::uint64_t>(cta.local), cta.local_stride * cta.thread_count};
}

/// Whether the kernel may access `bytes` bytes at a generic address. What it finds there is another question:
/// a window has gaps, which the host's page tables guard.
inline bool may_access(const CtaContext& cta, std::uint64_t address, std::uint64_t bytes) {
  if (cta.launch->window.holds(address, bytes)) return true;
  const AddressRange shared{reinterpret_cast<std::uint64_t>(cta.shared) - kSharedReach, 2 * kSharedReach};
  return shared.holds(address, bytes) || local_memory(cta).holds(address, bytes);
}

}  // namespace raddle::exec
