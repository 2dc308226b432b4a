#include "graphics/stages.h"

#include <algorithm>

#include "graphics/kernels_ptx.h"

namespace raddle::graphics {
namespace {

constexpr unsigned kThreads = 128;           ///< of a block, in kernels whose threads work alone
constexpr unsigned kTilesPerBlock = 4;       ///< a warp each
constexpr std::uint64_t kMostBlocks = 1024;  ///< of kernels that loop over their grid

std::uint64_t blocks_for(std::uint64_t threads) {
  return std::clamp<std::uint64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks);
}

/// A user's kernel, in blocks as it allows.
template <class Batch>
DrawStep shader_step(const char* stage, const Shader& shader, const Batch& batch, std::uint64_t threads) {
  const Dim3 largest = shader.kernel.info().largest_block;
  unsigned block = kThreads;
  if (largest.x != 0) block = std::max(32u, std::min(block, largest.x * largest.y * largest.z) / 32 * 32);
  return launch_step(stage, shader.kernel, blocks_for(threads), block, batch, shader.constants.value);
}

DrawStep fixed_step(const char* stage, const Kernel& kernel, const DrawData& data, std::uint64_t threads) {
  return launch_step(stage, kernel, blocks_for(threads), kThreads, data);
}

/// A kernel with a warp for each tile.
DrawStep tile_step(const char* stage, const Kernel& kernel, const DrawData& data,
                   std::uint64_t shared_bytes) {
  const std::uint64_t tiles = std::uint64_t{data.tiles_x} * data.tiles_y * data.layers;
  DrawStep step =
      launch_step(stage, kernel, (tiles + kTilesPerBlock - 1) / kTilesPerBlock, kTilesPerBlock * 32, data);
  step.config.shared_bytes = shared_bytes * kTilesPerBlock;
  return step;
}

/// From indices to the primitives that setup reads.
void add_geometry(const Stages& stages, const Draw& draw, const Plan& plan, std::vector<DrawStep>& steps) {
  const DrawData& data = plan.data;
  steps.push_back(shader_step("vertex", draw.vertex->shader, plan.vertex, plan.vertex.count));
  if (data.assembly.restart != 0) steps.push_back(launch_step("restart", stages.runs, 1, 32, data));
  steps.push_back(fixed_step("assembler", stages.assemble, data, plan.assembled));
  if (draw.hull) steps.push_back(shader_step("hull", draw.hull->shader, plan.hull, plan.assembled));
  if (draw.domain) {
    steps.push_back(launch_step("tessellator sizes", stages.count_division, 1, 32, data));
    steps.push_back(fixed_step("tessellator", stages.divide, data, plan.assembled));
    steps.push_back(shader_step("domain", draw.domain->shader, plan.domain, data.division.point_capacity));
  }
  if (draw.geometry)
    steps.push_back(shader_step("geometry", draw.geometry->shader, plan.geometry,
                                plan.geometry.capacity / plan.geometry.most));
}

}  // namespace

Result<std::unique_ptr<Stages>> Stages::load(Device& device) {
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  const auto add = [&](const char* text, const char* file,
                       std::initializer_list<const char*> names) -> Result<void> {
    TRY_ASSIGN(Module module, device.load(text, file));
    for (const char* const name : names) {
      TRY_ASSIGN(const Kernel kernel, module.kernel(name));
      kernels.push_back(kernel);
    }
    modules.push_back(std::move(module));
    return {};
  };
  TRY(add(kAssemblePtx, "assemble.ptx", {"raddle_draw_runs", "raddle_draw_assemble"}));
  TRY(add(kTessellatePtx, "tessellate.ptx", {"raddle_draw_division_sizes", "raddle_draw_divide"}));
  TRY(add(kSetupPtx, "setup.ptx", {"raddle_draw_setup"}));
  TRY(add(kBinPtx, "bin.ptx", {"raddle_draw_bin"}));
  TRY(add(kRasterPtx, "raster.ptx", {"raddle_draw_raster"}));
  TRY(add(kMergePtx, "merge.ptx", {"raddle_draw_merge"}));
  TRY(add(kClearPtx, "clear.ptx", {"raddle_draw_clear", "raddle_draw_resolve"}));
  return std::unique_ptr<Stages>(new Stages{std::move(modules), kernels[0], kernels[1], kernels[2],
                                            kernels[3], kernels[4], kernels[5], kernels[6], kernels[7],
                                            kernels[8], kernels[9]});
}

std::vector<DrawStep> steps_of(const Stages& stages, const Draw& draw, const Plan& plan) {
  const DrawData& data = plan.data;
  std::vector<DrawStep> steps;
  DrawStep zero;
  zero.stage = "counters";
  zero.to = {data.counters.address};
  zero.bytes = sizeof(Counters);
  steps.push_back(zero);
  add_geometry(stages, draw, plan, steps);
  steps.push_back(fixed_step("setup", stages.setup, data, plan.before_setup));
  const std::uint64_t bins = std::uint64_t{data.bins_x} * data.bins_y * data.layers;
  steps.push_back(launch_step("bins", stages.bin, (bins + 3) / 4, 128, data));
  steps.push_back(
      tile_step("rasteriser", stages.raster, data, (std::uint64_t{data.samples} * 3 + 2) * kTilePixels * 4));
  if (!draw.pixel) return steps;
  steps.push_back(
      shader_step("pixel", draw.pixel->shader, plan.pixel, std::uint64_t{data.quad_capacity} * 4));
  if (data.target_count != 0 || data.early_tests == 0)
    steps.push_back(tile_step("output merger", stages.merge, data, 0));
  return steps;
}

}  // namespace raddle::graphics
