// Device code alone, for a static library: nothing of the host refers to this file.
#include "shared.h"

__constant__ int weights[3];
__device__ int weighted(int value, int index) { return value * weights[index]; }
__device__ int apply(const Operation& operation, int value) { return operation.apply(value); }
