// Kernels that launch kernels (CUDA's device runtime, CDP2).
// nvcc: -rdc=true

// Sorts a[left..right] by Hoare's partition; each half is a grid of its own, in a stream of its own.
extern "C" __global__ void quicksort(int* a, int left, int right, int depth) {
  if (right - left < 8 || depth >= 20) {
    for (int i = left + 1; i <= right; ++i) {
      const int v = a[i];
      int k = i;
      for (; k > left && a[k - 1] > v; --k) a[k] = a[k - 1];
      a[k] = v;
    }
    return;
  }
  const int pivot = a[(left + right) / 2];
  int i = left, j = right;
  while (i <= j) {
    while (a[i] < pivot) ++i;
    while (a[j] > pivot) --j;
    if (i <= j) {
      const int t = a[i];
      a[i++] = a[j];
      a[j--] = t;
    }
  }
  if (left < j) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, s>>>(a, left, j, depth + 1);
    cudaStreamDestroy(s);
  }
  if (i < right) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, s>>>(a, i, right, depth + 1);
    cudaStreamDestroy(s);
  }
}

// Notes the order in which kernels ran.
extern "C" __global__ void note(int* log, int* count, int who) {
  if (threadIdx.x == 0 && blockIdx.x == 0) log[atomicAdd(count, 1)] = who;
}
// A child with a child and a tail of its own; slow, so that a tail that started too early would come first.
extern "C" __global__ void slow_note(int* log, int* count, int who) {
  for (int i = 0; i < 200; ++i) __nanosleep(1000);
  note<<<1, 32, 0, cudaStreamTailLaunch>>>(log, count, who + 2);
  note<<<3, 32, 0, cudaStreamFireAndForget>>>(log, count, who + 1);
  log[atomicAdd(count, 1)] = who;
}

extern "C" __global__ void tails(int* log, int* count) {
  if (threadIdx.x != 0) return;
  note<<<1, 32, 0, cudaStreamTailLaunch>>>(log, count, 100);
  slow_note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, count, 110);
  note<<<2, 64, 0, cudaStreamTailLaunch>>>(log, count, 120);
  slow_note<<<1, 1, 0, cudaStreamFireAndForget>>>(log, count, 10);
  note<<<1, 32>>>(log, count, 20);
  note<<<1, 32>>>(log, count, 21);
  log[atomicAdd(count, 1)] = 0;
}

struct Wide {
  int first[37];
  double second;
  short third;
};
extern "C" __global__ void sum_wide(Wide w, int factor, int* out) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = w.first[threadIdx.x + threadIdx.y * 4];
  __syncthreads();
  if (threadIdx.x == 0)
    out[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] =
        factor * (shared[0] + shared[3]) + static_cast<int>(w.second) + w.third + static_cast<int>(gridDim.z);
}
// Every lane launches one with its own arguments, in its own shape.
extern "C" __global__ void by_lane(int* out) {
  Wide w;
  for (int i = 0; i < 37; ++i) w.first[i] = i * static_cast<int>(threadIdx.x + 1);
  w.second = 1000.5;
  w.third = -7;
  if (threadIdx.x % 3 != 1)
    sum_wide<<<dim3(1, 2, threadIdx.x % 2 + 1), 4, 64>>>(w, static_cast<int>(threadIdx.x), out + 4 * threadIdx.x);
}

// Errors, and the answers of cudaGetLastError.
extern "C" __global__ void errors(int* out, int* log, int* count, int repeat) {
  out[0] = cudaGetLastError();
  note<<<1, 2000>>>(log, count, 1);
  out[1] = cudaPeekAtLastError();
  out[2] = cudaGetLastError();
  out[3] = cudaGetLastError();
  note<<<0, 1>>>(log, count, 1);
  out[4] = cudaGetLastError();
  note<<<1, 1, 1 << 20>>>(log, count, 1);
  out[5] = cudaGetLastError();
  note<<<1, 1, 0, (cudaStream_t)0x123456>>>(log, count, 1);
  out[6] = cudaGetLastError();
  cudaStream_t stream;
  out[7] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
  cudaGetLastError();
  int failed = 0;
  for (int i = 0; i < repeat; ++i) {
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log + 1, count, i);
    if (cudaGetLastError() != cudaSuccess) ++failed;
  }
  out[8] = failed;
  const char* name = cudaGetErrorName(cudaErrorInvalidConfiguration);
  const char* text = cudaGetErrorString(cudaErrorInvalidConfiguration);
  out[9] = name[0] * 1000 + name[9];
  out[10] = text[0] * 1000 + text[1];
}

// Copies, fills, events, memory, and what can be asked.
extern "C" __global__ void services(int* data, int* answers) {
  cudaStream_t a, b;
  cudaEvent_t event;
  answers[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) | cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  answers[1] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  answers[2] = cudaMemsetAsync(data, 7, 16, a);
  answers[3] = cudaEventRecord(event, a);
  answers[4] = cudaStreamWaitEvent(b, event, 0);
  answers[5] = cudaMemcpyAsync(data + 4, data, 16, cudaMemcpyDeviceToDevice, b);
  answers[6] = cudaEventDestroy(event);
  answers[7] = cudaStreamDestroy(a) | cudaStreamDestroy(b);
  answers[8] = cudaStreamDestroy(b);
  answers[9] = cudaMemsetAsync((void*)16, 7, 16, 0);
  int* piece;
  answers[10] = cudaMalloc(&piece, 400);
  piece[99] = 5;
  answers[11] = piece[99];
  answers[12] = cudaFree(piece);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(answers + 13, note, 64, 0);
  cudaGetDevice(answers + 14);
  cudaGetDeviceCount(answers + 15);
  cudaRuntimeGetVersion(answers + 16);
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
  answers[17] = static_cast<int>(limit);
  answers[18] = cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize);
}

extern "C" __global__ void wild(int* p) { *p = 1; }
extern "C" __global__ void parent_of_wild() { wild<<<1, 1>>>((int*)24); }

extern "C" __global__ void endless(volatile int* flag) {
  while (*flag == 0) {
  }
}
extern "C" __global__ void parent_of_endless(int* flag) { endless<<<2, 32>>>(flag); }

// Says that it has ended only a while after it has launched a child.
extern "C" __global__ void slow_parent(int* log, int* count, unsigned long long before, unsigned long long after) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < before);
  note<<<1, 32, 0, cudaStreamFireAndForget>>>(log, count, 2);
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < before + after);
  log[atomicAdd(count, 1)] = 1;
}
