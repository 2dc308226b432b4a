// The host's pages.
#pragma once

#include <cstddef>

namespace raddle {

/// Bytes of a page of host memory, on every host that Raddle runs on.
inline constexpr std::size_t kPage = 4096;

}  // namespace raddle
