// What both engines ask of fences.
#pragma once

#include "isa/row.h"

namespace raddle::isa {

/// Of a fence: whether the asynchronous proxy sees shared memory's ordinary stores from here on.
inline bool publishes_to_copies(const Opcode& opcode) {
  return (opcode.has(Mod::async) || opcode.has(Mod::async_generic)) &&
         opcode.get(ModKind::space) != Mod::global;
}

}  // namespace raddle::isa
