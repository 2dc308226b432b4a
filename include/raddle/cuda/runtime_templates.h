// The runtime API's C++ forms: typed allocation, symbols as variables, launches of typed kernels, occupancy;
// and the function that clang calls for `<<<>>>`. Source: CUDA Runtime API, "C++ API Routines".
#pragma once

#include "raddle/cuda/cuda_runtime_api.h"
#include "raddle/cuda/device/attributes.h"

// `kernel<<<grid, block, shared, stream>>>(...)`: clang pushes the configuration, the kernel's stub takes it
// back.
extern "C" unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                                    void* stream = nullptr);
extern "C" unsigned int __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);

// Memory of a type.
template <typename T>
static inline cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return ::cudaMalloc((void**)(void*)pointer, bytes);
}
template <typename T>
static inline cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int flags = 0) {
  return ::cudaHostAlloc((void**)(void*)pointer, bytes, flags);
}
template <typename T>
static inline cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int flags) {
  return ::cudaHostAlloc((void**)(void*)pointer, bytes, flags);
}
template <typename T>
static inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return ::cudaHostGetDevicePointer((void**)(void*)device, host, flags);
}
template <typename T>
static inline cudaError_t cudaMallocManaged(T** pointer, size_t bytes,
                                            unsigned int flags = cudaMemAttachGlobal) {
  return ::cudaMallocManaged((void**)(void*)pointer, bytes, flags);
}
template <typename T>
static inline cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
  return ::cudaMallocAsync((void**)(void*)pointer, bytes, stream);
}
template <typename T>
static inline cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
  return ::cudaMallocFromPoolAsync((void**)(void*)pointer, bytes, pool, stream);
}
template <typename T>
static inline cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
  return ::cudaMallocPitch((void**)(void*)pointer, pitch, width, height);
}

// Variables of the device: the host's variable of the same name stands for it.
template <typename T>
static inline cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return ::cudaGetSymbolAddress(pointer, (const void*)&symbol);
}
template <typename T>
static inline cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  return ::cudaGetSymbolSize(bytes, (const void*)&symbol);
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol((const void*)&symbol, from, bytes, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes,
                                                  size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                  cudaStream_t stream = nullptr) {
  return ::cudaMemcpyToSymbolAsync((const void*)&symbol, from, bytes, offset, kind, stream);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, (const void*)&symbol, bytes, offset, kind);
}
template <typename T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes,
                                                    size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                    cudaStream_t stream = nullptr) {
  return ::cudaMemcpyFromSymbolAsync(to, (const void*)&symbol, bytes, offset, kind, stream);
}

// Kernels as typed functions.
template <typename T>
static inline cudaError_t cudaLaunchKernel(T* kernel, dim3 grid, dim3 block, void** arguments,
                                           size_t shared = 0, cudaStream_t stream = nullptr) {
  return ::cudaLaunchKernel((const void*)kernel, grid, block, arguments, shared, stream);
}
template <typename T>
static inline cudaError_t cudaLaunchCooperativeKernel(T* kernel, dim3 grid, dim3 block, void** arguments,
                                                      size_t shared = 0, cudaStream_t stream = nullptr) {
  return ::cudaLaunchCooperativeKernel((const void*)kernel, grid, block, arguments, shared, stream);
}
/// The arguments are converted to the kernel's parameters, as in `<<<>>>`.
template <typename... Parameters, typename... Arguments>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* configuration,
                                             void (*kernel)(Parameters...), Arguments&&... arguments) {
  return [&](Parameters... parameters) {
    void* pointers[] = {(void*)&parameters..., nullptr};
    return ::cudaLaunchKernelExC(configuration, (const void*)kernel, pointers);
  }(static_cast<Arguments&&>(arguments)...);
}
template <typename T>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel) {
  return ::cudaFuncGetAttributes(attributes, (const void*)kernel);
}
template <typename T>
static inline cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute((const void*)kernel, attribute, value);
}
template <typename T>
static inline cudaError_t cudaFuncSetCacheConfig(T* kernel, cudaFuncCache configuration) {
  return ::cudaFuncSetCacheConfig((const void*)kernel, configuration);
}

