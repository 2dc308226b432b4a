// A graph that launches itself from a kernel, and one that is launched as a part.
// nvcc: -rdc=true
#include "program.h"

__global__ void step(int* x, int summand) { *x += summand; }

__global__ void again(int* left, int* error) {
  if (--*left > 0) *error = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

__global__ void launch_part(cudaGraphExec_t part, int* error) {
  *error = cudaGraphLaunch(part, cudaStreamGraphFireAndForget);
}

int main() {
  int* words;  // sum, launches that are left, error
  CUDA(cudaMallocManaged(&words, 3 * sizeof(int)));
  words[0] = 0, words[1] = 100, words[2] = 0;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  step<<<1, 1, 0, stream>>>(words, 3);
  again<<<1, 1, 0, stream>>>(words + 1, words + 2);
  CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec, outer;
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch);
  if (made == cudaErrorNotSupported) return 0;  // the machine is another process's, which says so
  CUDA(made);
  CUDA(cudaGraphUpload(exec, stream));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(words[0] == 300 && words[1] == 0 && words[2] == 0);

  words[1] = 1;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  launch_part<<<1, 1, 0, stream>>>(exec, words + 2);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&outer, graph, 0));
  CUDA(cudaGraphLaunch(outer, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(words[0] == 303 && words[2] == 0);
  return 0;
}
