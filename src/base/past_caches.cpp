#include "base/past_caches.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace raddle {

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  constexpr std::size_t kLine = 64, kPiece = sizeof(__m128i);
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine);
  std::memcpy(to, from, before);
  std::size_t at = before;
  for (; at + kLine <= bytes; at += kLine)
    for (std::size_t piece = at; piece < at + kLine; piece += kPiece)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + piece),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + piece)));
  std::memcpy(to + at, from + at, bytes - at);
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace raddle
