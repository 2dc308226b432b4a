#include "fatbin/nvidia_runtime.h"

#include <algorithm>

namespace raddle::fatbin {

bool holds_nvidia_runtime(const ElfFile& file) {
  // With its zeros: CUDA's headers, which NVRTC carries as text, have the name among other words.
  constexpr std::string_view kName("\0cudaErrorSoftwareValidityNotEstablished\0", 41);
  if (file.has_section(".note.raddle")) return false;
  return std::any_of(file.sections().begin(), file.sections().end(), [&](const ElfFile::Section& section) {
    return section.name.starts_with(".rodata") && section.bytes.find(kName) != std::string_view::npos;
  });
}

}  // namespace raddle::fatbin
