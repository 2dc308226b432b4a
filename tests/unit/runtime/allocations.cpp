// See allocations.h: operator new of the whole program.
#include "unit/runtime/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RADDLE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RADDLE_SANITIZED 1
#endif
#endif

#ifdef RADDLE_SANITIZED
std::optional<std::uint64_t> allocations() { return std::nullopt; }
#else
namespace {
std::atomic<std::uint64_t> count{0};
}

std::optional<std::uint64_t> allocations() { return count.load(); }

void* operator new(std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
