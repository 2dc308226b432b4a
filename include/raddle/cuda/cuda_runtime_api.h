// CUDA's runtime API (13.0) in C: prototypes by chapter. Raddle's libcudart.so.13 and libcudart_static.a have
// these symbols; what a call means is NVIDIA's "CUDA Runtime API" manual, what is not there
// docs/generated/cudart.md.
#pragma once

#define CUDART_VERSION 13000
#define CUDARTAPI  // the calling convention of the API: the usual one here

#include "api/devices.h"
#include "api/external.h"
#include "api/functions.h"
#include "api/graphs.h"
#include "api/memory.h"
#include "api/pools.h"
#include "api/streams.h"
#include "api/textures.h"
#include "driver_functions.h"
#include "vector_types.h"
