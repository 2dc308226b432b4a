// Presets. Sources: H200 and A100 data sheets (SM counts, memory), CUDA programming guide, table of technical
// specifications per compute capability (what an SM holds). The spread of SMs over GPCs is inferred.
#include "machine/shape/machine_shape.h"

#include <fmt/ranges.h>

namespace raddle::machine {

std::string_view level_name(Level level) {
  constexpr std::array<std::string_view, kLevels> names{"set", "gpu", "ugpu", "gpc", "cpc", "tpc", "sm"};
  return names[static_cast<unsigned>(level)];
}

void MachineShape::open(Level level) {
  const auto index = static_cast<unsigned>(level);
  const auto parent = index == 0 ? 0u : static_cast<std::uint32_t>(levels_[index - 1].size() - 1);
  levels_[index].push_back({sm_count(), 0, parent});
}

void MachineShape::close(Level level) {
  Domain& domain = levels_[static_cast<unsigned>(level)].back();
  domain.sm_count = sm_count() - domain.first_sm;
}

void MachineShape::add_sms(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    open(Level::sm);
    levels_[kLevels - 1].back().sm_count = 1;
    for (unsigned level = 0; level < kLevels; ++level)
      domain_of_[level].push_back(static_cast<std::uint32_t>(levels_[level].size() - 1));
  }
}

namespace {
constexpr std::uint64_t kGiB = 1ull << 30;

/// One GPU of one uGPU, its GPCs of one CPC each.
void build(MachineShape& shape, std::initializer_list<std::uint32_t> tpcs_per_gpc,
           std::uint32_t sms_per_tpc) {
  for (const Level level : {Level::set, Level::gpu, Level::ugpu}) shape.open(level);
  for (const std::uint32_t tpcs : tpcs_per_gpc) {
    shape.open(Level::gpc), shape.open(Level::cpc);
    for (std::uint32_t tpc = 0; tpc < tpcs; ++tpc) {
      shape.open(Level::tpc);
      shape.add_sms(sms_per_tpc);
      shape.close(Level::tpc);
    }
    shape.close(Level::cpc), shape.close(Level::gpc);
  }
  for (const Level level : {Level::ugpu, Level::gpu, Level::set}) shape.close(level);
}

MachineShape h200() {
  MachineShape shape;
  shape.name = "h200";
  build(shape, {9, 9, 8, 8, 8, 8, 8, 8}, 2);  // 66 TPCs, 132 SMs; the spread is inferred
  shape.memory_bytes = 141 * kGiB;
  return shape;
}

MachineShape a100() {
  MachineShape shape;
  shape.name = "a100";
  shape.capability = 80;
  build(shape, {8, 8, 8, 8, 8, 7, 7}, 2);  // 54 TPCs, 108 SMs
  shape.sm.shared_bytes = 164u << 10;
  shape.sm.shared_per_block = 163u << 10;
  shape.memory_bytes = 80 * kGiB;
  return shape;
}

MachineShape tiny() {
  MachineShape shape;
  shape.name = "tiny";
  build(shape, {1}, 2);
  shape.memory_bytes = kGiB;
  return shape;
}

MachineShape host(unsigned cores) {
  MachineShape shape;
  shape.name = "host";
  build(shape, {cores == 0 ? 1 : cores}, 1);
  shape.memory_bytes = ~0ull;  // all that the host can give
  return shape;
}
}  // namespace

std::vector<std::string> preset_names() { return {"h200", "a100", "tiny", "host"}; }

Result<MachineShape> preset_shape(std::string_view name, unsigned cores) {
  if (name == "h200") return h200();
  if (name == "a100") return a100();
  if (name == "tiny") return tiny();
  if (name == "host") return host(cores);
  return Error::make(ErrorCode::not_found, "no machine shape '{}'; there are {}", name,
                     fmt::join(preset_names(), ", "));
}

}  // namespace raddle::machine
