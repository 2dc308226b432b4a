// Copies over endpoints: where rows of bytes are, whatever kind of memory they are in.
#pragma once

#include <optional>

#include "driver/process.h"

namespace raddle::driver {

/// One side of a copy. Arrays, pitched memory and plain bytes are all this.
struct Endpoint {
  CUdeviceptr address = 0;
  std::size_t pitch = 0, slice_pitch = 0;  ///< bytes; of no meaning for one row, one slice
  bool is_device = false;                  ///< CUDA has to know the memory; else it may be the program's own
};

struct Extent {
  std::size_t width = 0, height = 1, depth = 1;  ///< bytes, rows, slices
};

/// Copies in the order of a stream. Without `later`, the call returns when the copy is done.
CUresult copy(const Endpoint& to, const Endpoint& from, const Extent& extent, CUstream stream, bool later);

}  // namespace raddle::driver
