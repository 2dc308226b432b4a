// A task graph as a CUDA graph (G-16d): the passes in a schedule's order, as nodes of a CUgraph that any CUDA
// program can instantiate, by whatever libcuda.so.1 the process has: Raddle's, or the driver of a GPU.
//
//   auto cuda = CudaExport::open("libcuda.so.1").value();  // with a current context
//   cuda.bind("out", device_pointer);
//   CUgraph graph = static_cast<CUgraph>(cuda.make(*executor.schedule(passes).value()).value());
#pragma once

#include <memory>
#include <string>

#include "raddle/graph/schedule.h"

namespace raddle::graph {

/// What is exported uses its modules and its memory, so it has to outlive them. For one thread at a time.
class CudaExport {
 public:
  /// @param library  path or name of the driver. @errors not_found: it is not there, or lacks a call that is
  /// needed
  static Result<CudaExport> open(const std::string& library = "libcuda.so.1");
  ~CudaExport();
  CudaExport(CudaExport&&) noexcept;
  CudaExport& operator=(CudaExport&&) noexcept;

  /// The memory of a bound resource, by name: a CUdeviceptr of the current context.
  void bind(const std::string& name, std::uint64_t address);
  /// @returns the CUgraph, which is the caller's. Its transient memory lies where the schedule says, in one
  /// allocation.
  /// @errors not_found: a bound resource without memory; unsupported: names the pass and what CUDA graphs
  /// have not (draws, bodies, textures and surfaces, temporal resources, clusters of clusters); invalid: what
  /// a call of CUDA said
  Result<void*> make(const Schedule& schedule);

  struct Impl;

 private:
  explicit CudaExport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace raddle::graph
