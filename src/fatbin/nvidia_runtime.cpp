#include "fatbin/nvidia_runtime.h"

#include <algorithm>

namespace raddle::fatbin {

bool holds_nvidia_runtime(const ElfFile& file) {
  // With its zeros: CUDA's headers, which NVRTC carries as text, have the name among other words. In two
  // parts, as this code is not to hold what it looks for.
  constexpr std::string_view kBegin("\0cudaErrorSoftware", 18), kEnd("ValidityNotEstablished\0", 23);
  if (file.has_section(".note.raddle")) return false;
  const auto holds_name = [&](std::string_view bytes) {
    for (std::size_t at = bytes.find(kBegin); at != std::string_view::npos; at = bytes.find(kBegin, at + 1))
      if (bytes.substr(at + kBegin.size()).starts_with(kEnd)) return true;
    return false;
  };
  return std::any_of(file.sections().begin(), file.sections().end(), [&](const ElfFile::Section& section) {
    return section.name.starts_with(".rodata") && holds_name(section.bytes);
  });
}

}  // namespace raddle::fatbin
