// Memory that another core has written, and that this one will write.
#pragma once

namespace raddle::base {

/// Brings a cache line, as one that is this core's alone. The builtin would bring a copy, unless the compiler
/// may count on PREFETCHW: the line then travels a second time when it is written. Processors without the
/// instruction ignore it.
inline void fetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace raddle::base
