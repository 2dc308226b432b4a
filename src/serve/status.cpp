#include "serve/status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "machine/context/context_mode.h"
#include "machine/machine.h"
#include "serve/client.h"

namespace raddle::serve {
namespace {

nlohmann::json describe(Client& client, const machine::Activity& activity) {
  const Client::Usage usage = client.usage();
  machine::Activity::OfSpace runs;
  for (const auto& space : activity.spaces)
    if (space.id == client.space_id()) runs = space;
  // Those that run and those that were sent are counted one after the other.
  const std::uint64_t sent = usage.in_flight + usage.in_push_buffers;
  const std::uint64_t running = std::min<std::uint64_t>(runs.grids, sent);
  return {{"process", client.peer().process},
          {"user", client.peer().user},
          {"name", client.peer().name},
          {"instance", client.instance().name()},
          {"context", client.context()},
          {"context selected", client.is_selected()},
          {"nanoseconds", client.age_ns()},
          {"space id", client.space_id()},
          {"memory", usage.memory_bytes},
          {"memory limit", client.memory_limit()},
          {"spaces", usage.spaces},
          {"modules", usage.modules},
          {"launches running", running},
          {"launches waiting", sent - running},
          {"launches", usage.launches},
          {"blocks", usage.blocks},
          {"sms", runs.sms}};
}

/// By GPC: blocks on each of its SMs.
nlohmann::json blocks_by_gpc(const machine::MachineShape& shape, const std::vector<std::uint32_t>& ctas) {
  nlohmann::json gpcs = nlohmann::json::array();
  for (const machine::Domain& gpc : shape.domains(machine::Level::gpc))
    gpcs.push_back(std::vector(ctas.begin() + gpc.first_sm, ctas.begin() + gpc.first_sm + gpc.sm_count));
  return gpcs;
}

}  // namespace

nlohmann::json describe(const Options& options, machine::Machine& machine, const Instances& instances,
                        Clients& clients) {
  const machine::Activity activity = machine.activity();
  nlohmann::json described = nlohmann::json::array();
  for (const auto& client : clients.all()) described.push_back(describe(*client, activity));
  nlohmann::json parts = nlohmann::json::array();
  for (const auto& instance : instances.all())
    parts.push_back({{"name", instance->name()},
                     {"sms", instance->shape().sm_count()},
                     {"memory", instance->memory().used()},
                     {"memory limit", instance->memory().limit()}});
  return {{"socket", options.path},
          {"shape", machine.shape().name},
          {"workers", machine.worker_count()},
          {"memory", machine.capacity()},
          {"most clients", options.limits.clients},
          {"contexts", options.device.contexts ? machine::name_of(*options.device.contexts) : ""},
          {"blocks by gpc", blocks_by_gpc(machine.shape(), activity.ctas)},
          {"instances", parts},
          {"clients", described}};
}

}  // namespace raddle::serve
