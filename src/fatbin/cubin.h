// Cubins that carry PTX: what Raddle's stand-in for ptxas, its linker and its NVRTC forwarder make, so that
// programs that load "machine code" run (K-18). An ELF file for the machine "CUDA", as a real one, whose
// section .raddle.ptx holds the text that a real one would hold compiled.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::fatbin {

/// A module's PTX and the file that it came from, for messages.
struct NamedText {
  std::string name, text;
  std::uint32_t max_registers = 0;  ///< of a thread, as it was assembled with -maxrregcount; 0: no limit
};

/// A cubin for sm_<capability> with the texts in it, to be linked when it is loaded.
std::string write_cubin(std::span<const NamedText> texts, std::uint32_t capability);

bool is_cubin(std::string_view bytes);

/// The texts of such a cubin; none if it is one with machine code only.
/// @errors invalid: not a well-formed ELF file
Result<std::vector<NamedText>> read_cubin(std::string_view bytes);

}  // namespace raddle::fatbin
