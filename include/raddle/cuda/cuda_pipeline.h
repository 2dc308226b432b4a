// The header that programs for nvcc include for the functions of cuda_pipeline_primitives.h. NVIDIA's has
// nvcuda::experimental::pipeline too, for which cuda::pipeline came.
#pragma once

#include "raddle/cuda/cuda_pipeline_primitives.h"
