// What a fat binary's bytes mean, for its reader and its writer. docs/fat-binaries.md has the whole layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::fatbin {

inline constexpr std::uint32_t kContainerMagic = 0xba55ed50;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kEntryHeaderBytes = 0x40;  ///< the shortest
inline constexpr std::size_t kAlignment = 8;

// Flags of an entry.
inline constexpr std::uint64_t kUsual = 0x11;  ///< what every entry of nvcc's has
inline constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000, kArchitecture = 0x100000, kFamily = 0x200000;

}  // namespace raddle::fatbin
