// Thrust for nvcc's default target: its code asks what it was compiled for. Its other algorithms are in thrust_algorithms.cu.
// nvcc: -arch=sm_75
#include <thrust/device_vector.h>
#include <thrust/reduce.h>

#include "program.h"

int main() {
  const thrust::device_vector<unsigned> ones(100'000, 1);
  CHECK(thrust::reduce(ones.begin(), ones.end()) == 100'000);
}
