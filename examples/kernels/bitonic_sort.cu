// Sorts each run of 1,024 keys, ascending, in shared memory: a bitonic network with 512 threads,
// one compare-exchange per thread and step, a barrier between steps.
extern "C" __global__ void __launch_bounds__(512) bitonic_sort(unsigned* keys) {
  constexpr int kRun = 1024;
  __shared__ unsigned run[kRun];
  const int thread = threadIdx.x;
  unsigned* mine = keys + blockIdx.x * kRun;
  run[thread] = mine[thread];
  run[thread + kRun / 2] = mine[thread + kRun / 2];
  for (int size = 2; size <= kRun; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int left = 2 * thread - (thread & (stride - 1));
      const bool ascending = (left & size) == 0;
      const unsigned a = run[left], b = run[left + stride];
      if ((a > b) == ascending) {
        run[left] = b;
        run[left + stride] = a;
      }
    }
  }
  __syncthreads();
  mine[thread] = run[thread];
  mine[thread + kRun / 2] = run[thread + kRun / 2];
}
