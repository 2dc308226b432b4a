// The default stream of each thread: work in one does not wait for another's.
// nvcc: --default-stream per-thread
#include <thread>

#include "program.h"

__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void set(int* word, int value) { *word = value; }

int main() {
  int* words;
  CUDA(cudaMallocManaged(&words, 3 * sizeof(int)));
  words[0] = words[1] = words[2] = 0;
  wait_for<<<1, 1>>>(words);  // ends when the other thread, whose stream does not wait for it, is done
  std::thread other([&] {
    set<<<1, 1>>>(words + 1, 5);
    CUDA(cudaStreamSynchronize(nullptr));
    CHECK(words[1] == 5);
    const int six = 6;
    CUDA(cudaMemcpyAsync(words + 2, &six, sizeof six, cudaMemcpyHostToDevice, cudaStreamPerThread));
    CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    *static_cast<volatile int*>(words) = 1;
  });
  other.join();
  CUDA(cudaStreamSynchronize(nullptr));
  CHECK(words[2] == 6);
}
