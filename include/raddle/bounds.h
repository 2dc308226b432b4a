// What lies behind the end of an allocation.
#pragma once

#include <cstdint>

namespace raddle {

enum class Bounds : std::uint8_t {
  /// Nothing, from the end of its last 256 bytes on: an access there is a fault (of allocations of 64 KiB and
  /// more; smaller ones are neighbours).
  exact,
  /// The rest of a page of 2 MiB, as on a GPU: what reads a little too far goes on.
  hardware,
};

}  // namespace raddle
