// A client's work: commands from its push buffers.
#include <cstring>

#include "base/round_up.h"
#include "serve/client.h"

namespace raddle::serve {
namespace {

/// What a command says, as far as it can be said. @errors invalid
Result<LaunchConfig> config_of(const proxy::LaunchCommand& command, int priority) {
  LaunchConfig config;
  config.grid = {command.grid[0], command.grid[1], command.grid[2]};
  if (command.part[0] != 0)
    config.part = {{command.first[0], command.first[1], command.first[2]},
                   {command.part[0], command.part[1], command.part[2]}};
  config.block = {command.block[0], command.block[1], command.block[2]};
  config.shared_bytes = command.dynamic_shared;
  config.cooperative = command.cooperative != 0;
  config.priority = priority;
  config.begins_early = command.behind_trigger != 0;
  config.triggers_at_start = command.triggers_at_start != 0;
  config.cap_per_sm = command.cap_per_sm;
  config.cluster_memory = command.cluster_memory != 0;
  config.allow_non_portable_cluster = true;  // the client has looked
  if (!proxy::read_placement(command.placement, config.placement))
    return Error::invalid("a launch asks for a placement that is none");
  if (command.distribution > static_cast<std::uint32_t>(DistributionMode::multicast) ||
      command.depth > std::size(command.levels))
    return Error::invalid("a launch asks for clusters that cannot be");
  config.distribution = static_cast<DistributionMode>(command.distribution);
  for (std::uint32_t i = 0; i < command.depth; ++i) {
    const auto& level = command.levels[i];
    if (level.domain > static_cast<std::uint32_t>(Level::sm))
      return Error::invalid("a launch asks for clusters of a level that is none");
    config.clusters.push_back(
        {static_cast<Level>(level.domain), {level.extent[0], level.extent[1], level.extent[2]}});
  }
  if (command.depth == 0 && command.explicit_cluster != 0) config.cluster = {1, 1, 1};
  return config;
}

}  // namespace

Client::PushBufferEnd* Client::most_urgent() {
  if (stops_.reader.has_more()) return &stops_;
  if (flights_.count() >= proxy::kMostInFlight) return nullptr;
  const std::lock_guard lock(objects_mutex_);
  for (const auto& buffer : push_buffers_)
    if (buffer->reader.has_more()) return buffer.get();
  return nullptr;
}

void Client::take_work() {
  PushBufferEnd* const buffer = most_urgent();
  if (buffer == nullptr) return;
  // While a space is closed, only stops are taken.
  std::unique_lock launching(launching_, std::defer_lock);
  if (buffer != &stops_ && !launching.try_lock()) return;
  if (is_closed()) return;
  const Result<proxy::StreamPiece> piece = buffer->reader.next();
  if (!piece) return break_off(piece.error());
  if (const Result<void> copied = copy_piece(*buffer, *piece); !copied) return break_off(copied.error());
  buffer->reader.pass();
  execute({piece_.data(), piece->bytes}, buffer->priority);
}

/// Copies a piece of a command stream out of either memory, before anybody looks at it (A-1a).
Result<void> Client::copy_piece(const PushBufferEnd& buffer, const proxy::StreamPiece& piece) {
  if (piece.memory != proxy::StreamPiece::kDevice) return buffer.reader.read(piece, piece_);
  if (piece.bytes > piece_.size())
    return Error::invalid("{} bytes are no piece of a command stream", piece.bytes);
  return memory_.read({piece.start, piece.bytes}, piece_.data());
}

void Client::execute(std::span<const std::byte> commands, int priority) {
  while (!commands.empty()) {
    proxy::LaunchCommand command;
    proxy::StopCommand stop;
    if (commands.size() < sizeof stop) return break_off(Error::invalid("a command is cut off"));
    std::memcpy(&stop, commands.data(), sizeof stop);
    std::uint64_t bytes = sizeof stop;
    if (stop.command == proxy::StopCommand::kCommand) {
      flights_.stop(stop.number);
    } else if (stop.command == proxy::LaunchCommand::kCommand && commands.size() >= sizeof command) {
      std::memcpy(&command, commands.data(), sizeof command);
      bytes = sizeof command + std::uint64_t{command.parameter_bytes};
      if (bytes > commands.size()) return break_off(Error::invalid("a launch is cut off"));
      launch(command, commands.subspan(sizeof command, command.parameter_bytes), priority);
    } else {
      return break_off(Error::invalid("a command {:#x} is none", stop.command));
    }
    commands = commands.subspan(std::min<std::uint64_t>(round_up(bytes, 16), commands.size()));
  }
}

void Client::launch(const proxy::LaunchCommand& command, std::span<const std::byte> parameters,
                    int priority) {
  const Result<bool> begun = flights_.begin(command.number, command.slot);
  if (!begun) return break_off(begun.error());
  if (!*begun) return;
  if (const Result<void> done = try_launch(command, parameters, priority); !done)
    flights_.refused(command.number, done.error());
}

Result<void> Client::try_launch(const proxy::LaunchCommand& command, std::span<const std::byte> parameters,
                                int priority) {
  TRY_ASSIGN(const std::shared_ptr<Loaded> loaded, module(command.module));
  TRY_ASSIGN(LaunchConfig config, config_of(command, priority));
  ServedDevice& device = *loaded->space->device;
  machine::Task* const behind = command.behind != 0 ? flights_.find(command.behind) : nullptr;
  const auto task = loaded->module->launch(
      command.kernel,
      {.number = command.number, .config = std::move(config), .parameters = parameters, .behind = behind});
  if (behind != nullptr) device.release(*behind);
  if (!task) return task.error();
  flights_.submitted(command.number, **task, loaded->module);
  return {};
}

/// The client has broken the rules.
void Client::break_off(const Error& error) {
  fmt::print(stderr, "raddle serve: client {} is cut off: {}\n", peer_.process, error.message);
  broken_ = true;
}

}  // namespace raddle::serve
