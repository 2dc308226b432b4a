// Graphs on a real GPU, by its driver (G-19e): each schedule is a CUDA graph, whose events say what its
// passes have taken.
#pragma once

#include "graph/cuda/graph_writer.h"
#include "graph/execution/backend.h"
#include "raddle/graph/target.h"

namespace raddle::graph::cuda {

class GpuBackend final : public Backend {
 public:
  /// The first GPU of the machine, in its primary context.
  /// @param driver  its library; empty: RADDLE_GPU_DRIVER, or where distributions put NVIDIA's
  /// @errors not_found: no driver, or no GPU
  static Result<std::unique_ptr<GpuBackend>> open(const std::string& driver);
  ~GpuBackend() override;

  Target target() const;
  Memory& memory() override;
  Result<std::vector<MeasuredTimes>> run(std::shared_ptr<const Schedule> schedule,
                                         std::vector<DevicePtr> addresses) override;
  Result<void> call(const std::function<void()>& function) override;
  std::uint64_t plans() const override;

  struct Impl;

 private:
  explicit GpuBackend(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace raddle::graph::cuda
