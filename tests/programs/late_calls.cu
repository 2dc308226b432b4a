// Destructors of static objects call the runtime when main() has returned and the main thread's own objects are gone.
// output: late: 7
#include "program.h"

__global__ void set(int* word, int value) { *word = value; }

struct Late {
  int* word = nullptr;
  ~Late() {
    set<<<1, 1>>>(word, 7);
    int value = 0;
    const cudaError_t copied = cudaMemcpy(&value, word, sizeof value, cudaMemcpyDeviceToHost), freed = cudaFree(word);
    if (copied != cudaSuccess || freed != cudaSuccess) std::_Exit(1);
    std::printf("late: %d\n", value);
  }
} late;

int main() {
  CUDA(cudaMalloc(&late.word, sizeof(int)));
  set<<<1, 1>>>(late.word, 1);
  CUDA(cudaDeviceSynchronize());
}
