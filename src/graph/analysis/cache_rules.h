// Which units see each other's writes. On this machine kernels and copies are coherent; texture units keep
// what they have read, draws keep what they write, and the host sees memory alone.
#pragma once

#include <cstdint>

#include "raddle/graph/command.h"

namespace raddle::graph {

inline std::uint8_t unit_bit(Unit unit) {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(unit));
}

/// Units that see what a unit has written without an action in between.
inline std::uint8_t sees_writes_of(Unit writer) {
  constexpr auto kTexture = 1u << static_cast<unsigned>(Unit::texture);
  constexpr auto kHost = 1u << static_cast<unsigned>(Unit::host);
  if (writer == Unit::draw) return unit_bit(Unit::draw);
  if (writer == Unit::host) return static_cast<std::uint8_t>(0xff & ~kTexture);
  return static_cast<std::uint8_t>(0xff & ~kTexture & ~kHost);
}

/// The action between a writer and a reader that does not see it.
inline CacheAction::Kind missing_action(Unit writer, Unit reader) {
  return reader == Unit::texture && writer != Unit::draw ? CacheAction::Kind::invalidate
                                                         : CacheAction::Kind::flush;
}

}  // namespace raddle::graph
