// Stores that go past the host's caches: for streams of more bytes than the caches hold, which are out of
// them before anybody reads them. A store into a cache reads the line first, so that a copy moves three bytes
// for two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle {

/// memcpy whose whole lines go past the caches. They are ordered with nothing: order_stores_past_caches()
/// comes before the thread tells others of them.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

/// What this thread has stored past its caches comes before what it stores from now on.
inline void order_stores_past_caches() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace raddle
