// Fat binaries: the containers in which nvcc embeds device code in programs (K-18). A container holds
// entries, one per architecture and form of code; only PTX runs on Raddle. The layout was found by decoding
// what nvcc 13 writes (docs/fat-binaries.md); every field is checked, since these bytes come from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::fatbin {

enum class Kind : std::uint16_t { ptx = 1, cubin = 2, lto_ir = 8 };

enum class Compression { none, lz4, zstd };

/// The end of an architecture's name: sm_90; sm_90a runs on that very device; sm_100f on its family.
enum class Feature { baseline, architecture, family };

/// Code for one architecture. `payload` points into the bytes that were read.
struct Entry {
  Kind kind = Kind::ptx;         ///< other values are code that neither nvcc's manual nor Raddle knows
  std::uint32_t capability = 0;  ///< 90 for sm_90
  Feature feature = Feature::baseline;
  std::uint16_t version[2]{};  ///< of PTX: {9, 0}
  Compression compression = Compression::none;
  std::span<const std::byte> payload;  ///< as stored, without padding
  std::uint64_t bytes = 0;             ///< once unpacked
  std::string source;                  ///< file name, where nvcc kept it (-lineinfo, -G)
  std::uint32_t max_registers = 0;     ///< -maxrregcount, with which nvcc was called; 0: without
};

/// One translation unit's code.
struct Container {
  std::vector<Entry> entries;
};

bool is_fat_binary(std::span<const std::byte> bytes);

/// All containers of a section or file, in order; zeroes may pad them.
/// @errors invalid: malformed, with the offset
Result<std::vector<Container>> read_containers(std::span<const std::byte> bytes);

/// The code as the compiler wrote it; PTX without the zeroes after it.
/// @errors invalid: damaged, or larger than 256 MiB
Result<std::string> unpack(const Entry& entry);

/// The PTX that CUDA would compile for a device: the newest that is not newer than it; sm_90a only on 9.0,
/// sm_100f only on later members of its family; the more specific of two for one architecture. nullptr: none.
const Entry* choose_ptx(const Container& container, std::uint32_t capability);

/// "PTX 9.0 for sm_90a".
std::string describe(const Entry& entry);
/// "sm_90a".
std::string architecture(const Entry& entry);

}  // namespace raddle::fatbin
