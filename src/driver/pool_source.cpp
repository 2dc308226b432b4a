// See pool_source.h.
#include "driver/pool_source.h"

#include <map>
#include <mutex>

#include "driver/advice.h"
#include "driver/managed.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

class DeviceSource final : public PoolSource {
 public:
  explicit DeviceSource(Gpu& gpu) : gpu_(gpu) {}
  Result<DevicePtr> allocate(std::uint64_t bytes) override { return gpu_.allocate_shared(bytes); }
  void free(DevicePtr address) override { gpu_.free_shared(address); }
  Result<FilePages> share(DevicePtr address) override { return gpu_.share(address); }
  MemoryKind kind() const override { return MemoryKind::pooled; }

 private:
  Gpu& gpu_;
};

class HostSource final : public PoolSource {
 public:
  Result<DevicePtr> allocate(std::uint64_t bytes) override { return memory().allocate(bytes); }
  void free(DevicePtr address) override { (void)memory().free(address); }
  Result<FilePages> share(DevicePtr address) override { return memory().share(address); }
  MemoryKind kind() const override { return MemoryKind::host; }

 private:
  // Of all such pools, and of no device: it counts in no cuMemGetInfo.
  static DeviceMemory& memory() { return Process::instance().pinned; }
};

class ManagedSource final : public PoolSource {
 public:
  ManagedSource(Gpu& gpu, CUmemLocation preferred) : gpu_(gpu), preferred_(preferred) {}

  Result<DevicePtr> allocate(std::uint64_t bytes) override {
    TRY_ASSIGN(auto pages, ManagedPages::allocate(gpu_, bytes));
    const DevicePtr address{pages->address()};
    const std::lock_guard lock(mutex_);
    blocks_.emplace(address.value, std::shared_ptr(std::move(pages)));
    return address;
  }

  void free(DevicePtr address) override {
    const std::lock_guard lock(mutex_);
    blocks_.erase(address.value);
  }

  Result<FilePages> share(DevicePtr) override {
    return Error::make(ErrorCode::unsupported, "managed memory belongs to one process");
  }

  MemoryKind kind() const override { return MemoryKind::managed; }

  std::shared_ptr<Residency> residency(DevicePtr address) override {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address.value);
    if (found == blocks_.end()) return nullptr;
    return {found->second, &found->second->residency()};
  }

  void hand_out(DevicePtr address, std::uint64_t bytes) override {
    Advice::instance().forget(address.value, bytes);
    if (preferred_.type != LOCATION_INVALID)
      prefer_location(address.value, bytes, preferred_, residency(address).get());
  }

 private:
  Gpu& gpu_;
  const CUmemLocation preferred_;
  std::mutex mutex_;
  std::map<CUdeviceptr, std::shared_ptr<ManagedPages>> blocks_;
};

}  // namespace

std::shared_ptr<PoolSource> device_source(Gpu& gpu) { return std::make_shared<DeviceSource>(gpu); }
std::shared_ptr<PoolSource> host_source() { return std::make_shared<HostSource>(); }
std::shared_ptr<PoolSource> managed_source(Gpu& gpu, CUmemLocation preferred) {
  return std::make_shared<ManagedSource>(gpu, preferred);
}

}  // namespace raddle::driver
