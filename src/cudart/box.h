// Boxes of memory, 2-D and 3-D, in linear memory and in arrays, as the driver's copies take them.
#pragma once

#include "cudart/driver.h"

namespace raddle::cudart {

/// Bytes of an element of an array. @errors the driver's, if it is no array
cudaError_t element_bytes(cudaArray_const_t array, std::size_t& bytes);

/// @errors cudaErrorInvalidValue: a side that is not memory, or given twice; cudaErrorInvalidMemcpyDirection;
/// cudaErrorInvalidPitchValue
cudaError_t box_of(const cudaMemcpy3DParms* copy, CUDA_MEMCPY3D_PEER& box);

/// The other way. @errors as element_bytes
cudaError_t parameters_of(const CUDA_MEMCPY3D& box, cudaMemcpy3DParms& copy);

/// The same between devices: the sides' contexts are the devices' primary ones.
cudaError_t peer_box(const cudaMemcpy3DPeerParms* copy, CUDA_MEMCPY3D_PEER& box);

}  // namespace raddle::cudart
