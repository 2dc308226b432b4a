// What kernels may do with pages.
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace raddle::machine {

enum class Protection : std::uint8_t { none, read, write };  ///< write: read, too

/// As mmap and mprotect count.
constexpr int flags_of(Protection protection) {
  return protection == Protection::write  ? PROT_READ | PROT_WRITE
         : protection == Protection::read ? PROT_READ
                                          : PROT_NONE;
}

}  // namespace raddle::machine
