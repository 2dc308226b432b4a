// Shaders of the graphics tests. src/graphics/kernels/regenerate makes the PTX beside it.
#include "raddle/shader.h"

using namespace raddle::graphics;

/// Attribute 0 is the position, attribute 1 the first varyings.
extern "C" __global__ void plain_vertex(const __grid_constant__ VertexBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step())
    batch.put(i, batch.attribute(0, i), batch.attribute(1, i));
}

/// The varyings as they are.
extern "C" __global__ void colour_pixel(const __grid_constant__ PixelBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    pixel.colour(0, pixel.varyings<float4>());
  }
}
