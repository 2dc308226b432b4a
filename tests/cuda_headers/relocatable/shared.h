// What the files of one program with relocatable device code share.
#pragma once
#include "check.h"

extern __device__ int total;
extern __constant__ int weights[3];
extern __managed__ int seen;
__device__ int weighted(int value, int index);
__global__ void add_weighted(int value);
int run_other(int value);
template <typename T>
__device__ T twice(T value) {
  return value * 2;
}
struct Operation {
  virtual __device__ int apply(int) const = 0;
};
__device__ int apply(const Operation& operation, int value);
