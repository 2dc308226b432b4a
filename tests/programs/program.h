// What the programs share: a check that ends the program when it fails.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

#define CUDA(call)                                                                               \
  do {                                                                                           \
    if (const cudaError_t cuda_error = (call); cuda_error != cudaSuccess) {                      \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(cuda_error)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (0)
