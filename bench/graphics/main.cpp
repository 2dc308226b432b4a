// bench_graphics: milliseconds per frame of the deferred example, stage by stage; and a plain textured scene
// beside Mesa's llvmpipe, where headless EGL is there.
//   bench_graphics [--frames N] [--side PIXELS] [--stages]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <vector>

#include "textured.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int frames = 20;
  std::uint32_t side = 512;
  bool stages = false;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Spread {
  double least, median, most;
};
Spread spread_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times.back()};
}

/// @param draw  draws a frame and waits for it
template <class Frame>
raddle::Result<Spread> time_frames(int frames, const Frame& draw) {
  std::vector<double> times;
  for (int frame = -4; frame < frames; ++frame) {  // the first ones compile
    const auto start = Clock::now();
    TRY(draw());
    if (frame >= 0) times.push_back(milliseconds_since(start));
  }
  return spread_of(times);
}

raddle::Result<void> print_stage(const raddle::graphics::DrawStep& step, double milliseconds, double busy) {
  std::printf("  %-26s %8.3f ms, %8.3f of processors", step.stage.c_str(), milliseconds, busy);
  if (step.kernel) {
    raddle::Kernel kernel = *step.kernel;
    TRY_ASSIGN(const raddle::LaunchReport report, kernel.compile(step.config.block));
    std::printf("  blocks as %s, %u of %u memory operations not vectorised, %u loops dispatched%s",
                report.block_kind.c_str(), report.not_vectorised, report.memory_operations,
                report.dispatched_loops, report.is_quick ? ", quick tier" : "");
  }
  std::printf("\n");
  return {};
}

/// Each step by itself: at its best, with its launch and its wait; and the processor time of all threads.
raddle::Result<void> print_stages(raddle::Device& device, const examples::DeferredScene& scene, int frames) {
  const auto& steps = scene.steps();
  std::vector<std::vector<double>> times(steps.size());
  std::vector<std::clock_t> busy(steps.size());
  for (int frame = 0; frame < frames; ++frame)
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto start = Clock::now();
      const std::clock_t before = std::clock();
      TRY(steps[i].run(device.default_stream()));
      TRY(device.synchronize());
      times[i].push_back(milliseconds_since(start));
      busy[i] += std::clock() - before;
    }
  for (std::size_t i = 0; i < steps.size(); ++i)
    TRY(print_stage(steps[i], spread_of(times[i]).least,
                    1e3 * static_cast<double>(busy[i]) / CLOCKS_PER_SEC / frames));
  return {};
}

raddle::Result<examples::Pixels> print_textured(raddle::Result<std::unique_ptr<bench::TexturedScene>> made,
                                                const Options& options) {
  if (!made.ok()) return std::move(made.error());
  bench::TexturedScene& scene = **made;
  TRY_ASSIGN(const Spread spread, time_frames(options.frames, [&] { return scene.draw(); }));
  std::printf("textured scene, %s: %.2f ms a frame (least %.2f, most %.2f)\n", scene.name().c_str(),
              spread.median, spread.least, spread.most);
  return scene.pixels();
}

/// The same picture by both, and how much of it is the same.
raddle::Result<void> compare(raddle::Device& device, const Options& options) {
  TRY_ASSIGN(const examples::Pixels ours,
             print_textured(bench::make_raddle_scene(device, options.side), options));
  const auto theirs = print_textured(bench::make_llvmpipe_scene(options.side), options);
  if (!theirs.ok()) {
    std::printf("llvmpipe: %s\n", theirs.error().message.c_str());
    return {};
  }
  std::size_t same = 0;
  for (std::size_t i = 0; i < ours.size(); i += 4) {
    int most = 0;
    for (std::size_t c = 0; c < 3; ++c) most = std::max(most, std::abs(ours[i + c] - (*theirs)[i + c]));
    same += most <= 4;
  }
  std::printf("%.2f%% of the pixels are the same to 4 of 255\n",
              400.0 * static_cast<double>(same) / static_cast<double>(ours.size()));
  return {};
}

raddle::Result<void> run(const Options& options) {
  TRY_ASSIGN(raddle::Device device, raddle::Device::open());
  TRY_ASSIGN(auto renderer, raddle::graphics::Renderer::create(device));
  TRY_ASSIGN(const auto scene,
             examples::DeferredScene::create(device, renderer, options.side, options.side, 96));
  TRY_ASSIGN(const Spread spread, time_frames(options.frames, [&]() -> raddle::Result<void> {
               TRY(scene->draw(device.default_stream()));
               return device.synchronize();
             }));
  std::printf("deferred scene, %u x %u, %u workers: %.2f ms a frame (least %.2f, most %.2f)\n", options.side,
              options.side, device.properties().workers, spread.median, spread.least, spread.most);
  if (options.stages) TRY(print_stages(device, *scene, options.frames));
  TRY(scene->pixels());
  return compare(device, options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--frames") == 0 && i + 1 < argc)
      options.frames = std::max(1, std::atoi(argv[++i]));
    else if (std::strcmp(argv[i], "--side") == 0 && i + 1 < argc)
      options.side = static_cast<std::uint32_t>(std::max(8, std::atoi(argv[++i])));
    else if (std::strcmp(argv[i], "--stages") == 0)
      options.stages = true;
    else
      return std::fprintf(stderr, "usage: bench_graphics [--frames N] [--side PIXELS] [--stages]\n"), 2;
  }
  const raddle::Result<void> done = run(options);
  if (!done.ok()) std::fprintf(stderr, "bench_graphics: %s\n", done.error().to_string().c_str());
  return done.ok() ? 0 : 1;
}
