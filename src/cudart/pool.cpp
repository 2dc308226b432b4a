// Allocation in stream order, pools, and memory and events of other processes.
#include "cudart/entry.h"

namespace raddle::cudart::entry {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  CHECK(prepare());
  return driver().cuDeviceGetDefaultMemPool(pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  CHECK(prepare());
  return driver().cuDeviceSetMemPool(device, pool);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  CHECK(prepare());
  return driver().cuDeviceGetMemPool(pool, device);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : driver().cuMemAllocAsync(address(pointer), bytes, stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : driver().cuMemAllocFromPoolAsync(address(pointer), bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  CHECK(prepare());
  return pointer == nullptr ? cudaSuccess : driver().cuMemFreeAsync(address(pointer), stream);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  CHECK(prepare());
  return driver().cuMemPoolCreate(pool, properties);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  CHECK(prepare());
  return driver().cuMemGetDefaultMemPool(pool, location, type);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  CHECK(prepare());
  return driver().cuMemGetMemPool(pool, location, type);
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  CHECK(prepare());
  return driver().cuMemSetMemPool(location, type, pool);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  CHECK(prepare());
  return driver().cuMemPoolDestroy(pool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t kept_bytes) {
  CHECK(prepare());
  return driver().cuMemPoolTrimTo(pool, kept_bytes);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  CHECK(prepare());
  return driver().cuMemPoolSetAttribute(pool, attribute, value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  CHECK(prepare());
  return driver().cuMemPoolGetAttribute(pool, attribute, value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* accesses, std::size_t count) {
  CHECK(prepare());
  return driver().cuMemPoolSetAccess(pool, accesses, count);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  int value = 0;
  CHECK(driver().cuMemPoolGetAccess(&value, pool, location));
  *flags = static_cast<cudaMemAccessFlags>(value);
  return cudaSuccess;
}

cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                               cudaMemAllocationHandleType type, unsigned flags) {
  CHECK(prepare());
  return driver().cuMemPoolExportToShareableHandle(handle, pool, type, flags);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                 cudaMemAllocationHandleType type, unsigned flags) {
  CHECK(prepare());
  return driver().cuMemPoolImportFromShareableHandle(pool, handle, type, flags);
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer) {
  CHECK(prepare());
  return driver().cuMemPoolExportPointer(data, address(pointer));
}

cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool, cudaMemPoolPtrExportData* data) {
  CHECK(prepare());
  return driver().cuMemPoolImportPointer(address(pointer), pool, data);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuIpcGetEventHandle(handle, event);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  CHECK(prepare());
  return driver().cuIpcOpenEventHandle(event, handle);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  CHECK(prepare());
  return driver().cuIpcGetMemHandle(handle, address(pointer));
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  return driver().cuIpcOpenMemHandle(address(pointer), handle, flags);
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  CHECK(prepare());
  return driver().cuIpcCloseMemHandle(address(pointer));
}

}  // namespace raddle::cudart::entry
