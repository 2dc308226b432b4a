// A plain textured scene, drawn by Raddle and by Mesa's llvmpipe: the same mesh, texture, view and light.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scenes.h"

namespace bench {

constexpr unsigned kDetail = 96;  ///< of the mesh

/// One way to draw it.
class TexturedScene {
 public:
  virtual ~TexturedScene() = default;
  virtual std::string name() const = 0;
  /// Draws a frame and waits for its end.
  virtual raddle::Result<void> draw() = 0;
  virtual raddle::Result<examples::Pixels> pixels() = 0;  ///< of the last frame
};

raddle::Result<std::unique_ptr<TexturedScene>> make_raddle_scene(raddle::Device& device, std::uint32_t side);
/// @errors unsupported: no EGL without a display, no OpenGL ES 3; or the benchmark was built without them
raddle::Result<std::unique_ptr<TexturedScene>> make_llvmpipe_scene(std::uint32_t side);

}  // namespace bench
