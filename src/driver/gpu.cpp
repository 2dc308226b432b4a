#include "driver/gpu.h"

#include <algorithm>

#include "driver/entry.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

DeviceOptions answering_for(Gpu& gpu, DeviceOptions options) {
  options.attribute = [&gpu](int which) -> std::optional<int> {
    int value = 0;
    return entry::cuDeviceGetAttribute(&value, which, gpu).ok() ? std::optional(value) : std::nullopt;
  };
  return options;
}

}  // namespace

Gpu::Gpu(CUdevice as, unsigned in, MachineShape of, DeviceOptions wanted, std::uint64_t bytes)
    : number(as),
      slot(in),
      shape(std::move(of)),
      options(answering_for(*this, std::move(wanted))),
      memory_bytes(bytes) {}

std::uint64_t Gpu::memory_available() const {
  std::uint64_t used = shared_.used() + physical_bytes + Residency::bytes_at(machine::processor_of(index()));
  for (const auto& each : Process::instance().contexts.all())
    if (&each->gpu == this) used += each->device.memory_used();
  return memory_bytes - std::min(memory_bytes, used);
}

Result<DevicePtr> Gpu::allocate_shared(std::uint64_t bytes) {
  const std::uint64_t available = memory_available();
  if (bytes > available)
    return Error::make(ErrorCode::out_of_memory, "{} bytes wanted, {} left", bytes, available);
  return shared_.allocate(bytes);
}

Result<std::shared_ptr<Context>> Gpu::retain_primary() {
  const std::lock_guard lock(mutex_);
  if (primary_ == nullptr) {
    TRY_ASSIGN(primary_, Process::instance().create_context(*this, primary_flags));
  }
  ++primary_uses_;
  return primary_;
}

Status Gpu::release_primary() {
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard lock(mutex_);
    if (primary_uses_ == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_uses_ == 0) ended.swap(primary_);
  }
  if (ended != nullptr) Process::instance().destroy_context(ended);
  return CUDA_SUCCESS;
}

void Gpu::reset_primary() {
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(primary_);
    primary_uses_ = 0;
  }
  if (ended != nullptr) Process::instance().destroy_context(ended);
}

bool Gpu::primary_active() {
  const std::lock_guard lock(mutex_);
  return primary_ != nullptr;
}

std::shared_ptr<Pool> Gpu::default_pool() {
  const std::lock_guard lock(mutex_);
  if (default_pool_ == nullptr) {
    const CUmemPoolProps props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, number}};
    default_pool_ = std::make_shared<Pool>(*this, props, Pool::of_place, device_source(*this), bit());
    Process::instance().pools.add(default_pool_);
  }
  return default_pool_;
}

std::shared_ptr<Pool> Gpu::pool_in_use() {
  const auto chosen = Process::instance().pools.find(chosen_pool);
  return chosen != nullptr ? chosen : default_pool();
}

}  // namespace raddle::driver
