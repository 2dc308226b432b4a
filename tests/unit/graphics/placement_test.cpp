// Every stage of a draw, a user's or a fixed one, is a task that the machine's distributor places on SMs: its
// decisions, written down while a draw with all stages runs.
#include <cstdlib>
#include <fstream>

#include "nlohmann/json.hpp"
#include "rig.h"

namespace graphics_test {
namespace {

/// A grid's name and the SMs that its blocks were launched on.
struct Placed {
  std::string name;
  std::size_t blocks = 0, on_sms = 0;
};

std::vector<Placed> placed_grids(const std::string& path) {
  std::ifstream file(path);
  std::map<std::uint64_t, Placed> grids;
  for (std::string line; std::getline(file, line);) {
    const auto entry = nlohmann::json::parse(line);
    if (entry.contains("name")) {
      Placed& grid = grids[entry["grid"].get<std::uint64_t>()];
      grid.name = entry["name"];
      grid.blocks = entry["extent"][0].get<std::size_t>();
    }
    if (entry.value("step", "") == "launch")
      grids[entry["grid"].get<std::uint64_t>()].on_sms += entry["sms"].size();
  }
  std::vector<Placed> all;
  for (const auto& [number, grid] : grids) all.push_back(grid);
  return all;
}

// proves: G-17f
TEST(Placement, EveryStageIsATaskOfTheDistributor) {
  const std::string path = testing::TempDir() + "graphics_decisions.json";
  setenv("RADDLE_DECISIONS", path.c_str(), 1);
  {
    raddle::DeviceOptions options;
    options.pin = false;
    options.engine = "interp";
    options.ordinal = 77;  // a machine of its own, which listens to the variable
    Rig rig(raddle::Device::open(options).value());
    unsetenv("RADDLE_DECISIONS");
    const Canvas canvas(rig.device, 16, 16, kRgba8, 6);
    graphics::Draw draw =
        rig.plain({at_pixel(0, 0, 16, 16), at_pixel(16, 0, 16, 16), at_pixel(0, 16, 16, 16)});
    draw.topology = graphics::Topology::patches, draw.patch_size = 3;
    draw.indices = graphics::IndexBuffer{rig.upload(std::vector<std::uint32_t>{0, 1, 2}), 12, 4};
    draw.index_count = 3, draw.primitive_restart = true;
    const std::vector<float> factors = {2, 2, 2, 2, 2, 2};
    draw.hull = graphics::HullStage{rig.shader("plain_hull", rig.upload(factors)), 3, 4};
    draw.domain = graphics::DomainStage{rig.shader("patch_domain"), 4};
    draw.geometry =
        graphics::GeometryStage{rig.shader("cube_geometry"), 18, graphics::OutputTopology::triangles, 4};
    draw.targets = {canvas.target};
    rig.draw(draw);
  }
  std::vector<std::string> names;
  for (const Placed& grid : placed_grids(path)) {
    names.push_back(grid.name);
    EXPECT_EQ(grid.on_sms, grid.blocks) << grid.name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"plain_vertex", "raddle_draw_runs", "raddle_draw_assemble",
                                      "plain_hull", "raddle_draw_division_sizes", "raddle_draw_divide",
                                      "patch_domain", "cube_geometry", "raddle_draw_setup", "raddle_draw_bin",
                                      "raddle_draw_raster", "colour_pixel", "raddle_draw_merge"}));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace graphics_test
