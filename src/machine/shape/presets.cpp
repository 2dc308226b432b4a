// The presets, in the format of shape files (docs/shapes.md). Sources: H200 and A100 data sheets (SM counts,
// memory), CUDA programming guide, table of technical specifications per compute capability (what an SM
// holds). What is inferred says so.
#include <fmt/ranges.h>

#include "base/assert.h"
#include "machine/shape/shape_file.h"

namespace raddle::machine {
namespace {

constexpr std::string_view kH200 = R"({
  "name": "h200",
  "notes": "SMs, memory and what an SM holds: documented; 8 clusters on an SM: an H200's own answer. 8 GPCs, 2 of 18 SMs and 6 of 16, and the CPCs of 3 TPCs in each: inferred.",
  "capability": "9.0",
  "sm": {"cluster_slots": 8},
  "memory_bytes": "141G",
  "gpcs": [{"count": 2, "cpcs": [3, 3, 3]}, {"count": 6, "cpcs": [3, 3, 2]}],
  "sms": 2
})";

constexpr std::string_view kA100 = R"({
  "name": "a100",
  "notes": "SMs, memory and what an SM holds: documented. 7 GPCs, 5 of 16 SMs and 2 of 14: inferred; one CPC in each, as none are known.",
  "capability": "8.0",
  "sm": {"shared_bytes": "164K", "shared_per_block": "163K"},
  "memory_bytes": "80G",
  "gpcs": [{"count": 5, "tpcs": 8}, {"count": 2, "tpcs": 7}],
  "sms": 2
})";

constexpr std::string_view kTiny = R"({
  "name": "tiny",
  "notes": "Made up: the smallest machine with two SMs.",
  "memory_bytes": "1G",
  "sms": 2
})";

// The number of TPCs is the host's number of cores.
constexpr std::string_view kHost = R"({
  "name": "host",
  "notes": "Made up: an SM for each core of the host, all in one GPC.",
  "memory_bytes": "host",
  "tpcs": )";

}  // namespace

std::vector<std::string> preset_names() { return {"h200", "a100", "tiny", "host"}; }

Result<MachineShape> preset_shape(std::string_view name, unsigned cores) {
  std::string text;
  if (name == "h200") text = kH200;
  if (name == "a100") text = kA100;
  if (name == "tiny") text = kTiny;
  if (name == "host") text = fmt::format("{}{}, \"sms\": 1}}", kHost, cores == 0 ? 1 : cores);
  if (text.empty())
    return Error::make(ErrorCode::not_found,
                       "no machine shape '{}'; there are {}, and files that end in .json", name,
                       fmt::join(preset_names(), ", "));
  Result<MachineShape> shape = read_shape(text, std::string(name));
  RADDLE_ASSERT(shape.ok(), shape.error().to_string());
  return shape;
}

}  // namespace raddle::machine
