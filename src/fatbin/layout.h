// What a fat binary's bytes mean, for its reader and its writer. NVIDIA documents none of this; it was found
// by decoding what nvcc 13.0 writes and comparing with its `--keep` files. Little-endian.
//
// Programs keep containers in section .nv_fatbin, and those compiled with -rdc=true in __nv_relfatbin
// (.nv_fatbin then has linked machine code only). Containers follow one another, padded with zeroes to 8
// bytes.
//
// Container: u32 magic, u16 version 1, u16 header size 16, u64 bytes of all entries. Fields of an entry:
//   0x00        u16  kind: 1 PTX, 2 machine code (a cubin), 8 intermediate code for link-time optimisation
//   0x04        u32  size of this header, 0x40 or more; the code follows it
//   0x08        u64  size of the code as stored, padding included
//   0x10        u32  exact size of compressed code
//   0x18, 0x1a  u16  minor and major version: 0 and 9 for PTX 9.0
//   0x1c        u32  architecture, decimal: 90
//   0x20, 0x24  u32  offset and length of the source file's name in this header, with -lineinfo
//   0x28        u64  flags: 0x2000 LZ4 block, 0x8000 ZSTD frame, 0x100000 architecture-specific (a), 0x200000
//                    family-specific (f)
//   0x38        u64  size once decompressed
//   0x40, 0x44  u32  offset and length of the options for ptxas in this header: " -maxrregcount=32 "; where
//                    the header is longer than 0x40
// Zeroes after PTX are no part of it.
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
