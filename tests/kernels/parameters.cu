// Writes to a kernel's parameters and beside them, which are faults: parameters are the launch's, in read-only pages.
// nvcc: -rdc=true

struct Settings {
  long long offset;  // bytes from the first parameter
  int thread;        // that writes; others do nothing
  int* out;
};

// The compiler copies a parameter that is written, unless it does not see the write.
__device__ __noinline__ void write(const void* start, long long offset) {
  *reinterpret_cast<volatile int*>(reinterpret_cast<unsigned long long>(start) + offset) = 7;
}

extern "C" __global__ void writes_parameters(const __grid_constant__ Settings settings) {
  settings.out[blockIdx.x * blockDim.x + threadIdx.x] = settings.thread;
  if (static_cast<int>(threadIdx.x) == settings.thread) write(&settings, settings.offset);
}

// Atomics and vectors are other instructions.
extern "C" __global__ void adds_to_parameters(const __grid_constant__ Settings settings) {
  atomicAdd(const_cast<int*>(&settings.thread), 1);
}
extern "C" __global__ void writes_vectors(const __grid_constant__ Settings settings) {
  auto* at = reinterpret_cast<volatile int4*>(reinterpret_cast<unsigned long long>(&settings) + 16 * threadIdx.x);
  at->x = 1, at->y = 2, at->z = 3, at->w = 4;
}

// Many parameters lie elsewhere.
struct Many {
  long long offset;
  int values[1000];
};
extern "C" __global__ void writes_many(const __grid_constant__ Many many, int* out) {
  out[threadIdx.x] = many.values[threadIdx.x];
  if (many.offset >= 0) write(&many, many.offset);
}

// A kernel that a kernel launches; a store beside the buffer of its parameters is a fault as well.
extern "C" __global__ void launches_writer(Settings settings) { writes_parameters<<<1, 32>>>(settings); }

extern "C" __device__ void* cudaGetParameterBufferV2(void*, dim3, dim3, unsigned);
extern "C" __global__ void overruns_child_parameters(long long offset) {
  void* buffer = cudaGetParameterBufferV2(reinterpret_cast<void*>(writes_parameters), dim3(1), dim3(1), 0);
  write(buffer, offset);
}

// A cooperative grid's workspace may be written; before its pages nothing is.
extern "C" __global__ void writes_workspace(long long offset) {
  unsigned low, high;
  asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
  asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
  write(reinterpret_cast<void*>(static_cast<unsigned long long>(high) << 32 | low), offset);
}
