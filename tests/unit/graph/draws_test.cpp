// Draws in passes: the deferred scene as a graph gives the pixels of the same draws in a stream.
#include <gtest/gtest.h>

#include "scenes.h"

namespace raddle::graph {
namespace {

// proves: G-2b
TEST(Draws, ADeferredSceneIsAGraph) {
  constexpr std::uint32_t kWidth = 96, kHeight = 64, kDetail = 12;
  auto device = Device::open({}).value();
  auto renderer = graphics::Renderer::create(device).value();
  const auto scene = examples::DeferredScene::create(device, renderer, kWidth, kHeight, kDetail).value();
  ASSERT_TRUE(scene->draw(device.default_stream()).ok());
  const examples::Pixels expected = scene->pixels().value();
  const auto passes = examples::DeferredGraph::create(device, renderer, kWidth, kHeight, kDetail).value();
  for (int frame = 0; frame < 2; ++frame) {
    const auto report = passes->draw();
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_EQ(passes->pixels().value(), expected);
    EXPECT_LT(report->schedule->peak_bytes, report->schedule->plain_bytes);  // what lighting has read is gone
  }
  EXPECT_EQ(passes->passes().passes().size(), 3u);
}

TEST(Draws, AreRefusedWithoutGraphics) {
  auto device = Device::open({}).value();
  auto renderer = graphics::Renderer::create(device).value();
  const auto scene = examples::DeferredGraph::create(device, renderer, 32, 32, 4).value();
  auto compute = Executor::open(device, {.target = Target::Kind::compute_only}).value();
  ASSERT_TRUE(compute.provide("image", 32 * 32 * 4).ok());
  const auto refused = compute.run(scene->passes());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace raddle::graph
