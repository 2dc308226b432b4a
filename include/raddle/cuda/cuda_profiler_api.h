// cudaProfilerStart and cudaProfilerStop, under the name that programs include.
#pragma once

#include "cuda_runtime_api.h"
