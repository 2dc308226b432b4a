// Linear memory of device and host: allocation, registration, what addresses are, managed memory.
#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

enum PointerAttribute : int {
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kIsManaged = 8,
  kDeviceOrdinal = 9
};
constexpr unsigned kDriverHostMemory = 1;  // CU_MEMORYTYPE_HOST

/// Reads the attributes of memory that the driver knows.
cudaError_t read_attributes(cudaPointerAttributes& attributes, unsigned type, unsigned long long where) {
  unsigned managed = 0;
  CHECK(driver().cuPointerGetAttribute(&managed, kIsManaged, where));
  attributes.type = managed != 0                ? cudaMemoryTypeManaged
                    : type == kDriverHostMemory ? cudaMemoryTypeHost
                                                : cudaMemoryTypeDevice;
  CHECK(driver().cuPointerGetAttribute(&attributes.device, kDeviceOrdinal, where));
  // Memory of one side only has no address on the other.
  if (driver().cuPointerGetAttribute(&attributes.devicePointer, kDevicePointer, where) != cudaSuccess)
    attributes.devicePointer = nullptr;
  if (driver().cuPointerGetAttribute(&attributes.hostPointer, kHostPointer, where) != cudaSuccess)
    attributes.hostPointer = nullptr;
  if (attributes.type == cudaMemoryTypeDevice) attributes.hostPointer = nullptr;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : driver().cuMemAlloc(address(pointer), bytes);
}

cudaError_t cudaFree(void* pointer) {
  CHECK(prepare());  // programs call cudaFree(0) to have a context
  return pointer == nullptr ? cudaSuccess : driver().cuMemFree(address(pointer));
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *pointer = nullptr;
  *pitch = 0;
  if (width == 0 || height == 0) return cudaSuccess;
  return driver().cuMemAllocPitch(address(pointer), pitch, width, height, sizeof(int));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (pitched == nullptr) return cudaErrorInvalidValue;
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return entry::cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : driver().cuMemAllocManaged(address(pointer), bytes, flags);
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return entry::cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  if (memory == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *memory = nullptr;
  return bytes == 0 ? cudaSuccess : driver().cuMemHostAlloc(memory, bytes, flags);
}

cudaError_t cudaFreeHost(void* memory) {
  CHECK(prepare());
  return memory == nullptr ? cudaSuccess : driver().cuMemFreeHost(memory);
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  CHECK(prepare());
  return driver().cuMemHostRegister(memory, bytes, flags);
}

cudaError_t cudaHostUnregister(void* memory) {
  CHECK(prepare());
  return driver().cuMemHostUnregister(memory);
}

cudaError_t cudaHostGetDevicePointer(void** pointer, void* memory, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  return driver().cuMemHostGetDevicePointer(address(pointer), memory, flags);
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* memory) {
  CHECK(prepare());
  return driver().cuMemHostGetFlags(flags, memory);
}

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  CHECK(prepare());
  return driver().cuMemGetInfo(available, total);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  *attributes = {};
  unsigned type = 0;
  if (driver().cuPointerGetAttribute(&type, kMemoryType, address(pointer)) == cudaSuccess)
    return read_attributes(*attributes, type, address(pointer));
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = cudaInvalidDeviceId;
  attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  CHECK(prepare());
  return driver().cuMemAdvise(address(pointer), bytes, advice, location);
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream) {
  CHECK(prepare());
  return driver().cuMemPrefetchAsync(address(pointer), bytes, location, flags, stream);
}

cudaError_t cudaMemRangeGetAttribute(void* data, std::size_t size, cudaMemRangeAttribute attribute,
                                     const void* pointer, std::size_t bytes) {
  CHECK(prepare());
  return driver().cuMemRangeGetAttribute(data, size, attribute, address(pointer), bytes);
}

cudaError_t cudaMemRangeGetAttributes(void** data, std::size_t* sizes, cudaMemRangeAttribute* attributes,
                                      std::size_t attribute_count, const void* pointer, std::size_t bytes) {
  CHECK(prepare());
  return driver().cuMemRangeGetAttributes(data, sizes, reinterpret_cast<int*>(attributes), attribute_count,
                                          address(pointer), bytes);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t bytes, unsigned flags) {
  CHECK(prepare());
  return driver().cuStreamAttachMemAsync(stream, address(pointer), bytes, flags);
}

}  // namespace raddle::cudart::entry
