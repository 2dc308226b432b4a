// draw_examples [DIRECTORY]: draws the deferred scene and the tessellated sphere, and writes both as PNG
// files.
#include <chrono>
#include <cstdio>

#include "scenes.h"

namespace {

constexpr std::uint32_t kImageSide = 512;

raddle::Result<void> draw_deferred(raddle::Device& device, raddle::graphics::Renderer& renderer,
                                   const std::string& path) {
  TRY_ASSIGN(const auto scene, examples::DeferredScene::create(device, renderer, kImageSide, kImageSide, 96));
  double best = 1e9;
  for (int frame = 0; frame < 5; ++frame) {  // the first ones compile
    const auto start = std::chrono::steady_clock::now();
    TRY(scene->draw(device.default_stream()));
    TRY(device.synchronize());
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  TRY_ASSIGN(const examples::Pixels pixels, scene->pixels());
  TRY(raddle::graphics::write_png(path, kImageSide, kImageSide, 4, pixels));
  std::printf("%s: %u x %u, three passes, %.1f ms a frame\n", path.c_str(), kImageSide, kImageSide, best);
  return {};
}

/// The same picture by the graph of its passes, whose images share memory where their lives allow it.
raddle::Result<void> draw_deferred_graph(raddle::Device& device, raddle::graphics::Renderer& renderer,
                                         const std::string& path) {
  TRY_ASSIGN(const auto scene, examples::DeferredGraph::create(device, renderer, kImageSide, kImageSide, 96));
  TRY_ASSIGN(const auto report, scene->draw());
  TRY_ASSIGN(const examples::Pixels pixels, scene->pixels());
  TRY(raddle::graphics::write_png(path, kImageSide, kImageSide, 4, pixels));
  std::printf("%s: the same as a task graph of %zu passes\n", path.c_str(), scene->passes().passes().size());
  return {};
}

raddle::Result<void> draw_tessellated(raddle::Device& device, raddle::graphics::Renderer& renderer,
                                      const std::string& path) {
  TRY_ASSIGN(const examples::Pixels pixels,
             examples::draw_sphere(device, renderer, kImageSide, examples::make_sphere_view()));
  TRY(raddle::graphics::write_png(path, kImageSide, kImageSide, 4, pixels));
  std::printf("%s: six patches, divided into a sphere\n", path.c_str());
  return {};
}

raddle::Result<void> draw_all(const std::string& directory) {
  TRY_ASSIGN(raddle::Device device, raddle::Device::open());
  TRY_ASSIGN(auto renderer, raddle::graphics::Renderer::create(device));
  TRY(draw_deferred(device, renderer, directory + "/deferred.png"));
  TRY(draw_deferred_graph(device, renderer, directory + "/deferred_graph.png"));
  return draw_tessellated(device, renderer, directory + "/tessellated.png");
}

}  // namespace

int main(int argc, char** argv) {
  const raddle::Result<void> drawn = draw_all(argc > 1 ? argv[1] : ".");
  if (drawn.ok()) return 0;
  std::fprintf(stderr, "draw_examples: %s\n", drawn.error().to_string().c_str());
  return 1;
}
