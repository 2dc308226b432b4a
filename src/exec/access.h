// An access to memory in words that both engines share: what an instruction does to memory, whatever its
// addresses are. Each engine makes every access through one function (interp: Lane::access, jit:
// Addresses::begin), which translates and checks addresses and tells a listener.
#pragma once

#include <cstdint>

#include "ptx/module.h"

namespace raddle::exec {

/// What an access of so many bytes must be aligned to, at most: a tensor map's 128 bytes only to this.
inline constexpr std::uint32_t kMostAlignment = 64;

enum class AccessKind : std::uint8_t {
  load,
  store,
  atomic,     ///< reads, writes, and gives what was there
  reduction,  ///< the same, without the result
};

constexpr bool writes(AccessKind kind) { return kind != AccessKind::load; }

struct Access {
  AccessKind kind;
  ptx::Space space;  ///< that the instruction names; generic if it names none; tex for textures and surfaces
  std::uint32_t bytes;  ///< of a lane
  const ptx::Instruction* instruction;
};

/// The access that an instruction makes; it reads or writes memory.
Access access_of(const ptx::Instruction& instruction);
/// One of the two that a copy makes: it names the space of each.
Access access_of(const ptx::Instruction& instruction, AccessKind kind, isa::Mod space, std::uint32_t bytes);

/// Hears of every access of a kernel.
class AccessListener {
 public:
  virtual ~AccessListener() = default;
  /// JIT, at compile time: the engine writes code that makes the access. The code itself tells nobody.
  virtual void on_compiled(const Access&) {}
  /// Interpreter, before the lane makes the access, from the worker that runs it.
  /// @param address  generic, translated and checked; the handle, of a texture or a surface
  virtual void on_access(const Access&, unsigned /*lane*/, std::uint64_t /*address*/) {}
};

}  // namespace raddle::exec
