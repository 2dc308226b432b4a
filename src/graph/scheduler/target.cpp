#include "raddle/graph/target.h"

#include <algorithm>

namespace raddle::graph {

Result<Target> Target::of(const Device& device, Kind kind) {
  const DeviceProperties properties = device.properties();
  if (kind == Kind::host && properties.shape != "host")
    return Error::invalid("the host's processor is a device of the shape \"host\", this one is \"{}\"",
                          properties.shape);
  if (kind == Kind::gpu) return Error::invalid("a real GPU is no device of Raddle's");
  Target target;
  target.kind = kind;
  target.name = kind == Kind::compute_only ? properties.shape + " without graphics" : properties.shape;
  target.sm_count = std::max(properties.sm_count, 1u);
  target.shared_bytes_per_sm = std::max<std::uint64_t>(properties.shared_bytes_per_block, 1);
  target.memory_bytes = properties.memory_bytes;
  target.workers = std::max(properties.workers, 1u);
  target.has_graphics = kind != Kind::compute_only;
  return target;
}

Result<Target::Kind> Target::parse(std::string_view name) {
  if (name == "device") return Kind::device;
  if (name == "compute") return Kind::compute_only;
  if (name == "host") return Kind::host;
  if (name == "gpu") return Kind::gpu;
  return Error::make(ErrorCode::not_found, "no target is called '{}'; there are device, compute, host, gpu",
                     name);
}

std::uint32_t Target::resident_blocks(const KernelInfo& kernel, const LaunchConfig& config) const {
  const std::uint64_t threads = std::uint64_t{config.block.x} * config.block.y * config.block.z,
                      warps = (threads + 31) / 32;
  std::uint64_t blocks =
      std::min<std::uint64_t>(blocks_per_sm, threads_per_sm / std::max<std::uint64_t>(warps * 32, 1));
  const std::uint64_t shared = kernel.static_shared_bytes + config.shared_bytes;
  if (shared != 0) blocks = std::min(blocks, shared_bytes_per_sm / shared);
  const std::uint64_t registers = warps * 32 * std::max(kernel.registers, 1u);
  blocks = std::min(blocks, registers_per_sm / registers);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks, 1));
}

}  // namespace raddle::graph
