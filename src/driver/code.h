// Code as programs give it to the driver: read and checked; stderr says what is wrong with it.
#pragma once

#include <span>

#include "driver/objects.h"
#include "driver/status.h"

namespace raddle::driver {

/// An image in memory: PTX, a fat binary, a wrapper of one, an ELF file; of several modules in it one is
/// linked, for devices of a compute capability. CUDA_ERROR_INVALID_IMAGE: none of these; INVALID_PTX;
/// NO_BINARY_FOR_GPU: no PTX in it
Answer<Program> read_program(const void* image, std::uint32_t capability, JitLog& log);
Answer<Program> read_program_file(const char* path, std::uint32_t capability,
                                  JitLog& log);  ///< also FILE_NOT_FOUND
/// Makes one program of several images, to be linked and loaded again: only the log names kernels that cannot
/// run.
Answer<Program> read_programs(std::span<const Program::Image> images, std::uint32_t capability, JitLog& log);

/// A program's variables in a context. CUDA_ERROR_OUT_OF_MEMORY; NOT_FOUND: external variables
Answer<std::shared_ptr<Module>> load_program(const std::shared_ptr<Context>& context, const Program& program,
                                             JitLog& log, const Placed& placed = {});

}  // namespace raddle::driver
