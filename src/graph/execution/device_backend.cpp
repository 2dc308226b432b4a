#include "graph/execution/device_backend.h"

#include "graph/execution/plan.h"

namespace raddle::graph {
namespace {

class RaddleMemory final : public Memory {
 public:
  explicit RaddleMemory(Device& device) : device_(device) {}
  Result<DevicePtr> allocate(std::uint64_t bytes) override { return device_.allocate(bytes); }
  void free(DevicePtr address) override { (void)device_.free(address); }
  Result<void> clear(DevicePtr address, std::uint64_t bytes) override {
    return device_.fill(address, 0, bytes);
  }
  Result<void> read(void* to, DevicePtr from, std::uint64_t bytes) override {
    return device_.read(to, from, bytes);
  }
  Result<void> write(DevicePtr to, const void* from, std::uint64_t bytes) override {
    return device_.write(to, from, bytes);
  }
  std::optional<Piece> region(DevicePtr address) const override {
    const std::optional<Region> region = device_.region(address);
    return region ? std::optional(Piece{region->address, region->bytes}) : std::nullopt;
  }
  std::uint64_t free_bytes() const override {
    const std::uint64_t all = device_.properties().memory_bytes;
    return all - std::min(device_.memory_used(), all);
  }

 private:
  Device& device_;
};

class DeviceBackend final : public Backend {
 public:
  DeviceBackend(Device& device, Stream stream, Stream bodies)
      : device_(device),
        memory_(device),
        modules_(device),
        stream_(std::move(stream)),
        bodies_(std::move(bodies)) {}

  Memory& memory() override { return memory_; }
  Result<std::vector<MeasuredTimes>> run(std::shared_ptr<const Schedule> schedule,
                                         std::vector<DevicePtr> addresses) override {
    TRY_ASSIGN(Plan* const plan, plans_.find(schedule, addresses, [&] {
      return Plan::make(device_, modules_, bodies_, schedule, addresses);
    }));
    TRY(plan->run(stream_));
    return plan->times();
  }
  Result<void> call(const std::function<void()>& function) override {
    stream_.call(function);
    return stream_.synchronize();
  }
  std::uint64_t plans() const override { return plans_.made(); }

 private:
  Device& device_;
  RaddleMemory memory_;
  Modules modules_;
  Stream stream_, bodies_;
  PlanCache<Plan> plans_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_device_backend(Device& device) {
  TRY_ASSIGN(Stream stream, device.stream());
  TRY_ASSIGN(Stream bodies, device.stream());
  return std::unique_ptr<Backend>(
      std::make_unique<DeviceBackend>(device, std::move(stream), std::move(bodies)));
}

}  // namespace raddle::graph
