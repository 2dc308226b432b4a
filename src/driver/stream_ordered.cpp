// Stream-ordered allocation and the calls on pools.
#include "driver/entry.h"
#include "driver/ipc.h"
#include "driver/pool.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

struct PooledMemory final : Memory {
  PooledMemory(std::shared_ptr<Pool> owner, Pool::Block taken, std::size_t wanted)
      : from(std::move(owner)), block(taken) {
    kind = MemoryKind::pooled;
    base = taken.address.value;
    bytes = wanted;
  }
  CUmemoryPool pool() const override { return from->handle; }
  unsigned long long handle_types() const override {
    return static_cast<unsigned long long>(from->props.handleTypes);
  }

  const std::shared_ptr<Pool> from;
  const Pool::Block block;
};

CUresult find_pool(CUmemoryPool handle, std::shared_ptr<Pool>& pool) {
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  pool = Process::instance().pools.find(handle);
  return pool != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Pools are device memory of the one device; those of the host and of managed memory are not there.
CUresult check_place(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  if (type == ALLOCATION_MANAGED || location->type == LOCATION_HOST || location->type == LOCATION_HOST_NUMA ||
      location->type == LOCATION_HOST_NUMA_CURRENT)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (type != ALLOCATION_PINNED || location->type != LOCATION_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return check_device(location->id);
}

CUresult allocate(CUdeviceptr* address, std::size_t bytes, const std::shared_ptr<Pool>& pool,
                  CUstream handle) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  if (pool->kind == Pool::imported)
    return CUDA_ERROR_INVALID_VALUE;  // its memory is another process's to give
  stream->order();
  const Result<Pool::Block> block = pool->take(context, *stream, bytes);
  if (!block) return result_of(block.error());
  const auto added = Process::instance().memory.add(std::make_shared<PooledMemory>(pool, *block, bytes));
  if (!added) return result_of(added.error());
  *address = block->address.value;
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<Pool> pool_of(CUdeviceptr address) {
  const auto found = Process::instance().memory.find(address);
  const bool is_pooled = found != nullptr && found->base == address && found->kind == MemoryKind::pooled;
  return is_pooled ? static_cast<const PooledMemory&>(*found).from : nullptr;
}

bool free_pooled(CUdeviceptr address, Context* context, Stream* stream) {
  MemoryTable& table = Process::instance().memory;
  const auto found = table.find(address);
  if (found == nullptr || found->base != address || found->kind != MemoryKind::pooled) return false;
  if (table.remove(address) != found) return false;  // another thread was faster
  const auto& pooled = static_cast<const PooledMemory&>(*found);
  pooled.from->give_back(pooled.block, pooled.bytes, context, stream);
  return true;
}

namespace entry {

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  std::shared_ptr<Pool> pool;
  CUmemoryPool handle = nullptr;
  if (const CUresult result = cuDeviceGetMemPool(&handle, 0); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_pool(handle, pool); result != CUDA_SUCCESS) return result;
  return allocate(address, bytes, pool, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool handle,
                                 CUstream stream) {
  std::shared_ptr<Pool> pool;
  const CUresult result = find_pool(handle, pool);
  return result != CUDA_SUCCESS ? result : allocate(address, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(handle, context, stream); result != CUDA_SUCCESS) return result;
  stream->order();
  if (free_pooled(address, context.get(), stream.get())) return CUDA_SUCCESS;
  return free_imported(address, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* props) {
  if (handle == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_place(&props->location, props->allocType); result != CUDA_SUCCESS)
    return result;
  if ((props->handleTypes & ~HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  for (const unsigned char each : props->reserved)
    if (each != 0) return CUDA_ERROR_INVALID_VALUE;
  auto pool = std::make_shared<Pool>(*props);
  *handle = pool->handle = Process::instance().pools.add<CUmemoryPool>(pool);
  return CUDA_SUCCESS;
}

// What is allocated keeps the pool.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = find_pool(handle, pool); result != CUDA_SUCCESS) return result;
  if (pool->kind == Pool::of_device) return CUDA_ERROR_INVALID_VALUE;
  return Process::instance().pools.remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, std::size_t bytes_to_keep) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = find_pool(handle, pool); result != CUDA_SUCCESS) return result;
  pool->release(bytes_to_keep);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  const CUresult result = find_pool(handle, pool);
  return result != CUDA_SUCCESS ? result
         : value == nullptr     ? CUDA_ERROR_INVALID_VALUE
                                : pool->get(attribute, value);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  std::shared_ptr<Pool> pool;
  const CUresult result = find_pool(handle, pool);
  return result != CUDA_SUCCESS ? result
         : value == nullptr     ? CUDA_ERROR_INVALID_VALUE
                                : pool->set(attribute, value);
}

// The one device has its pools always; there is nobody else to give access to.
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* wanted, std::size_t count) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = find_pool(handle, pool); result != CUDA_SUCCESS) return result;
  if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted[i].location.type != LOCATION_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = check_device(wanted[i].location.id); result != CUDA_SUCCESS) return result;
    if (wanted[i].flags != ACCESS_READ_WRITE) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = find_pool(handle, pool); result != CUDA_SUCCESS) return result;
  if (flags == nullptr || location == nullptr || location->type != LOCATION_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(location->id); result != CUDA_SUCCESS) return result;
  *flags = ACCESS_READ_WRITE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  *pool = Process::instance().default_pool();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  Process& process = Process::instance();
  const CUmemoryPool chosen = process.chosen_pool;
  *pool = process.pools.find(chosen) != nullptr ? chosen : process.default_pool();
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  std::shared_ptr<Pool> pool;
  if (const CUresult result = check_device(device); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_pool(handle, pool); result != CUDA_SUCCESS) return result;
  Process::instance().chosen_pool = handle;
  return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  const CUresult result = check_place(location, type);
  return result != CUDA_SUCCESS ? result : cuDeviceGetDefaultMemPool(pool, location->id);
}
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  const CUresult result = check_place(location, type);
  return result != CUDA_SUCCESS ? result : cuDeviceGetMemPool(pool, location->id);
}
CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  const CUresult result = check_place(location, type);
  return result != CUDA_SUCCESS ? result : cuDeviceSetMemPool(location->id, pool);
}

}  // namespace entry
}  // namespace raddle::driver
