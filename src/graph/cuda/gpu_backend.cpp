#include "graph/cuda/gpu_backend.h"

#include <algorithm>

#include "base/gpu_driver.h"

namespace raddle::graph::cuda {
namespace {

/// The primary context of a device, while it is wanted; and as the thread's current one.
class Context {
 public:
  Context(const Calls& calls, int device, void* context)
      : calls_(calls), device_(device), context_(context) {}
  ~Context() { (void)calls_.cuDevicePrimaryCtxRelease_v2(device_); }
  Context(const Context&) = delete;

  class Current {
   public:
    explicit Current(const Context& context) : calls_(context.calls_) {
      (void)calls_.cuCtxPushCurrent_v2(context.context_);
    }
    ~Current() {
      void* popped = nullptr;
      (void)calls_.cuCtxPopCurrent_v2(&popped);
    }
    Current(const Current&) = delete;

   private:
    const Calls& calls_;
  };
  Current use() const { return Current(*this); }
  int device() const { return device_; }

 private:
  const Calls& calls_;
  const int device_;
  void* const context_;
};

class GpuMemory final : public Memory {
 public:
  GpuMemory(const Calls& calls, const Context& context) : calls_(calls), context_(context) {}
  Result<DevicePtr> allocate(std::uint64_t bytes) override {
    const auto current = context_.use();
    unsigned long long address = 0;
    if (auto made = calls_.check(calls_.cuMemAlloc_v2(&address, bytes), "cuMemAlloc"); !made.ok())
      return Error::make(ErrorCode::out_of_memory, "{} bytes: {}", bytes, made.error().message);
    return DevicePtr{address};
  }
  void free(DevicePtr address) override {
    const auto current = context_.use();
    (void)calls_.cuMemFree_v2(address.value);
  }
  Result<void> clear(DevicePtr address, std::uint64_t bytes) override {
    const auto current = context_.use();
    return calls_.check(calls_.cuMemsetD8_v2(address.value, 0, bytes), "cuMemsetD8");
  }
  Result<void> read(void* to, DevicePtr from, std::uint64_t bytes) override {
    const auto current = context_.use();
    return calls_.check(calls_.cuMemcpyDtoH_v2(to, from.value, bytes), "cuMemcpyDtoH");
  }
  Result<void> write(DevicePtr to, const void* from, std::uint64_t bytes) override {
    const auto current = context_.use();
    return calls_.check(calls_.cuMemcpyHtoD_v2(to.value, from, bytes), "cuMemcpyHtoD");
  }
  std::optional<Piece> region(DevicePtr address) const override {
    const auto current = context_.use();
    unsigned long long base = 0;
    std::size_t bytes = 0;
    if (calls_.cuMemGetAddressRange_v2(&base, &bytes, address.value) != 0) return std::nullopt;
    return Piece{DevicePtr{base}, bytes};
  }
  std::uint64_t free_bytes() const override {
    const auto current = context_.use();
    std::size_t free = 0, all = 0;
    return calls_.cuMemGetInfo_v2(&free, &all) == 0 ? free : 0;
  }

 private:
  const Calls& calls_;
  const Context& context_;
};

/// A schedule as an executable CUDA graph. Its context is current at each call.
class GpuPlan {
 public:
  static Result<std::unique_ptr<GpuPlan>> make(CudaObjects& objects, std::shared_ptr<const Schedule> schedule,
                                               std::vector<DevicePtr> addresses) {
    std::unique_ptr<GpuPlan> plan(new GpuPlan(objects));
    const Calls& calls = objects.calls;
    plan->events_.ends.resize(schedule->nodes.size());
    TRY(calls.check(calls.cuEventCreate(&plan->events_.start, 0), "cuEventCreate"));
    for (void*& event : plan->events_.ends) TRY(calls.check(calls.cuEventCreate(&event, 0), "cuEventCreate"));
    TRY(plan->write(*schedule, addresses, [&](void* graph) {
      return calls.check(calls.cuGraphInstantiateWithFlags(&plan->exec_, graph, 0), "cuGraphInstantiate");
    }));
    plan->schedule_ = std::move(schedule), plan->addresses_ = std::move(addresses);
    return plan;
  }
  ~GpuPlan() {
    if (exec_ != nullptr) (void)calls_.cuGraphExecDestroy(exec_);
    if (events_.start != nullptr) (void)calls_.cuEventDestroy_v2(events_.start);
    for (void* const event : events_.ends)
      if (event != nullptr) (void)calls_.cuEventDestroy_v2(event);
  }
  GpuPlan(const GpuPlan&) = delete;

  bool update(std::shared_ptr<const Schedule> schedule, std::vector<DevicePtr> addresses) {
    const auto updated = write(*schedule, addresses, [&](void* graph) {
      GraphUpdate why{};
      return calls_.check(calls_.cuGraphExecUpdate_v2(exec_, graph, &why), "cuGraphExecUpdate");
    });
    schedule_ = std::move(schedule), addresses_ = std::move(addresses);
    return updated.ok();
  }

  Result<void> run(void* stream) {
    TRY(calls_.check(calls_.cuGraphLaunch(exec_, stream), "cuGraphLaunch"));
    return calls_.check(calls_.cuStreamSynchronize(stream), "a run of the graph");
  }

  /// A node begins when what it waits for has ended.
  Result<std::vector<MeasuredTimes>> times() const {
    std::vector<MeasuredTimes> times(events_.ends.size());
    for (std::uint32_t node = 0; node < times.size(); ++node) {
      for (const Edge& edge : schedule_->edges_of(node))
        times[node].begin = std::max(times[node].begin, times[edge.from].end);
      float milliseconds = 0;
      TRY(calls_.check(calls_.cuEventElapsedTime(&milliseconds, events_.start, events_.ends[node]),
                       "cuEventElapsedTime"));
      times[node].end = std::max(times[node].begin, milliseconds * 1e6);
    }
    return times;
  }

