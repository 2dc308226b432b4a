// See include/raddle/graph/cuda_export.h.
#include "raddle/graph/cuda_export.h"

#include <fmt/format.h>

#include "graph/cuda/graph_writer.h"

namespace raddle::graph {

struct CudaExport::Impl {
  explicit Impl(const cuda::Calls& found) : objects(found) {}
  ~Impl() {
    for (const unsigned long long address : memory) (void)objects.calls.cuMemFree_v2(address);
  }

  CudaObjects objects;
  std::map<std::string, std::uint64_t> bound;
  std::vector<unsigned long long> memory;
  HostFunctions functions;

  Result<std::vector<DevicePtr>> addresses(const Schedule& schedule);
};

Result<std::vector<DevicePtr>> CudaExport::Impl::addresses(const Schedule& schedule) {
  const auto resources = schedule.graph->resources();
  std::vector<DevicePtr> places(resources.size());
  unsigned long long transient = 0;
  if (schedule.peak_bytes != 0) {
    TRY(objects.calls.check(objects.calls.cuMemAlloc_v2(&transient, schedule.peak_bytes), "cuMemAlloc"));
    memory.push_back(transient);
  }
  for (const Placement& placement : schedule.placements)
    places[placement.resource] = DevicePtr{transient + placement.offset};
  for (const PassInfo& pass : schedule.graph->passes()) {
    for (const Access& access : pass.accesses) {
      const ResourceInfo& info = resources[access.view.resource.index];
      if (info.origin == Origin::transient) continue;
      if (info.origin == Origin::temporal)
        return info.line.error(
            ErrorCode::unsupported,
            fmt::format("'{}' is temporal: a CUDA graph has the same memory in each run", info.name));
      const auto found = bound.find(info.name);
      if (found == bound.end())
        return info.line.error(ErrorCode::not_found, fmt::format("no memory is bound to '{}'", info.name));
      places[access.view.resource.index] = DevicePtr{found->second};
    }
  }
  return places;
}

CudaExport::CudaExport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudaExport::~CudaExport() = default;
CudaExport::CudaExport(CudaExport&&) noexcept = default;
CudaExport& CudaExport::operator=(CudaExport&&) noexcept = default;

Result<CudaExport> CudaExport::open(const std::string& library) {
  TRY_ASSIGN(const cuda::Calls calls, cuda::Calls::of(library));
  return CudaExport(std::make_unique<Impl>(calls));
}

void CudaExport::bind(const std::string& name, std::uint64_t address) { impl_->bound[name] = address; }

Result<void*> CudaExport::make(const Schedule& schedule) {
  TRY_ASSIGN(const auto addresses, impl_->addresses(schedule));
  return write_graph(impl_->objects, impl_->functions, schedule, addresses);
}

}  // namespace raddle::graph
