// What `raddle serve` needs of the runtime for its clients: devices that share a window, programs whose
// variables the client has placed, launches whose parameters are one block of bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "machine/address_space.h"
#include "raddle/raddle.h"

namespace raddle {

/// The machine that a device runs on.
machine::Machine& machine_of(Device& device);

/// A device of a client. All of one client have their memory in one window, which the client fills in part.
class ServedDevice {
 public:
  /// @param space_id  of all devices that have the window
  /// @param ended  hears of each launch() that is complete, from whatever thread ends it
  /// @errors as Device::open
  static Result<std::unique_ptr<ServedDevice>> open(
      DeviceOptions options, std::shared_ptr<machine::DeviceSpace> window, std::uint64_t space_id,
      std::function<void(machine::AddressSpace&, machine::Task&)> ended);
  Device& device() { return device_; }
  machine::AddressSpace& space();
  /// Of images in the memory that the client fills. @errors invalid, out_of_memory, as Device's
  Result<std::uint64_t> add_texture(const Image& image, const Sampler& sampler);
  Result<std::uint64_t> add_surface(const Image& image);
  void release(machine::Task& task) { space().tasks().release(&task); }

 private:
  Result<void> check_image(const Image& image);
  explicit ServedDevice(Device device) : device_(std::move(device)) {}
  Device device_;
};

/// How a kernel was compiled.
struct ServedCode {
  exec::BlockKind kind;
  std::uint32_t local_bytes = 0;
  exec::CodeStatistics statistics;
};

/// A launch by numbers.
struct ServedLaunch {
  std::uint64_t number = 0;  ///< the client's
  LaunchConfig config;       ///< counted in blocks; `stream` is of no meaning
  std::span<const std::byte> parameters;
  machine::Task* behind = nullptr;  ///< starts after this one's end, or trigger; null: at once
};

/// It outlives its launches, which whoever launches sees to.
class ServedModule {
 public:
  /// @param addresses  by VariableId; variables that need none have 0
  /// @errors invalid: an address outside of what the client fills, or their number
  static Result<std::unique_ptr<ServedModule>> load(ServedDevice& device, const Program& program,
                                                    std::span<const std::uint64_t> addresses);
  ~ServedModule();
  ServedDevice& device() { return device_; }
  /// @errors invalid: no such kernel; unsupported: it cannot run
  Result<ServedCode> compile(std::uint64_t kernel, Dim3 block, bool clustered);
  /// Submits a launch of a kernel that was compiled for its shape; never waits for a compilation.
  /// @returns the task, with a reference for the caller to release
  /// @errors invalid: it was not compiled, or what the launch asks for; what the device refuses
  Result<machine::Task*> launch(std::uint64_t kernel, const ServedLaunch& launch);

 private:
  ServedModule(ServedDevice& device, std::unique_ptr<Module::Impl> module);
  ServedDevice& device_;
  const std::unique_ptr<Module::Impl> module_;
};

}  // namespace raddle
