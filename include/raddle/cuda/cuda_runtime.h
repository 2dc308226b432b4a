// CUDA C++ for `raddle cc`, which includes this before every source file, as nvcc does with its own: the
// language's extensions for kernels (device/) and the runtime API for the host (cuda_runtime_api.h,
// runtime_templates.h). docs/raddle-cc.md says what is covered.
#pragma once

// Programs ask by these whether the runtime API and its types are there.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__

// libcu++ asks which CUDA a compiler that is not nvcc has, and takes types and features from headers that are
// not here, where another installation of CUDA lies in the system's folders.
#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif
#define CCCL_DISABLE_NVFP4_SUPPORT
#define CCCL_DISABLE_NVFP6_SUPPORT
#define CCCL_DISABLE_NVFP8_SUPPORT
#define CCCL_DISABLE_CDP

#include "raddle/cuda/device/attributes.h"
#ifdef __CUDACC__
// Kernels' own functions come before the standard headers: what <cmath> and <new> then add is for the host.
#include "raddle/cuda/device/math_functions.h"
#include "raddle/cuda/device/system.h"
#endif
// The standard headers that nvcc's programs have without asking.
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "raddle/cuda/cuda_runtime_api.h"
#include "raddle/cuda/library_types.h"
#include "raddle/cuda/runtime_templates.h"
#include "raddle/cuda/vector_functions.h"
#ifdef __CUDACC__
#include "raddle/cuda/device/atomics.h"
#include "raddle/cuda/device/builtin_variables.h"
#include "raddle/cuda/device/clusters.h"
#include "raddle/cuda/device/memory.h"
#include "raddle/cuda/device/packed_integers.h"
#include "raddle/cuda/device/surface.h"
#include "raddle/cuda/device/synchronization.h"
#include "raddle/cuda/device/texture.h"
#include "raddle/cuda/relocatable.h"
#endif
