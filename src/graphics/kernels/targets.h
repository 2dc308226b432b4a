// What the kernels that clear and resolve targets get.
#pragma once

#include "graphics/kernels/draw.h"

namespace raddle::graphics {

struct ClearData {
  TargetView target;
  std::uint32_t width, height, slices;
  float value[4];  ///< of integers: the bits
};
struct ResolveData {
  TargetView from, to;
  std::uint32_t width, height, layers, samples;
};

}  // namespace raddle::graphics
