// What the devices of a process share: one machine for all that ask for the same, as a computer has one GPU,
// and one engine that compiles for it, with its code cache.
#pragma once

#include <memory>
#include <string>

#include "exec/executable.h"
#include "machine/machine.h"
#include "raddle/types.h"

namespace raddle {

using machine::CopyEngines;

/// A machine of these options that is in use, or a new one. Nobody shares a deterministic one: the work of
/// others would decide its order. @errors invalid, not_found, io
Result<std::shared_ptr<machine::Machine>> shared_machine(const DeviceOptions& options);

/// What a server has.
struct ServedMachine {
  machine::MachineShape shape;
  std::uint64_t memory_bytes = 0;
};
/// Connects to it. @errors as proxy::Server::connect
Result<ServedMachine> served_machine(const std::string& path);

/// @errors not_found: names the engines of this build
Result<void> check_engine(const std::string& name);
/// One that finds what waits for no copy, where copies land late.
std::unique_ptr<exec::Engine> make_interpreter(const DeviceOptions& options);
/// As of shared_machine(). @errors not_found
Result<std::shared_ptr<exec::Engine>> shared_engine(const DeviceOptions& options);

}  // namespace raddle
