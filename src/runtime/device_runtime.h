// The runtime's side of kernels that launch kernels.
#pragma once

#include "machine/services/device_runtime.h"
#include "raddle/raddle.h"

namespace raddle {

class DeviceRuntime final : public machine::DeviceRuntimeClient {
 public:
  explicit DeviceRuntime(Device::Impl& device) : device_(device) {}
  std::optional<machine::DeviceError> prepare(const machine::ChildLaunch& launch, machine::Task& child,
                                              bool may_compile) override;
  machine::DeviceError blocks_per_sm(const machine::ChildLaunch& launch, std::uint32_t& blocks) override;
  std::optional<int> attribute(int which) override;
  std::optional<std::uint64_t> limit(int which) override;

 private:
  Device::Impl& device_;
};

}  // namespace raddle
