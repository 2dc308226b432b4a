// Presets. Sources: H200 and A100 data sheets (SM counts, memory), CUDA programming guide, table of technical
// specifications per compute capability (what an SM holds). The spread of SMs over GPCs is inferred.
#include "machine/shape/machine_shape.h"

#include <fmt/ranges.h>

#include <numeric>

namespace raddle::machine {

std::uint32_t MachineShape::sm_count() const {
  return std::accumulate(tpcs_per_gpc.begin(), tpcs_per_gpc.end(), 0u) * sms_per_tpc;
}

namespace {
constexpr std::uint64_t kGiB = 1ull << 30;

MachineShape h200() {
  MachineShape shape;
  shape.name = "h200";
  shape.tpcs_per_gpc = {9, 9, 8, 8, 8, 8, 8, 8};  // 66 TPCs, 132 SMs
  shape.memory_bytes = 141 * kGiB;
  return shape;
}

MachineShape a100() {
  MachineShape shape;
  shape.name = "a100";
  shape.capability = 80;
  shape.tpcs_per_gpc = {8, 8, 8, 8, 8, 7, 7};  // 54 TPCs, 108 SMs
  shape.sm.shared_bytes = 164u << 10;
  shape.sm.shared_per_block = 163u << 10;
  shape.memory_bytes = 80 * kGiB;
  return shape;
}

MachineShape tiny() {
  MachineShape shape;
  shape.name = "tiny";
  shape.tpcs_per_gpc = {1};
  shape.memory_bytes = kGiB;
  return shape;
}

MachineShape host(unsigned cores) {
  MachineShape shape;
  shape.name = "host";
  shape.sms_per_tpc = 1;
  shape.tpcs_per_gpc = {cores == 0 ? 1 : cores};
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
