// Code as programs give it to the driver: read, checked, and what is wrong with it said on stderr.
#pragma once

#include <optional>

#include "driver/objects.h"

namespace raddle::driver {

/// An image in memory: PTX, a fat binary, a wrapper of one, an ELF file.
/// CUDA_ERROR_INVALID_IMAGE: none of these; INVALID_PTX; NO_BINARY_FOR_GPU: no PTX in it
CUresult read_program(const void* image, std::optional<Program>& program);
CUresult read_program_file(const char* path, std::optional<Program>& program);  ///< also FILE_NOT_FOUND

/// A program's variables in a context. CUDA_ERROR_OUT_OF_MEMORY; NOT_FOUND: external variables
CUresult load_program(const std::shared_ptr<Context>& context, const Program& program,
                      std::shared_ptr<Module>& module);

}  // namespace raddle::driver
