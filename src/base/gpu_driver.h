// Where NVIDIA's driver is, on a machine with a GPU (K-15, G-19).
#pragma once

namespace raddle {

/// Opens the library that RADDLE_GPU_DRIVER names, or the one where distributions put it.
/// @param self  an address in the caller's own library, which has the same name, and is not it
/// @returns what dlopen does; null: there is none
void* open_gpu_driver(const void* self);

}  // namespace raddle
