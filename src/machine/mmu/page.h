// A page as a page table tells of it.
#pragma once

#include <array>
#include <cstdint>

#include "exec/access.h"

namespace raddle::machine {

enum class PageSize : std::uint8_t { small, big, huge };
inline constexpr std::array kPageSizes = {PageSize::huge, PageSize::big, PageSize::small};

constexpr unsigned shift_of(PageSize size) {
  return size == PageSize::small ? 12 : size == PageSize::big ? 16 : 21;
}
constexpr std::uint64_t bytes_of(PageSize size) { return std::uint64_t{1} << shift_of(size); }

/// What a physical address is an address of.
enum class Aperture : std::uint8_t {
  device,  ///< PhysicalMemory
  host,    ///< the process's memory
};

struct Permissions {
  bool read = true, write = true, atomic = true;

  bool allow(exec::AccessKind kind) const {
    if (kind == exec::AccessKind::load) return read;
    return kind == exec::AccessKind::store ? write : atomic;
  }
  bool operator==(const Permissions&) const = default;
};

struct Page {
  std::uint64_t physical = 0;  ///< of its first byte, a multiple of its size
  PageSize size = PageSize::small;
  Permissions permissions;
  Aperture aperture = Aperture::device;

  bool operator==(const Page&) const = default;
};

}  // namespace raddle::machine
