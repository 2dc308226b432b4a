// What engines and machine agree on of warpgroups' matrix instructions (PTX ISA "wgmma"). How matrices lie in
// registers and in shared memory is each engine's own knowledge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "exec/abi.h"

namespace raddle::exec {

enum class WgmmaProblem : std::uint8_t {
  diverged,      ///< some threads of the warp are elsewhere, or have exited
  no_warpgroup,  ///< the block ends before the warpgroup does
  differing,     ///< threads have different descriptors, or different scale-d
  outside,       ///< a descriptor's matrix is not in the block's shared memory
};
FaultKind fault_of(WgmmaProblem problem);
struct IssuedWgmma;
/// Computes a warp's rows of D.
/// @param memory  host address of the CTA's own shared memory, as wgmmas see it; null: fills D with garbage
using ExecuteWgmma = void(const IssuedWgmma* issued, std::byte* memory);

/// A wgmma that a warp has issued: what it took from registers then. Its engine reads and writes the others
/// when the machine has it executed. Plain data: generated code writes it.
struct IssuedWgmma {
  ExecuteWgmma* execute;
  const void* instruction;  ///< the engine's own
  void* registers;          ///< the engine's own: where D is, and A if it is not in shared memory
  std::uint64_t a, b;       ///< descriptors
  std::uint32_t warp;       ///< in its warpgroup
  std::uint32_t line;
  std::uint32_t adds;       ///< scale-d
  std::uint32_t is_fenced;  ///< a wgmma.fence came before it (ptx/fences.h)
  std::uint32_t in_call;    ///< of a device function, whose registers are not there later
  std::array<std::uint32_t, kWarpSize> metadata;
};

/// In each byte: no number that programs are likely to expect, whichever type reads it.
inline constexpr std::uint8_t kWgmmaGarbage = 0xb7;

/// For people, before the description of the address if it is about one.
const char* describe(WgmmaProblem problem);

}  // namespace raddle::exec
