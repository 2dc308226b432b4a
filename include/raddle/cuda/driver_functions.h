// Makers of the small structures that copies take.
#pragma once

#include "driver_types.h"

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width,
                                                        size_t height) {
  struct cudaPitchedPtr made;
  made.ptr = pointer;
  made.pitch = pitch;
  made.xsize = width;
  made.ysize = height;
  return made;
}

static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  struct cudaPos made;
  made.x = x;
  made.y = y;
  made.z = z;
  return made;
}

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  struct cudaExtent made;
  made.width = width;
  made.height = height;
  made.depth = depth;
  return made;
}
