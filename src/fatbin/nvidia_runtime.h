// Telling whether a program or library holds NVIDIA's CUDA runtime, which runs on NVIDIA's driver only.
#pragma once

#include "fatbin/elf_file.h"

namespace raddle::fatbin {

/// True of libcudart.so of NVIDIA's, and of what libcudart_static.a was linked into. The runtime, ours too,
/// knows its errors by name; what is Raddle's carries a note.
bool holds_nvidia_runtime(const ElfFile& file);

}  // namespace raddle::fatbin
