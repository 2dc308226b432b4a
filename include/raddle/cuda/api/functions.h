// Kernels: launches, attributes, occupancy; libraries; the driver's entry points. Prototypes of CUDA 13.0's
// runtime API (include cuda_runtime_api.h, not this file).
#pragma once

#include "../driver_types.h"
#include "default_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments);
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream);
cudaError_t cudaFuncSetCacheConfig(const void* function, enum cudaFuncCache cache);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attribute, const void* function);
cudaError_t cudaFuncSetAttribute(const void* function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetName(const char** name, const void* function);
cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaFuncSetSharedMemConfig(const void* function, enum cudaSharedMemConfig config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_threads, size_t shared_bytes);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, const void* function, int blocks,
                                                      int block_threads);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                   int block_threads, size_t shared_bytes,
                                                                   unsigned int flags);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* cluster_blocks, const void* function,
                                                 const cudaLaunchConfig_t* config);
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config);
cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol);
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol);
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult* status RADDLE_CUDA_DEFAULT(__null));
cudaError_t cudaGetDriverEntryPointByVersion(
    const char* symbol, void** function, unsigned int cuda_version, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult* status RADDLE_CUDA_DEFAULT(__null));
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, enum cudaJitOption* jit_options,
                                void** jit_values, unsigned int jit_count, enum cudaLibraryOption* options,
                                void** values, unsigned int count);
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, enum cudaJitOption* jit_options,
                                    void** jit_values, unsigned int jit_count,
                                    enum cudaLibraryOption* options, void** values, unsigned int count);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name);
cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name);
cudaError_t cudaLibraryGetManaged(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name);
cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library, const char* symbol);
cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value,
                                            int device);
cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id);
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol);
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function);

#ifdef __cplusplus
}
#endif
