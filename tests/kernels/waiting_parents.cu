// Kernels that wait inside the CTA for the kernels they launch: CUDA's first dynamic parallelism, which ends before
// sm_90. The headers of nvcc 13 do not have its functions.
// nvcc: -rdc=true
// arch: compute_80

extern "C" __device__ cudaError_t cudaDeviceSynchronize(void);
extern "C" __device__ cudaError_t __cudaDeviceSynchronizeDeprecationAvoidance(void);

// Each level adds one to what its child has left.
extern "C" __global__ void nest(int* values, int depth) {
  if (depth == 0) {
    values[0] = 1;
    return;
  }
  nest<<<1, 1>>>(values + 1, depth - 1);
  cudaDeviceSynchronize();
  values[0] = values[1] + 1;
}

// A child with as much shared memory as its parent has.
extern "C" __global__ void add_index(int* value, const int* from) {
  __shared__ int shared[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) shared[i] = -1;
  __syncthreads();
  if (threadIdx.x == 0) *value = *from + blockIdx.x + shared[7] + 1;
}

// What a CTA holds stays its own while it waits, and the rest of the CTA waits at a barrier.
extern "C" __global__ void parents(int* values, int* results) {
  __shared__ int shared[1024];
  const int block = blockIdx.x;
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) shared[i] = i * 3 + block;
  const int before = clock() >= 0 ? block * 7 + static_cast<int>(threadIdx.x) : 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    values[2 * block + 1] = block * 100;
    add_index<<<1, 64>>>(values + 2 * block, values + 2 * block + 1);
    if (__cudaDeviceSynchronizeDeprecationAvoidance() != cudaSuccess) values[2 * block] = -1;
    shared[1] += values[2 * block];
  }
  __syncthreads();
  const int i = threadIdx.x + 1;
  results[block * blockDim.x + threadIdx.x] = shared[i] + before;
}

// A tree: each node waits for its children, each of as many CTAs, all of which have children of their own.
extern "C" __global__ void tree(int* sums, int node, int nodes) {
  const int here = node + blockIdx.x;
  if (here >= nodes) return;
  tree<<<2, 1>>>(sums, 2 * here + 1, nodes);
  cudaDeviceSynchronize();
  int sum = here;
  for (int k = 1; k <= 2; ++k)
    if (2 * here + k < nodes) sum += sums[2 * here + k];
  sums[here] = sum;
}

extern "C" __global__ void store(int* value, int what) { *value = what; }

// One warp waits for its child, the other one in a loop for it.
extern "C" __global__ void one_warp_waits(int* values) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  int* const mine = values + 2 * blockIdx.x;
  if (threadIdx.x == 0) {
    store<<<1, 1>>>(mine, 5);
    cudaDeviceSynchronize();
    flag = mine[0];
  }
  if (threadIdx.x == 32) {
    while (flag == 0) {
    }
    mine[1] = flag;
  }
}

// Every thread waits for its own child and for those of its warp; all warps do.
extern "C" __global__ void all_threads_wait(int* values, int* results) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 3 != 1) {
    store<<<1, 1>>>(values + thread, thread + 1);
    cudaDeviceSynchronize();
    results[thread] = values[thread];
  }
}

extern "C" __global__ void slow_store(int* value, int what) {
  for (int i = 0; i < 100; ++i) __nanosleep(1000);
  *value = what;
}
// A wait ends with the children of this block: those of other blocks, and tails, may still run.
extern "C" __global__ void what_is_waited_for(int* values) {
  int* const mine = values + 8 * blockIdx.x;
  mine[0] = cudaDeviceSynchronize();  // there is nothing yet
  store<<<1, 1, 0, cudaStreamTailLaunch>>>(mine + 1, 9);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  slow_store<<<1, 1, 0, stream>>>(mine + 2, 1);
  cudaStreamDestroy(stream);
  slow_store<<<1, 1>>>(mine + 3, 2);
  cudaMemsetAsync(mine + 4, 1, 4, 0);
  mine[5] = cudaDeviceSynchronize();
  mine[6] = mine[1] * 1000 + mine[2] * 100 + mine[3] * 10 + (mine[4] == 0x01010101);
  mine[7] = cudaGetLastError();
}

extern "C" __global__ void forever(volatile int* flag) {
  while (*flag == 0) {
  }
}
extern "C" __global__ void parents_of_forever(int* flag) {
  forever<<<1, 32>>>(flag);
  cudaDeviceSynchronize();
  *flag = 7;
}
extern "C" __global__ void trapping() { asm volatile("trap;"); }
extern "C" __global__ void parents_of_trapping(int* flag) {
  trapping<<<1, 1>>>();
  cudaDeviceSynchronize();
  *flag = 7;
}
extern "C" __global__ void wait_for_nobody(int* errors) { errors[blockIdx.x] = cudaDeviceSynchronize(); }
