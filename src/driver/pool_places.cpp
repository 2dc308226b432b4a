// See pool_places.h.
#include "driver/pool_places.h"

#include <map>
#include <mutex>
#include <tuple>

#include "driver/entry.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

/// The host has one node of memory, as CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID says.
constexpr int kHostNode = 0;

/// A place that pools may have, without what the manual ignores of it.
Answer<CUmemLocation> check_place(CUmemLocation location, CUmemAllocationType type) {
  if (type != ALLOCATION_PINNED && type != ALLOCATION_MANAGED) return CUDA_ERROR_INVALID_VALUE;
  switch (location.type) {
    case LOCATION_DEVICE:
      TRY(check_device(location.id));
      return location;
    case LOCATION_HOST:
      return CUmemLocation{LOCATION_HOST, 0};
    case LOCATION_HOST_NUMA:
      if (location.id != kHostNode) return CUDA_ERROR_INVALID_VALUE;
      return location;
    case LOCATION_INVALID:  // no preferred one
      if (type != ALLOCATION_MANAGED) return CUDA_ERROR_INVALID_VALUE;
      return CUmemLocation{LOCATION_INVALID, 0};
    case LOCATION_HOST_NUMA_CURRENT:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool is_of_device(CUmemLocation place, CUmemAllocationType type) {
  return type == ALLOCATION_PINNED && place.type == LOCATION_DEVICE;
}

/// The device that counts the memory; the first for places that are none.
Gpu& gpu_of(CUmemLocation place) {
  return Process::instance().gpu(place.type == LOCATION_DEVICE ? place.id : 0);
}

/// The pools of places other than devices, which have their own.
class Places {
 public:
  static Places& instance() {
    static Places& places = *new Places;
    return places;
  }
  Answer<std::shared_ptr<Pool>> standard(CUmemLocation place, CUmemAllocationType type) {
    const std::lock_guard lock(mutex_);
    auto& pool = of(place, type).standard;
    if (pool == nullptr) {
      TRY_ASSIGN(pool, make_pool({type, HANDLE_TYPE_NONE, place}, Pool::of_place));
      Process::instance().pools.add(pool);
    }
    return pool;
  }
  std::shared_ptr<Pool> chosen(CUmemLocation place, CUmemAllocationType type) {
    const std::lock_guard lock(mutex_);
    return Process::instance().pools.find(of(place, type).chosen);
  }
  void choose(CUmemLocation place, CUmemAllocationType type, CUmemoryPool pool) {
    const std::lock_guard lock(mutex_);
    of(place, type).chosen = pool;
  }

 private:
  struct Pools {
    std::shared_ptr<Pool> standard;
    CUmemoryPool chosen = nullptr;
  };
  Pools& of(CUmemLocation place, CUmemAllocationType type) { return pools_[{type, place.type, place.id}]; }

  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, Pools> pools_;
};

}  // namespace

Answer<std::shared_ptr<PoolSource>> source_for(CUmemPoolProps& props) {
  TRY_ASSIGN(props.location, check_place(props.location, props.allocType));
  // Neither managed memory nor the host's without a node is for other processes.
  const bool is_private = props.allocType == ALLOCATION_MANAGED || props.location.type == LOCATION_HOST;
  if (is_private && props.handleTypes != HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
  if ((props.handleTypes & ~HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (props.allocType == ALLOCATION_MANAGED) {
    props.maxSize = 0;
    return managed_source(gpu_of(props.location), props.location);
  }
  if (props.location.type != LOCATION_DEVICE) return host_source();
  return device_source(gpu_of(props.location));
}

Answer<std::shared_ptr<Pool>> make_pool(const CUmemPoolProps& wanted, Pool::Kind kind) {
  CUmemPoolProps props = wanted;
  TRY_ASSIGN(auto source, source_for(props));
  Gpu& gpu = gpu_of(props.location);
  const std::uint64_t may_access = props.allocType == ALLOCATION_MANAGED    ? kAllDevices
                                   : props.location.type == LOCATION_DEVICE ? gpu.bit()
                                                                            : kNoDevice;
  return std::make_shared<Pool>(gpu, props, kind, std::move(source), may_access);
}

namespace entry {

Status cuMemGetDefaultMemPool(CUmemoryPool* handle, CUmemLocation* location, CUmemAllocationType type) {
  TRY_ASSIGN(const CUmemLocation place, check_place(*location, type));
  if (is_of_device(place, type)) return cuDeviceGetDefaultMemPool(handle, Process::instance().gpu(place.id));
  TRY_ASSIGN(const auto pool, Places::instance().standard(place, type));
  *handle = pool->handle;
  return CUDA_SUCCESS;
}

Status cuMemGetMemPool(CUmemoryPool* handle, CUmemLocation* location, CUmemAllocationType type) {
  TRY_ASSIGN(const CUmemLocation place, check_place(*location, type));
  if (is_of_device(place, type)) return cuDeviceGetMemPool(handle, Process::instance().gpu(place.id));
  if (const auto chosen = Places::instance().chosen(place, type))
    return *handle = chosen->handle, CUDA_SUCCESS;
  return cuMemGetDefaultMemPool(handle, location, type);
}

// The pool has to be of this place: other allocations would come from where nobody expects them.
Status cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, In<Pool> pool) {
  TRY_ASSIGN(const CUmemLocation place, check_place(*location, type));
  const CUmemPoolProps& props = pool->props;
  if (props.allocType != type || props.location.type != place.type || props.location.id != place.id)
    return CUDA_ERROR_INVALID_VALUE;
  if (is_of_device(place, type)) return cuDeviceSetMemPool(Process::instance().gpu(place.id), pool);
  Places::instance().choose(place, type, pool->handle);
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
