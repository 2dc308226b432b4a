// Stream-ordered allocation and the calls on pools.
#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/ipc.h"
#include "driver/pool.h"
#include "driver/pool_places.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

struct PooledMemory final : Memory {
  PooledMemory(std::shared_ptr<Pool> owner, Pool::Block taken, std::size_t wanted, const Gpu& taker)
      : from(std::move(owner)), block(taken) {
    kind = MemoryKind::pooled;
    base = taken.address.value;
    bytes = wanted;
    device = from->is_of_device() ? from->gpu.number : taker.number;
    from->source->hand_out(block.address, block.bytes);
    pages_ = from->source->residency(block.address);
  }
  MemoryKind nature() const override { return from->source->kind(); }
  Residency* residency() override { return pages_.get(); }
  CUmemoryPool pool() const override { return from->handle; }
  bool is_for(unsigned number) const override { return (from->devices >> number & 1) != 0; }
  unsigned long long handle_types() const override {
    return static_cast<unsigned long long>(from->props.handleTypes);
  }

  const std::shared_ptr<Pool> from;
  const Pool::Block block;

 private:
  std::shared_ptr<Residency> pages_;  // which work may look at after the block is free
};

Status allocate(const std::shared_ptr<Context>& context, Stream& stream, const std::shared_ptr<Pool>& pool,
                std::size_t bytes, CUdeviceptr* address) {
  if (bytes == 0) return *address = 0, CUDA_SUCCESS;  // nothing: as an H200 answers
  if (pool->kind == Pool::imported)
    return CUDA_ERROR_INVALID_VALUE;  // its memory is another process's to give
  if (stream.is_capturing()) return capture_allocation(stream, context, pool->props, bytes, address);
  TRY(stream.order());
  TRY_ASSIGN(const Pool::Block block, pool->take(stream, bytes));
  TRY(Process::instance().memory.add(std::make_shared<PooledMemory>(pool, block, bytes, context->gpu)));
  *address = block.address.value;
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<Pool> pool_of(CUdeviceptr address) {
  const auto found = Process::instance().memory.find(address);
  const bool is_pooled = found != nullptr && found->base == address && found->kind == MemoryKind::pooled;
  return is_pooled ? static_cast<const PooledMemory&>(*found).from : nullptr;
}

bool free_pooled(CUdeviceptr address, const std::shared_ptr<Context>& context, Stream* stream) {
  MemoryTable& table = Process::instance().memory;
  const auto found = table.find(address);
  if (found == nullptr || found->base != address || found->kind != MemoryKind::pooled) return false;
  if (table.remove(address) != found) return false;  // another thread was faster
  const auto& pooled = static_cast<const PooledMemory&>(*found);
  pooled.from->give_back(pooled.block, pooled.bytes, context, stream);
  return true;
}

namespace entry {

Status cuMemAllocAsync(Here context, CUdeviceptr* address, std::size_t bytes, In<Stream> stream) {
  return allocate(context, *stream, context->gpu.pool_in_use(), bytes, address);
}

Status cuMemAllocFromPoolAsync(Here context, CUdeviceptr* address, std::size_t bytes, In<Pool> pool,
                               In<Stream> stream) {
  return allocate(context, *stream, pool, bytes, address);
}

Status cuMemFreeAsync(Here context, CUdeviceptr address, In<Stream> stream) {
  if (address == 0) return CUDA_SUCCESS;
  if (stream->is_capturing()) return capture_free(*stream, address);
  TRY(stream->order());
  if (const auto freed = free_graph_memory(address)) return *freed;
  if (free_pooled(address, context, stream.get())) return CUDA_SUCCESS;
  if (free_imported(address, true)) return CUDA_SUCCESS;
  // Memory of no pool goes as by cuMemFree, in order all the same: that waits.
  AddressInfo info;
  const bool is_plain =
      find_address(context, address, info) && info.base == address && info.shared == nullptr;
  return is_plain ? cuMemFree_v2(context, address) : CUDA_ERROR_INVALID_VALUE;
}

Status cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* props) {
  for (const unsigned char each : props->reserved)
    if (each != 0) return CUDA_ERROR_INVALID_VALUE;
  auto pool = make_pool(*props, Pool::own);
  if (!pool.ok()) return pool.error() == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : pool.error();
  *handle = Process::instance().pools.add(std::move(pool).value());
  return CUDA_SUCCESS;
}

// Allocated memory keeps the pool.
Status cuMemPoolDestroy(In<Pool> pool) {
  if (pool->kind == Pool::of_place) return CUDA_ERROR_INVALID_VALUE;
  return Process::instance().pools.remove(pool->handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status cuMemPoolTrimTo(In<Pool> pool, std::size_t bytes_to_keep) {
  pool->release(bytes_to_keep);
  return CUDA_SUCCESS;
}

Status cuMemPoolGetAttribute(In<Pool> pool, CUmemPool_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return pool->get(attribute, value);
}

Status cuMemPoolSetAttribute(In<Pool> pool, CUmemPool_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return pool->set(attribute, value);
}

// A device has its own pools always.
Status cuMemPoolSetAccess(In<Pool> pool, const CUmemAccessDesc* wanted, std::size_t count) {
  if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted[i].location.type != LOCATION_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_device(wanted[i].location.id));
    const bool is_own = pool->is_of_device() && wanted[i].location.id == pool->gpu.number;
    if (wanted[i].flags != ACCESS_READ_WRITE && wanted[i].flags != ACCESS_NONE)
      return CUDA_ERROR_INVALID_VALUE;
    if (wanted[i].flags == ACCESS_NONE && is_own) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bit = Process::instance().gpu(wanted[i].location.id).bit();
    if (wanted[i].flags == ACCESS_READ_WRITE)
      pool->devices |= bit;
    else
      pool->devices &= ~bit;
  }
  SharedMemory::instance().access_lost();
  return CUDA_SUCCESS;
}

Status cuMemPoolGetAccess(CUmemAccess_flags* flags, In<Pool> pool, CUmemLocation* location) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool is_host = location->type == LOCATION_HOST || location->type == LOCATION_HOST_NUMA;
  if (is_host && !pool->is_of_device()) return *flags = ACCESS_READ_WRITE, CUDA_SUCCESS;
  if (location->type != LOCATION_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (!check_device(location->id).ok()) return CUDA_ERROR_INVALID_VALUE;  // as an H200 answers
  const bool has_access = (pool->devices & Process::instance().gpu(location->id).bit()) != 0;
  *flags = has_access ? ACCESS_READ_WRITE : ACCESS_NONE;
  return CUDA_SUCCESS;
}

Status cuDeviceGetDefaultMemPool(CUmemoryPool* pool, In<CUdevice> device) {
  *pool = device.default_pool()->handle;
  return CUDA_SUCCESS;
}

Status cuDeviceGetMemPool(CUmemoryPool* pool, In<CUdevice> device) {
  *pool = device.pool_in_use()->handle;
  return CUDA_SUCCESS;
}

Status cuDeviceSetMemPool(In<CUdevice> device, In<Pool> pool) {
  if (!pool->is_of_device() || &pool->gpu != &device) return CUDA_ERROR_INVALID_VALUE;
  device.chosen_pool = pool->handle;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
