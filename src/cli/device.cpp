// `raddle device`: the modelled machine, its workers and engine, and the host below.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/host.h"
#include "cli/machine_options.h"
#include "machine/shape/shape_file.h"
#include "raddle/raddle.h"

namespace raddle::cli {
namespace {

std::string capability_text(std::uint32_t capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

std::vector<std::uint32_t> sms_per_gpc(const machine::MachineShape& shape) {
  std::vector<std::uint32_t> counts;
  for (const machine::Domain& gpc : shape.domains(machine::Level::gpc)) counts.push_back(gpc.sm_count);
  return counts;
}

void print_text(const DeviceProperties& device, const machine::MachineShape& shape, const Host& host) {
  auto line = [](const char* name, const std::string& value) { fmt::print("{:<10} {}\n", name, value); };
  line("machine", fmt::format("{}: compute capability {}, {} SMs in {} GPCs ({})", device.shape,
                              capability_text(device.capability), device.sm_count, sms_per_gpc(shape).size(),
                              fmt::join(sms_per_gpc(shape), "+")));
  line("one SM",
       fmt::format("{} threads in {} blocks at most, {} registers, {} of shared memory", shape.sm.threads,
                   shape.sm.cta_slots, shape.sm.registers, human_bytes(shape.sm.shared_bytes)));
  line("one block", fmt::format("{} threads, {} of shared memory", device.threads_per_block,
                                human_bytes(device.shared_bytes_per_block)));
  line("memory", human_bytes(device.memory_bytes));
  line("engine", device.engine);
  line("workers", fmt::format("{}", device.workers));
  line("host", to_string(host));
  line("shapes", fmt::format("{}, or FILE.json", fmt::join(machine::preset_names(), ", ")));
  if (!shape.notes.empty()) line("notes", shape.notes);
  if (const std::string warning = shape.warning(); !warning.empty()) line("warning", warning);
}

void print_json(const DeviceProperties& device, const machine::MachineShape& shape, const Host& host) {
  nlohmann::ordered_json document = {{"shape", device.shape},
                                     {"capability", capability_text(device.capability)},
                                     {"sms", device.sm_count},
                                     {"sms_per_gpc", sms_per_gpc(shape)},
                                     {"threads_per_sm", shape.sm.threads},
                                     {"blocks_per_sm", shape.sm.cta_slots},
                                     {"threads_per_block", device.threads_per_block},
                                     {"shared_bytes_per_block", device.shared_bytes_per_block},
                                     {"memory_bytes", device.memory_bytes},
                                     {"engine", device.engine},
                                     {"workers", device.workers},
                                     {"host", to_json(host)},
                                     {"largest_portable_cluster", shape.largest_portable_cluster()},
                                     {"warning", shape.warning()},
                                     {"machine", machine::shape_document(shape)}};
  fmt::print("{}\n", document.dump(2));
}

}  // namespace

int device(const DeviceCommandOptions& options) {
  const Result<machine::MachineShape> shape = machine::find_shape(options.machine.shape);
  if (!shape) return report(shape.error());
  if (options.dump) {
    fmt::print("{}", machine::shape_text(*shape));
    return kSuccess;
  }
  const Result<DeviceOptions> wanted = device_options(options.machine);
  if (!wanted) return report(wanted.error());
  Result<Device> opened = Device::open(*wanted);
  if (!opened) return report(opened.error());
  const DeviceProperties properties = opened->properties();
  const Host host = describe_host();
  options.json ? print_json(properties, *shape, host) : print_text(properties, *shape, host);
  return kSuccess;
}

}  // namespace raddle::cli
