// PTX in whatever wrapping it arrives (K-18): text, a fat binary, a cubin of Raddle's own, or a program,
// library or object file that nvcc made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fatbin/container.h"

namespace raddle::fatbin {

/// The fat binaries of a host program, library or object file, in the order of its sections.
/// @errors invalid: not a well-formed ELF file or container
Result<std::vector<Container>> read_host_binary(std::string_view bytes);

struct PtxImage {
  std::string name;  ///< of the file, or "app.2.sm_90.ptx" for its second container's
  std::string text;
  std::string newer_than_device;  ///< "sm_100" where only PTX for a newer device was there; it may still run
  std::uint32_t max_registers = 0;  ///< fatbin::NamedText::max_registers
};

/// Every module of PTX in `bytes` for a device of compute capability `capability` (90 for sm_90): one per
/// container; of an archive, all members'.
/// @errors invalid: malformed; unsupported: holds device code, but no PTX, or is of a kind that holds none
Result<std::vector<PtxImage>> ptx_images(std::string_view bytes, std::string_view name,
                                         std::uint32_t capability);

}  // namespace raddle::fatbin
