// A device in a process of its own: a kernel that faults, hangs or takes the driver with it costs that
// process, and the next kernel runs in a new one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "hardware/cuda_device.h"

namespace raddle::testing {

/// The process that makes one must not use CUDA itself while it exists: what a driver has does not survive
/// fork().
class WorkerDevice final : public Device {
 public:
  /// @errors not_found: no library, or no device behind it
  static Result<std::unique_ptr<WorkerDevice>> open();
  ~WorkerDevice() override { stop(); }
  std::string run(const DeviceRun& run) override;
  const CudaIdentity& identity() const { return identity_; }

 private:
  /// @returns "" or why there is no device
  std::string start();
  std::string stop();

  CudaIdentity identity_;
  pid_t worker_ = -1;
  int socket_ = -1;
};

}  // namespace raddle::testing
