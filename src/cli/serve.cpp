// `raddle serve`: shares one machine among the programs of several processes, until it is interrupted.
#include <fmt/format.h>
#include <signal.h>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/machine_options.h"
#include "machine/context/context_mode.h"
#include "serve/service.h"

namespace raddle::cli {
namespace {

serve::Service* running = nullptr;

void interrupt(int) { running->stop(); }

}  // namespace

int serve(const ServeOptions& options) {
  const Result<DeviceOptions> device = device_options(options.machine);
  if (!device) return report(device.error());
  serve::Options wanted{.path = options.socket, .device = *device, .limits = {}};
  wanted.limits.clients = options.clients;
  wanted.limits.memory_bytes = options.memory_bytes;
  wanted.limits.sms = options.sms;
  wanted.limits.kernel_time = std::chrono::milliseconds(options.kernel_time_ms);
  const auto contexts = of_option("--contexts", machine::parse_contexts(options.contexts));
  if (!contexts) return report(contexts.error());
  wanted.device.contexts = *contexts;
  for (const std::string& text : options.instances) {
    auto instance = of_option("--instance", serve::parse_instance(text));
    if (!instance) return report(instance.error());
    wanted.instances.push_back(std::move(*instance));
  }
  const auto service = serve::Service::open(std::move(wanted));
  if (!service) return report(service.error());
  running = service->get();
  struct sigaction action{};
  action.sa_handler = interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  fmt::print("raddle serve: listening at {}\nraddle serve: run programs with RADDLE_SERVER={}\n",
             options.socket, options.socket);
  std::fflush(stdout);
  const Result<void> ended = (*service)->run();
  return ended ? kSuccess : report(ended.error());
}

}  // namespace raddle::cli
