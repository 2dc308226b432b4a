// The graphics examples as objects: the deferred scene and the tessellated sphere, each drawn into an image
// of 8 bits.
#pragma once

#include <memory>
#include <vector>

#include "deferred.cuh"
#include "mesh.h"
#include "raddle/graph.hpp"
#include "raddle/graphics.h"

namespace examples {

using Pixels = std::vector<std::uint8_t>;  ///< RGBA, row by row from the top
inline constexpr unsigned kTextureSide = 64;

/// A checked texture of 8-bit texels.
std::vector<std::uint32_t> make_texture();
raddle::Sampler smooth_sampler();  ///< linear, wrapped
/// Camera and lights; addresses and handles are left out.
deferred::Scene make_view(std::uint32_t width, std::uint32_t height);

/// A geometry pass into albedo, normal and position with depth; lighting of the whole image; a last pass.
class DeferredScene {
 public:
  /// @param renderer  outlives it
  /// @param detail  as make_scene()
  static raddle::Result<std::unique_ptr<DeferredScene>> create(raddle::Device& device,
                                                               raddle::graphics::Renderer& renderer,
                                                               std::uint32_t width, std::uint32_t height,
                                                               unsigned detail);
  ~DeferredScene();
  /// Starts a frame. @errors as DrawStep::run
  raddle::Result<void> draw(raddle::Stream& stream) const;
  /// What a frame consists of, for those who time it; the pass is named before each stage.
  const std::vector<raddle::graphics::DrawStep>& steps() const;
  /// What went wrong, once the frame is done; and the image.
  raddle::Result<Pixels> pixels();

  struct Impl;

 private:
  explicit DeferredScene(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The same scene as a graph of passes, whose images are transient.
class DeferredGraph {
 public:
  /// @param detail  as make_scene()
  static raddle::Result<std::unique_ptr<DeferredGraph>> create(raddle::Device& device,
                                                               raddle::graphics::Renderer& renderer,
                                                               std::uint32_t width, std::uint32_t height,
                                                               unsigned detail);
  ~DeferredGraph();
  const raddle::graph::Graph& passes() const;
  /// A frame; waits for its end. @errors as Executor::run and Renderer::check
  raddle::Result<raddle::graph::RunReport> draw();
  raddle::Result<Pixels> pixels();

  struct Impl;

 private:
  explicit DeferredGraph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct SphereView {
  Matrix view_projection;
  float light[4], levels[4];
};
SphereView make_sphere_view();
/// A sphere of six patches. @param levels  factors of edges and insides
raddle::Result<Pixels> draw_sphere(raddle::Device& device, raddle::graphics::Renderer& renderer,
                                   std::uint32_t side, const SphereView& view);

}  // namespace examples
