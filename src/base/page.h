// The host's pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/round_up.h"

namespace raddle {

/// Bytes of a page of host memory, on every host that Raddle runs on.
inline constexpr std::size_t kPage = 4096;

constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return round_up(bytes, kPage); }

}  // namespace raddle
