// Memory: allocation, copies, sets, managed memory, addresses. Prototypes of CUDA 13.0's runtime API (include
// cuda_runtime_api.h, not this file).
#pragma once

#include "../driver_types.h"
#include "default_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags RADDLE_CUDA_DEFAULT(0x01));
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* description, size_t width,
                            size_t height RADDLE_CUDA_DEFAULT(0), unsigned int flags RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmapped);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned int flags);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** pointer, void* memory, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* memory);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr* pitched, struct cudaExtent extent);
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* description,
                              struct cudaExtent extent, unsigned int flags RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmapped,
                                     const struct cudaChannelFormatDesc* description,
                                     struct cudaExtent extent, unsigned int num_levels,
                                     unsigned int flags RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* array, cudaMipmappedArray_const_t mipmapped,
                                       unsigned int level);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* copy);
cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms* copy);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* copy,
                              cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms* copy,
                                  cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemGetInfo(size_t* available, size_t* total);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc* description, struct cudaExtent* extent,
                             unsigned int* flags, cudaArray_t array);
cudaError_t cudaArrayGetPlane(cudaArray_t* plane_array, cudaArray_t array, unsigned int plane);
cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements* requirements,
                                           cudaArray_t array, int device);
cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements* requirements,
                                                    cudaMipmappedArray_t mipmapped, int device);
cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties* properties, cudaArray_t array);
cudaError_t cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties* properties,
                                                  cudaMipmappedArray_t mipmapped);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t column, size_t row, const void* from,
                                size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void* to, size_t to_pitch, cudaArray_const_t from, size_t column,
                                  size_t row, size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_column, size_t to_row, cudaArray_const_t from,
                                     size_t from_column, size_t from_row, size_t width, size_t height,
                                     enum cudaMemcpyKind kind RADDLE_CUDA_DEFAULT(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                               size_t offset RADDLE_CUDA_DEFAULT(0),
                               enum cudaMemcpyKind kind RADDLE_CUDA_DEFAULT(cudaMemcpyHostToDevice));
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes,
                                 size_t offset RADDLE_CUDA_DEFAULT(0),
                                 enum cudaMemcpyKind kind RADDLE_CUDA_DEFAULT(cudaMemcpyDeviceToHost));
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t bytes,
                                 struct cudaMemcpyAttributes* attributes, size_t* attrs_idxs,
                                 size_t attribute_count, cudaStream_t stream);
cudaError_t cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp* operations,
                                   unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t column, size_t row, const void* from,
                                     size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                                     cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t to_pitch, cudaArray_const_t from, size_t column,
                                       size_t row, size_t width, size_t height, enum cudaMemcpyKind kind,
                                       cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                            cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent,
                              cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemPrefetchBatchAsync(void** pointers, size_t* sizes, size_t bytes,
                                      struct cudaMemLocation* prefetch_locs, size_t* prefetch_loc_idxs,
                                      size_t num_prefetch_locs, unsigned long long flags,
                                      cudaStream_t stream);
cudaError_t cudaMemDiscardBatchAsync(void** pointers, size_t* sizes, size_t bytes, unsigned long long flags,
                                     cudaStream_t stream);
cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** pointers, size_t* sizes, size_t bytes,
                                                struct cudaMemLocation* prefetch_locs,
                                                size_t* prefetch_loc_idxs, size_t num_prefetch_locs,
                                                unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location);
cudaError_t cudaMemRangeGetAttribute(void* data, size_t size, enum cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t bytes);
cudaError_t cudaMemRangeGetAttributes(void** data, size_t* sizes, enum cudaMemRangeAttribute* attributes,
                                      size_t count, const void* pointer, size_t bytes);
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t column, size_t row, const void* from, size_t bytes,
                              enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t column, size_t row, size_t bytes,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_column, size_t to_row, cudaArray_const_t from,
                                   size_t from_column, size_t from_row, size_t bytes,
                                   enum cudaMemcpyKind kind RADDLE_CUDA_DEFAULT(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t column, size_t row, const void* from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t column, size_t row,
                                     size_t bytes, enum cudaMemcpyKind kind,
                                     cudaStream_t stream RADDLE_CUDA_DEFAULT(0));
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* pointer);

#ifdef __cplusplus
}
#endif