  const Schedule& schedule() const { return *schedule_; }
  const std::vector<DevicePtr>& addresses() const { return addresses_; }

 private:
  explicit GpuPlan(CudaObjects& objects) : objects_(objects), calls_(objects.calls) {}

  /// @param use  of the CUgraph, which is gone then: (void*) -> Result<void>
  template <class Use>
  Result<void> write(const Schedule& schedule, std::span<const DevicePtr> addresses, const Use& use) {
    HostFunctions functions;
    TRY_ASSIGN(void* const graph, write_graph(objects_, functions, schedule, addresses, &events_));
    const Result<void> used = use(graph);
    (void)calls_.cuGraphDestroy(graph);
    functions_ = std::move(functions);
    return used;
  }

  CudaObjects& objects_;
  const Calls& calls_;
  std::shared_ptr<const Schedule> schedule_;
  std::vector<DevicePtr> addresses_;
  RunEvents events_;
  HostFunctions functions_;
  void* exec_ = nullptr;
};

}  // namespace

struct GpuBackend::Impl {
  Impl(const Calls& found, int device, void* primary)
      : calls(found), context(calls, device, primary), memory(calls, context) {
    const auto current = context.use();
    objects.emplace(calls);
    plans.emplace();
  }
  ~Impl() {
    const auto current = context.use();
    plans.reset();
    objects.reset();
    if (stream != nullptr) (void)calls.cuStreamDestroy_v2(stream);
  }
  std::uint32_t attribute(Attribute which, std::uint32_t otherwise) const {
    int value = 0;
    const bool known = calls.cuDeviceGetAttribute(&value, which, context.device()) == 0 && value > 0;
    return known ? static_cast<std::uint32_t>(value) : otherwise;
  }

  const Calls calls;
  const Context context;
  GpuMemory memory;
  std::optional<CudaObjects> objects;
  std::optional<PlanCache<GpuPlan>> plans;
  void* stream = nullptr;
};

GpuBackend::GpuBackend(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuBackend::~GpuBackend() = default;

Result<std::unique_ptr<GpuBackend>> GpuBackend::open(const std::string& driver) {
  void* library = nullptr;
  if (driver.empty()) {
    library = open_gpu_driver(reinterpret_cast<const void*>(&GpuBackend::open));
    if (library == nullptr)
      return Error::make(ErrorCode::not_found,
                         "target gpu: this machine has no driver of a GPU (RADDLE_GPU_DRIVER names one)");
  }
  TRY_ASSIGN(const Calls calls,
             library != nullptr ? Calls::of(library, "the GPU's driver") : Calls::of(driver));
  int count = 0, device = 0;
  if (calls.cuInit(0) != 0 || calls.cuDeviceGetCount(&count) != 0 || count == 0)
    return Error::make(ErrorCode::not_found, "target gpu: the driver knows no GPU");
  void* context = nullptr;
  TRY(calls.check(calls.cuDeviceGet(&device, 0), "cuDeviceGet"));
  TRY(calls.check(calls.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"));
  auto impl = std::make_unique<Impl>(calls, device, context);
  const auto current = impl->context.use();
  TRY(calls.check(calls.cuStreamCreate(&impl->stream, 0), "cuStreamCreate"));
  return std::unique_ptr<GpuBackend>(new GpuBackend(std::move(impl)));
}

Target GpuBackend::target() const {
  constexpr double kTransfersPerCycle = 2, kBitsPerByte = 8, kKilohertz = 1e-6;  // to bytes a nanosecond
  Target target;
  target.kind = Target::Kind::gpu;
  char name[256] = "GPU";
  (void)impl_->calls.cuDeviceGetName(name, sizeof name, impl_->context.device());
  target.name = name;
  target.sm_count = impl_->attribute(kSmCount, target.sm_count);
  target.threads_per_sm = impl_->attribute(kThreadsPerSm, target.threads_per_sm);
  target.blocks_per_sm = impl_->attribute(kBlocksPerSm, target.blocks_per_sm);
  target.registers_per_sm = impl_->attribute(kRegistersPerSm, target.registers_per_sm);
  target.shared_bytes_per_sm =
      impl_->attribute(kSharedBytesPerSm, static_cast<std::uint32_t>(target.shared_bytes_per_sm));
  target.copy_engines = impl_->attribute(kCopyEngines, 1);
  target.bytes_per_nanosecond = std::max(kTransfersPerCycle * impl_->attribute(kMemoryClock, 0) *
                                             impl_->attribute(kMemoryBusWidth, 0) / kBitsPerByte * kKilohertz,
                                         target.bytes_per_nanosecond);
  target.memory_bytes = impl_->memory.free_bytes();
  target.workers = target.sm_count * 128;  // lanes
  target.has_graphics = target.has_parts_of_grids = false;
  return target;
}

Memory& GpuBackend::memory() { return impl_->memory; }

Result<std::vector<MeasuredTimes>> GpuBackend::run(std::shared_ptr<const Schedule> schedule,
                                                   std::vector<DevicePtr> addresses) {
  const auto current = impl_->context.use();
  TRY_ASSIGN(GpuPlan* const plan, impl_->plans->find(schedule, addresses, [&] {
    return GpuPlan::make(*impl_->objects, schedule, addresses);
  }));
  TRY(plan->run(impl_->stream));
  return plan->times();
}

Result<void> GpuBackend::call(const std::function<void()>&) {
  return Error::unsupported("on a real GPU the program and the scheduler stand on the host's side");
}

std::uint64_t GpuBackend::plans() const { return impl_->plans->made(); }

}  // namespace raddle::graph::cuda