// Occupancy.
template <typename T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel, int threads,
                                                                        size_t shared) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)kernel, threads, shared);
}
template <typename T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T kernel,
                                                                                 int threads, size_t shared,
                                                                                 unsigned int flags) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void*)kernel, threads,
                                                                  shared, flags);
}
template <typename T>
static inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int* cluster_blocks, T* kernel,
                                                               const cudaLaunchConfig_t* configuration) {
  return ::cudaOccupancyMaxPotentialClusterSize(cluster_blocks, (const void*)kernel, configuration);
}
template <typename T>
static inline cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* kernel,
                                                         const cudaLaunchConfig_t* configuration) {
  return ::cudaOccupancyMaxActiveClusters(clusters, (const void*)kernel, configuration);
}
/// The block size, of whole warps, with which most threads of `kernel` fit into a multiprocessor; and how
/// many such blocks fill the device. @param shared_of  dynamic shared memory in bytes of a block of so many
/// threads
template <typename T, typename SharedOf>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* blocks, int* threads, T kernel,
                                                                         SharedOf shared_of, int limit = 0) {
  int device = 0, multiprocessors = 0, warp = 0;
  cudaFuncAttributes attributes;
  cudaError_t error = ::cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = ::cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
  if (error == cudaSuccess) error = ::cudaFuncGetAttributes(&attributes, (const void*)kernel);
  if (error != cudaSuccess) return error;
  const int most = limit > 0 && limit < attributes.maxThreadsPerBlock ? limit : attributes.maxThreadsPerBlock;
  int best = 0;
  for (int size = (most + warp - 1) / warp * warp; size > 0; size -= warp) {
    const int trial = size < most ? size : most;
    int resident = 0;
    error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, (const void*)kernel, trial,
                                                            shared_of(trial));
    if (error != cudaSuccess) return error;
    if (resident * trial <= best) continue;
    best = resident * trial;
    *threads = trial;
    *blocks = resident * multiprocessors;
  }
  return best > 0 ? cudaSuccess : cudaErrorInvalidConfiguration;
}
template <typename T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* blocks, int* threads, T kernel,
                                                             size_t shared = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      blocks, threads, kernel, [=](int) { return shared; }, limit);
}

// Defaults that C has not.
static inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return ::cudaEventCreateWithFlags(event, flags);
}
template <typename T>
inline cudaChannelFormatDesc cudaCreateChannelDesc();
#define RADDLE_CHANNELS(type, x, y, z, w, kind)                              \
  template <>                                                                \
  inline cudaChannelFormatDesc cudaCreateChannelDesc<type>() {               \
    return ::cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKind##kind); \
  }
#define RADDLE_CHANNELS_OF(name, type, bits, kind) \
  RADDLE_CHANNELS(type, bits, 0, 0, 0, kind)       \
  RADDLE_CHANNELS(name##1, bits, 0, 0, 0, kind)    \
  RADDLE_CHANNELS(name##2, bits, bits, 0, 0, kind) \
  RADDLE_CHANNELS(name##4, bits, bits, bits, bits, kind)
RADDLE_CHANNELS_OF(char, signed char, 8, Signed)
RADDLE_CHANNELS_OF(uchar, unsigned char, 8, Unsigned)
RADDLE_CHANNELS_OF(short, short, 16, Signed)
RADDLE_CHANNELS_OF(ushort, unsigned short, 16, Unsigned)
RADDLE_CHANNELS_OF(int, int, 32, Signed)
RADDLE_CHANNELS_OF(uint, unsigned int, 32, Unsigned)
RADDLE_CHANNELS_OF(float, float, 32, Float)
#undef RADDLE_CHANNELS_OF
#undef RADDLE_CHANNELS
