// Other processes and other APIs. Prototypes of CUDA 13.0's runtime API (include cuda_runtime_api.h, not this
// file).
#pragma once

#include "../driver_types.h"
#include "default_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);
cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory,
                                     const struct cudaExternalMemoryHandleDesc* description);
cudaError_t cudaExternalMemoryGetMappedBuffer(void** pointer, cudaExternalMemory_t memory,
                                              const struct cudaExternalMemoryBufferDesc* description);
cudaError_t cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t* mipmapped, cudaExternalMemory_t memory,
    const struct cudaExternalMemoryMipmappedArrayDesc* description);
cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t memory);
cudaError_t cudaImportExternalSemaphore(cudaExternalSemaphore_t* semaphore,
                                        const struct cudaExternalSemaphoreHandleDesc* description);
cudaError_t cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t* semaphores,
                                              const struct cudaExternalSemaphoreSignalParams* parameters,
                                              unsigned int count, cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t* semaphores,
                                            const struct cudaExternalSemaphoreWaitParams* parameters,
                                            unsigned int count, cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaDestroyExternalSemaphore(cudaExternalSemaphore_t semaphore);
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags);
cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources,
                                     cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                       cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, size_t* bytes,
                                                 cudaGraphicsResource_t resource);
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array, cudaGraphicsResource_t resource,
                                                  unsigned int array_index, unsigned int mip_level);
cudaError_t cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t* mipmapped,
                                                        cudaGraphicsResource_t resource);

#ifdef __cplusplus
}
#endif
