// A schedule as nodes of a CUDA graph. A pass becomes a chain of nodes behind what it waits for in the
// schedule.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/cuda/calls.h"
#include "raddle/graph/schedule.h"

namespace raddle::graph {

/// What CUDA graphs use of a context: modules, for now. For one context, which is current at each call.
class CudaObjects {
 public:
  explicit CudaObjects(const cuda::Calls& found) : calls(found) {}
  ~CudaObjects();
  CudaObjects(const CudaObjects&) = delete;
  /// Loads the program if it is the first kernel of it. @errors unsupported: a program of several texts
  Result<void*> function_of(const KernelCode& code);

  const cuda::Calls calls;

 private:
  std::map<std::shared_ptr<const Program>, void*> modules_;
};

/// Functions that host nodes call; they outlive the graph.
using HostFunctions = std::vector<std::unique_ptr<std::function<void()>>>;

/// Events that are recorded in each run: one at its start, and one at the end of each node of the schedule.
struct RunEvents {
  void* start = nullptr;
  std::vector<void*> ends;
};

/// @param addresses  by resource
/// @param events     null: none are wanted
/// @returns the CUgraph, which is the caller's
/// @errors unsupported: names the pass and what CUDA graphs have not; invalid: what a call of CUDA said
Result<void*> write_graph(CudaObjects& objects, HostFunctions& functions, const Schedule& schedule,
                          std::span<const DevicePtr> addresses, const RunEvents* events = nullptr);

}  // namespace raddle::graph
